/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SEGMENT_H_
#define UCS_RCACHE_PRED_SEGMENT_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

BEGIN_C_DECLS

/** @file segment.h
 *
 * Memory that the processes of one user share and that leaves nothing behind,
 * however they end: a System V segment that is marked for removal as soon as it
 * exists. Linux lets others attach a marked segment, shmctl(2), and frees it
 * with the last process. It has no name any more; it is found by walking all
 * segments of the system.
 */

/** What identifies a segment, together with its owner and its size. */
typedef struct ucs_rcache_pred_segment_id {
    uint64_t magic;   /**< What the segment is for */
    uint64_t version; /**< Version of the layout of the segment */
    uint64_t key;     /**< Processes with different keys do not share a
                           segment */
} ucs_rcache_pred_segment_id_t;


/** The beginning of a segment. Its creator writes it before any other process
 *  can find the segment; it is constant from then on. */
typedef struct ucs_rcache_pred_segment_header {
    ucs_rcache_pred_segment_id_t id;
    uint64_t                     uid;
} ucs_rcache_pred_segment_header_t;


/**
 * Attach this user's segment, and create it first if there is none: zeros after
 * the header. Sleeps while another process does the same.
 *
 * @param [in] size  Bytes, including the header.
 *
 * @return UCS_ERR_UNSUPPORTED if it can be neither found nor created. Logged.
 */
ucs_status_t
ucs_rcache_pred_segment_attach(const ucs_rcache_pred_segment_id_t *id,
                               size_t size,
                               ucs_rcache_pred_segment_header_t **segment_p);

/** Detach the segment. Its memory is freed when the last process has done so,
 *  or has ended. */
void ucs_rcache_pred_segment_detach(ucs_rcache_pred_segment_header_t *segment);

/**
 * @return this user's segment, attached, or NULL if there is none. Without the
 *         lock, another process may create one meanwhile.
 */
ucs_rcache_pred_segment_header_t *
ucs_rcache_pred_segment_find(const ucs_rcache_pred_segment_id_t *id,
                             size_t size);

/**
 * @return the System V key under which the segment is created; it loses it when
 *         it is marked. Two that collide only wait for each other. Never
 *         IPC_PRIVATE.
 */
key_t ucs_rcache_pred_segment_key(const ucs_rcache_pred_segment_id_t *id);

/**
 * Take the lock under which one process at a time looks for this user's segment
 * and creates it.
 *
 * @return a file descriptor: closing it gives the lock back, which the kernel
 *         does for a process that dies. -1 if others hold the lock for a
 *         second, logged.
 */
int ucs_rcache_pred_segment_lock(const ucs_rcache_pred_segment_id_t *id);

END_C_DECLS

#endif
