/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FIREHOSE_INT_H_
#define UCP_FIREHOSE_INT_H_

#include <ucp/firehose/core/core.h>

BEGIN_C_DECLS

/** @file firehose_int.h
 *
 * The begin of the library in a process, its parameters, and its thread. */

/** Parameters of ucp_fh_init(), checked, with defaults. */
typedef struct ucp_fh_settings {
    ucp_context_h           context;
    ucp_context_h           mem_context; /**< See ucp_fh::mem_context. Set by the
                                              caller of ucp_fh_settings_get() */
    uint32_t                index;
    ucp_err_handling_mode_t err_mode;
    ucp_fh_local_params_t   local;
    ucp_fh_remote_params_t  remote;
} ucp_fh_settings_t;


/** Find and check the settings. The context is checked by the caller, and some limits by
 *  the tables.
 *
 *  @param [in] room  Bytes to which the bounds of libuct_predreg.so hold all pinned
 *                    memory; UINT64_MAX: there are no bounds.
 *  @return UCS_OK; UCS_ERR_INVALID_PARAM; or UCS_ERR_EXCEEDS_LIMIT if M is too little for
 *          the number of processes. The log explains the errors. */
ucs_status_t ucp_fh_settings_get(const ucp_fh_init_params_t *params,
                                 uint64_t room, ucp_fh_settings_t *settings);

/** @return whether several threads may use a context at the same time. */
int ucp_fh_is_for_threads(ucp_context_h context);

/** As ucp_fh_init(), but the library pins memory in @a mem_context: params->context is
 *  for the library's messages alone. */
ucs_status_t
ucp_fh_init_for(const ucp_fh_init_params_t *params, ucp_context_h mem_context,
                ucp_fh_h *fh_p);


/* thread.c: the library's worker, and the thread that progresses the worker. The thread
 * answers peers whether or not the program calls the library, and sleeps while nothing
 * happens */

/** Make the library's worker: from then on it receives messages. */
ucs_status_t ucp_fh_thread_create_worker(ucp_fh_t *fh);

void ucp_fh_thread_destroy_worker(ucp_fh_t *fh);

/** @return UCS_OK, or UCS_ERR_NO_RESOURCE if the system can start no further thread. */
ucs_status_t ucp_fh_thread_start(ucp_fh_t *fh);

void ucp_fh_thread_stop(ucp_fh_t *fh);

END_C_DECLS

#endif
