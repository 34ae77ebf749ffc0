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

BEGIN_C_DECLS

/** @file segment.h
 *
 * Shared memory of a user's processes that leaves nothing behind, however they end:
 * a System V segment that is marked for removal as soon as it exists. Linux lets
 * others attach a marked segment, shmctl(2), and frees the segment with the last
 * process.
 *
 * The segment has no name, since another user could take the name before us: a
 * process walks all segments of the system, and the kernel tells which of them are
 * the user's. So all processes of the user meet that see the same System V memory
 * (IPC name space), whatever other name spaces they are in. Processes that find no
 * segment at the same time each make one, and agree on one without a lock, see
 * segment.c.
 *
 * This file has signs of life of processes, too, in memory of the same kind.
 *
 * node.c and slot.c call these functions; any thread may.
 */

/** The identity of a segment, together with its owner and its size. */
typedef struct ucs_rcache_pred_segment_id {
    uint64_t magic;   /**< Purpose of the segment */
    uint64_t version; /**< Version of the layout of the segment */
    uint64_t key;     /**< Processes with different keys do not share a
                           segment */
} ucs_rcache_pred_segment_id_t;


/** The beginning of a segment. Its creator writes the id before any other
 *  process can find the segment; it is constant from then on. */
typedef struct ucs_rcache_pred_segment_header {
    ucs_rcache_pred_segment_id_t id;
    uint64_t                     state; /**< Atomic, in segment.c alone */
} ucs_rcache_pred_segment_header_t;


/**
 * Attach this user's segment, and create the segment first if there is none: zeros
 * after the header. May sleep while other processes do the same, up to a second.
 *
 * @param [in] size  Bytes, including the header.
 *
 * @return UCS_ERR_UNSUPPORTED if there is no segment and none can be created.
 *         Logged.
 */
ucs_status_t
ucs_rcache_pred_segment_attach(const ucs_rcache_pred_segment_id_t *id,
                               size_t size,
                               ucs_rcache_pred_segment_header_t **segment_p);

/** Detach the segment. Its memory is freed when the last process has detached
 *  it, or has ended. */
void ucs_rcache_pred_segment_detach(ucs_rcache_pred_segment_header_t *segment);

/** @return this user's agreed segment, attached, or NULL if there is none. */
ucs_rcache_pred_segment_header_t *
ucs_rcache_pred_segment_find(const ucs_rcache_pred_segment_id_t *id,
                             size_t size);

/**
 * Make an open segment, the first step of @ref ucs_rcache_pred_segment_attach:
 * other processes find the segment, but have not agreed on it. By this function
 * alone, tests do what a process does that stops in the middle of attach.
 *
 * @return NULL if the kernel refuses, logged.
 */
ucs_rcache_pred_segment_header_t *
ucs_rcache_pred_segment_propose(const ucs_rcache_pred_segment_id_t *id,
                                size_t size, int *shmid_p);


/** The number of a sign of life, unlike all others: the number of its memory, which
 *  the kernel uses again only after 65536 others, and the time of its making, in
 *  seconds. 0: none. */
typedef uint64_t ucs_rcache_pred_token_t;

/**
 * Make a sign of life of this process and of the children that it forks: memory
 * that is marked for removal, and so exists as long as one of them has the memory
 * attached. A forked child inherits the sign, as it inherits the descriptors that
 * keep registrations of its parent alive; and a process loses both when it runs
 * another program or ends. The program could close a descriptor, and somebody could
 * remove a file, but nobody can do either to the sign. The sign means the same in
 * all PID, network and mount name spaces.
 *
 * @param [out] addr_p  Memory of the sign, for @ref ucs_rcache_pred_token_destroy.
 * @return UCS_ERR_UNSUPPORTED, logged.
 */
ucs_status_t ucs_rcache_pred_token_create(ucs_rcache_pred_token_t *token_p,
                                          void **addr_p);

/** Detach the memory of a sign from this process. Forked children keep the memory
 *  attached, and so keep the sign. */
void ucs_rcache_pred_token_destroy(void *addr);

/** @return whether no process has the sign any more. Takes one system call, and
 *          does not change errno. */
int ucs_rcache_pred_token_is_gone(ucs_rcache_pred_token_t token);

END_C_DECLS

#endif
