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


/** Parts of a key. Each may have any length. */
typedef enum {
    UCP_WIN_KEY_ADDRESS, /**< Address of the process in Firehose */
    UCP_WIN_KEY_REST,    /**< UCP's own key to the window, with the parts of those memory
                              domains alone that need no pinned memory */
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
    uint64_t        magic;   /**< Set by ucp_win_key_write() */
    uint32_t        version; /**< Set by ucp_win_key_write() */
    uint32_t        index;   /**< Number of the process in its job */
    uint64_t        job;     /**< ucp_win_t::job of the process */
    ucp_win_range_t range;
    uint16_t        lengths[UCP_WIN_KEY_LAST]; /**< Of the parts, bytes */
} ucp_win_key_head_t;


typedef struct ucp_win_key {
    ucp_win_key_head_t head;
    const void         *parts[UCP_WIN_KEY_LAST];
} ucp_win_key_t;


/** @return bytes of a packed key, which may be more than UCP_WIN_KEY_MAX. */
size_t ucp_win_key_size(const ucp_win_key_t *key);

/** Write a key into ucp_win_key_size() bytes. */
void ucp_win_key_write(const ucp_win_key_t *key, void *packed);

/** @return whether the bytes are the key of a window, of any version. Reads the first
 *          eight bytes alone: every key of UCP has as many. */
int ucp_win_key_is(const void *packed);

/** Read a packed key. ucp_win_key_t::parts point into @a packed afterwards. There is no
 *  length to check: UCP's own call to unpack a key gets none.
 *
 *  @return UCS_OK; UCS_ERR_UNSUPPORTED if the key is of another version;
 *          UCS_ERR_INVALID_PARAM if it is damaged. */
ucs_status_t ucp_win_key_read(const void *packed, ucp_win_key_t *key);

END_C_DECLS

#endif
