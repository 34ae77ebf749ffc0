/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCP_PARAM_H_
#define UCT_PREDREG_UCP_PARAM_H_

#include <uct/ib/predreg/core/hooks.h>

#include <ucp/api/ucp.h>

/** @file ucp_param.h
 *
 * Request parameters of UCP with the core's changes. The caller's stay as they
 * are.
 */

/**
 * Copy request parameters, and put changes into the copy.
 *
 * @param [in] changes  UCT_PREDREG_SEND_*, with their values in send.
 * @param [in] param    Without fields that this library does not know
 *                      (UCT_PREDREG_UNKNOWN_FIELDS), which it could not copy.
 */
void predreg_param_change(ucp_request_param_t *copy,
                          const ucp_request_param_t *param, unsigned changes,
                          const uct_predreg_send_t *send);

/** Copy request parameters but for the memory handle. @a param as above. */
void predreg_param_drop_memh(ucp_request_param_t *copy,
                             const ucp_request_param_t *param);

#endif
