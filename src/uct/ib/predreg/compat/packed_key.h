/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PACKED_KEY_H_
#define UCT_PREDREG_PACKED_KEY_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file packed_key.h
 *
 * The key to memory that UCP packs into a message for a peer, while the domains
 * pack their parts of it one after the other. UCX 1.16 to 1.23, ucp_rkey.c:
 *
 *   8 bytes    a bit for each of this process's domains that has a part in the key
 *   1 byte     type of the memory
 *   for each of these domains, in their order:
 *     1 byte   length of its part
 *     the part
 *   and more, which depends on the version
 *
 * A peer skips the parts of domains that it does not reach. UCP numbers the
 * domains of a context from 0 on, and has bits for more of them than there are.
 * So a key is withdrawn by renaming its domains to some that do not exist: it
 * has the same length, and a peer with any UCX of these versions finds nothing
 * in it, as if no domain had registered the memory.
 *
 * Uses no other header of the core. A key belongs to the thread that packs it.
 */

/** How many domains a key has bits for. */
#define UCT_PREDREG_PACKED_KEY_BITS 64

/** A key, half packed. All zero: there is none. */
typedef struct uct_predreg_packed_key {
    char     *start;  /**< Where the key starts */
    char     *part;   /**< The part that is packed at present, or was last */
    uint64_t domains; /**< Which domains the key names now */
    unsigned left;    /**< How many parts are to follow the present one */
    char     *next;   /**< Where the next part would be */
} uct_predreg_packed_key_t;


/**
 * UCP has a domain pack its part of a key.
 *
 * @param [inout] key   The key that this thread packs, or has packed last.
 * @param [in]    part  Address of the part; its length stands before the part.
 */
void uct_predreg_packed_key_part(uct_predreg_packed_key_t *key, void *part);

/** A domain cannot pack the present part, and UCP gives the key up. */
void uct_predreg_packed_key_fail(uct_predreg_packed_key_t *key);

/**
 * Withdraw the key, and fill the present part with zeros. The parts that follow
 * may be packed as usual.
 *
 * @param [in] num_domains  How many domains a context has, at most.
 * @return UCS_ERR_EXCEEDS_LIMIT if there are too few numbers that no domain
 *         has; nothing is changed then.
 */
ucs_status_t
uct_predreg_packed_key_withdraw(uct_predreg_packed_key_t *key,
                                unsigned num_domains);

END_C_DECLS

#endif
