/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PARAMS_H_
#define UCP_FH_PARAMS_H_

#include <ucp/firehose/api/firehose.h>
#include <ucp/firehose/table/local.h>
#include <ucp/firehose/table/remote.h>

BEGIN_C_DECLS

/** @file params.h
 *
 * Parameters of ucp_fh_init(): defaults, what is accepted. */

typedef struct ucp_fh_settings {
    ucp_context_h           context;
    ucp_context_h           mem_context; /**< See ucp_fh::mem_context. Set by
                                              whoever has the settings */
    uint32_t                index;
    ucp_err_handling_mode_t err_mode;
    ucp_fh_local_params_t   local;
    ucp_fh_remote_params_t  remote;
} ucp_fh_settings_t;


/** @param [in] room  Bytes to which the bounds of libuct_predreg.so hold what is
 *                    pinned; UINT64_MAX: there are none.
 *  @return UCS_ERR_INVALID_PARAM, or UCS_ERR_EXCEEDS_LIMIT if M is too little for so
 *          many processes, which the log explains, or UCS_OK. What is not checked
 *          here is by the tables; the context is by whoever has it. */
ucs_status_t ucp_fh_settings_get(const ucp_fh_init_params_t *params,
                                 uint64_t room, ucp_fh_settings_t *settings);

/** As ucp_fh_init(), but memory is pinned in another context than that of the
 *  library's messages. */
ucs_status_t
ucp_fh_init_for(const ucp_fh_init_params_t *params, ucp_context_h mem_context,
                ucp_fh_h *fh_p);

END_C_DECLS

#endif
