/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_KEY_H_
#define UCP_FH_KEY_H_

#include <ucp/api/ucp.h>
#include <ucs/datastruct/list.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file key.h
 *
 * Keys to memory of peers: packed, as they have come, and unpacked, for each
 * worker of the program that has used them, since an unpacked key belongs to an
 * endpoint. Each entry of the remote table that is present has one.
 *
 * All functions are called under the lock of the tables; none calls UCP.
 */

/** A key that was unpacked. */
typedef struct ucp_fh_rkey {
    ucs_list_link_t link;       /**< In ucp_fh_key_t::unpacked */
    ucs_list_link_t owned_link; /**< In a list of the owner */
    /** Of the owner, whose endpoint it belongs to: where @a owned_link goes
     *  when the firehoses are gone, so that a thread destroys it which may use
     *  that endpoint. */
    ucs_list_link_t *trash;
    ucp_rkey_h      rkey;
} ucp_fh_rkey_t;


typedef struct ucp_fh_key {
    uint64_t        start;    /**< First byte that may be accessed */
    uint64_t        end;      /**< The byte after the last */
    uint32_t        length;   /**< Of @a packed */
    ucs_list_link_t unpacked; /**< ucp_fh_rkey_t */
    uint8_t         packed[];
} ucp_fh_key_t;


/** @return a key, or NULL if there is no memory. */
ucp_fh_key_t *ucp_fh_key_make(uint64_t start, uint64_t end, const void *packed,
                              uint32_t length);

/** The firehose is gone: free a key, which may be NULL. What was unpacked goes to the
 *  trash. */
void ucp_fh_key_free(ucp_fh_key_t *key);

/** @return the key as it was unpacked for those with this trash, or NULL. */
static inline ucp_rkey_h
ucp_fh_key_find(const ucp_fh_key_t *key, const ucs_list_link_t *trash)
{
    ucp_fh_rkey_t *unpacked;

    ucs_list_for_each(unpacked, &key->unpacked, link) {
        if (unpacked->trash == trash) {
            return unpacked->rkey;
        }
    }

    return NULL;
}

/** Keep what was unpacked. */
void ucp_fh_key_add(ucp_fh_key_t *key, ucp_fh_rkey_t *unpacked);

END_C_DECLS

#endif
