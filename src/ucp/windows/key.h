/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_KEY_H_
#define UCP_WIN_KEY_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file key.h
 *
 * The packed key of a window, in place of UCP's, for peers. Pure. Numbers are in the byte
 * order of the machine.
 *
 * No key of UCP has the same first word: in a key of UCP this word would mean memory domains
 * with higher numbers than any context has.
 */

#define UCP_WIN_KEY_MAGIC   0xf1f3e57057a1d0c1ull
#define UCP_WIN_KEY_VERSION 1

/** Most bytes of a key: the room in Open MPI for the key of a dynamic window
 *  (OMPI_OSC_UCX_RKEY_BUF_MAX). */
#define UCP_WIN_KEY_MAX     1024


/** Parts of a key of any length. */
typedef enum {
    UCP_WIN_KEY_ADDRESS, /**< Of the process, for Firehose */
    UCP_WIN_KEY_REST,    /**< UCP's own key to the window, of domains without need for
                              pinned memory */
    UCP_WIN_KEY_HEAD,    /**< Key to the bytes before the exposed ones; may be empty */
    UCP_WIN_KEY_TAIL,    /**< Key to the bytes after the exposed ones; may be empty */
    UCP_WIN_KEY_LAST
} ucp_win_key_part_t;


/** The bytes of a window: [start, end), of which [first, last) are exposed. */
typedef struct ucp_win_range {
    uint64_t start;
    uint64_t first;
    uint64_t last;
    uint64_t end;
} ucp_win_range_t;


/** The begin of a packed key. The parts follow. */
typedef struct ucp_win_key_head {
    uint64_t        magic;   /**< Set by ucp_win_key_write(), and so the next one */
    uint32_t        version;
    uint32_t        index;   /**< Number of the process in its job */
    uint64_t        job;     /**< Tells jobs apart */
    ucp_win_range_t range;
    uint16_t        lengths[UCP_WIN_KEY_LAST]; /**< Of the parts, bytes */
} ucp_win_key_head_t;


typedef struct ucp_win_key {
    ucp_win_key_head_t head;
    const void         *parts[UCP_WIN_KEY_LAST];
} ucp_win_key_t;


/** @return bytes of a packed key, which may be more than UCP_WIN_KEY_MAX. */
size_t ucp_win_key_size(const ucp_win_key_t *key);

/** Write a key into that many bytes. */
void ucp_win_key_write(const ucp_win_key_t *key, void *packed);

/** @return whether this is a key of a window, of any version. Eight bytes are
 *          read, which every key of UCP has. */
int ucp_win_key_is(const void *packed);

/** Read a packed key; the parts stay there. Nobody knows the length, neither does UCP.
 *
 *  @return UCS_ERR_UNSUPPORTED: of another version; UCS_ERR_INVALID_PARAM: damaged. */
ucs_status_t ucp_win_key_read(const void *packed, ucp_win_key_t *key);

END_C_DECLS

#endif
