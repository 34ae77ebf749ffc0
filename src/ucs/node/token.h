/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_TOKEN_H_
#define UCS_RCACHE_PRED_TOKEN_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file token.h
 *
 * A sign of life of a process and of the children that it forked: memory that
 * has been marked for removal, so that it exists as long as one of them has it
 * attached. A forked child inherits it, as it inherits the descriptors that
 * keep registrations of its parent alive; and both lose it when they run
 * another program or end. It has no descriptor that the program could close,
 * and means the same in all PID, network and mount name spaces.
 *
 * node.c makes them; slot.c looks whether they are gone. Any thread may look.
 */

/** The number of a sign, which no other one has: that of its memory, which the
 *  kernel uses again only after 65536 others, and when it was made, in seconds.
 *  0: none. */
typedef uint64_t ucs_rcache_pred_token_t;


/**
 * Make a sign of life of this process.
 *
 * @param [out] addr_p  Its memory, for @ref ucs_rcache_pred_token_destroy.
 * @return UCS_ERR_UNSUPPORTED, logged.
 */
ucs_status_t ucs_rcache_pred_token_create(ucs_rcache_pred_token_t *token_p,
                                          void **addr_p);

/** Give up the part of this process in a sign. Children that were forked may
 *  still have theirs. */
void ucs_rcache_pred_token_destroy(void *addr);

/** @return whether no process has the sign any more. Takes one system call, and
 *          does not change errno. */
int ucs_rcache_pred_token_is_gone(ucs_rcache_pred_token_t token);

END_C_DECLS

#endif
