/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MAKING_H_
#define UCT_PREDREG_MAKING_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/compat/real.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file making.h
 *
 * Prepares contexts of UCP for sends without the copy, while they are being
 * made: UCP reads the length from which it sends without the copy
 * (UCX_ZCOPY_THRESH) only then.
 */

/** @return whether a context is for messages, so that its sends are looked
 *  at. */
int uct_predreg_eager_has_messages(const ucp_params_t *params);

/**
 * UCP is about to make a context. Changes its configuration, if its sends are to
 * be looked at.
 *
 * @param [in] gain_from  Tells the shortest message that may gain, as
 *                        uct_predreg_thresholds_gain_from(). Shorter ones are
 *                        left alone. Not called if the user has set a length,
 *                        or if the context is for no messages.
 */
void uct_predreg_eager_making(const uct_predreg_core_t *core,
                              const uct_predreg_real_t *real,
                              size_t (*gain_from)(void),
                              const ucp_params_t *params, ucp_config_t *config,
                              uct_predreg_making_t *making);

/** UCP has made a context. The configuration is as it was before.
 *  @param [in] ucp  NULL: UCP has failed to make it. */
void uct_predreg_eager_made(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            const uct_predreg_making_t *making,
                            ucp_config_t *config, ucp_context_h ucp);

/** UCP is about to clean a context up. */
void uct_predreg_eager_closing(ucp_context_h ucp);

/** UCP has queried an interface of a worker that it is making. */
void uct_predreg_eager_iface_query(uct_iface_attr_t *attr);

END_C_DECLS

#endif
