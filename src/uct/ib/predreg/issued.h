/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ISSUED_H_
#define UCT_PREDREG_ISSUED_H_

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file issued.h
 *
 * Two events of the program: it issues a communication, and it waits. The
 * overridden entry points of UCP call these functions, see hooks.h.
 */

/**
 * Remember the context of a communication that this thread is about to issue,
 * so that the registration of its buffer finds the context. Where no domain is
 * managed and no trace recorded, nobody looks for it, and nothing is done. The
 * communication is not changed.
 *
 * @param [inout] issuer  What this thread remembers of its communications; this
 *                        one is added.
 */
void uct_predreg_comm(uct_predreg_core_t *core, uct_predreg_issuer_t *issuer,
                      const uct_predreg_comm_t *comm);

/** Use the time while the program waits, since UCP's progress found nothing to
 *  do, for work of the cache that is due. */
void uct_predreg_idle(uct_predreg_core_t *core, ucs_rcache_pred_idle_t *idle);

END_C_DECLS

#endif
