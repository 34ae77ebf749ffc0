/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

/*
 * Entry points of UCP: its configuration; its progress, since a program that
 * waits has time to spare; its end; and its communications, whose call sites
 * are recorded. UCP implements some communications by others, which come
 * through here again: only the outer call, the program's, is recorded.
 */


/* Initial-exec: the library is preloaded, so its thread-local storage is there
 * from the start of each thread and takes one instruction to find */
static __thread __attribute__((tls_model("initial-exec")))
ucs_rcache_pred_window_t predreg_window;

__thread __attribute__((tls_model("initial-exec"))) 
uct_predreg_purpose_t predreg_purpose;

/* Communications this thread is inside of */
static __thread __attribute__((tls_model("initial-exec")))
unsigned predreg_depth;


PREDREG_EXPORT ucs_status_t
ucp_config_read(const char *env_prefix, const char *filename,
                ucp_config_t **config_p)
{
    /* Before UCX looks for variables that nobody has read */
    const uct_predreg_hooks_t *hooks = predreg_load();
    ucs_status_t status;

    status = PREDREG_REAL(ucp_config_read)(env_prefix, filename, config_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->ucp_config(predreg_real_ucp(), *config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
ucp_init_version(unsigned api_major_version, unsigned api_minor_version,
                 const ucp_params_t *params, const ucp_config_t *config,
                 ucp_context_h *context_p)
{
    ucp_config_t *own_config = NULL;
    ucs_status_t status;

    if (config == NULL) {
        /* UCP would read it where no hook sees it */
        status = ucp_config_read(NULL, NULL, &own_config);
        if (status != UCS_OK) {
            return status;
        }
        config = own_config;
    }

    status = PREDREG_REAL(ucp_init_version)(api_major_version,
                                            api_minor_version, params, config,
                                            context_p);
    if (own_config != NULL) {
        PREDREG_REAL(ucp_config_release)(own_config);
    }

    return status;
}

PREDREG_EXPORT void ucp_worker_destroy(ucp_worker_h worker)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();

    if (hooks != NULL) {
        hooks->closing();
    }
    PREDREG_REAL(ucp_worker_destroy)(worker);
}


PREDREG_EXPORT ucs_status_t ucp_worker_arm(ucp_worker_h worker)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks();

    /* What waits for room has no event: there is progress to be made */
    return ((hooks != NULL) && !hooks->may_sleep()) ?
           UCS_ERR_BUSY : PREDREG_REAL(ucp_worker_arm)(worker);
}

PREDREG_EXPORT unsigned ucp_worker_progress(ucp_worker_h worker)
{
    uct_predreg_purpose_t purpose = predreg_purpose;
    const uct_predreg_hooks_t *hooks;
    unsigned count;

    /* UCP's blocking calls come here: what progress does is not part of them */
    predreg_purpose = UCT_PREDREG_PURPOSE_MESSAGE;
    count           = PREDREG_REAL(ucp_worker_progress)(worker);
    predreg_purpose = purpose;

    if (count == 0) {
        hooks = predreg_hooks();
        if (hooks != NULL) {
            hooks->idle();
        }
    }

    return count;
}


/* Tell the core about a communication of count elements of a datatype */
static UCS_F_ALWAYS_INLINE void
record(ucs_rcache_pred_comm_t comm, const void *buffer, size_t count,
       ucp_datatype_t datatype, const void *caller, const void *stack)
{
    const uct_predreg_hooks_t *hooks;

    if ((predreg_depth > 0) || predreg_comm_is_short(count, datatype)) {
        return;
    }

    hooks = predreg_hooks();
    if (hooks != NULL) {
        hooks->comm(&predreg_window, comm, buffer, caller, stack);
    }
}

#define PURPOSE(_comm) \
    ((((_comm) == UCS_RCACHE_PRED_COMM_PUT) || \
      ((_comm) == UCS_RCACHE_PRED_COMM_GET)) ? \
     UCT_PREDREG_PURPOSE_ONE_SIDED : \
     ((_comm) == UCS_RCACHE_PRED_COMM_SEND) ? UCT_PREDREG_PURPOSE_SEND : \
     UCT_PREDREG_PURPOSE_MESSAGE)

/* An overriding function. The frame address is a constant below the caller's,
 * and so stands for the stack depth. */
#define PREDREG_COMM(_name, _ret, _comm, _params, _args, _buffer, _count, \
                     _datatype) \
    PREDREG_EXPORT _ret _name _params \
    { \
        uct_predreg_purpose_t purpose = predreg_purpose; \
        _ret ret; \
        \
        record(UCS_RCACHE_PRED_COMM_##_comm, _buffer, _count, _datatype, \
               __builtin_return_address(0), __builtin_frame_address(0)); \
        ++predreg_depth; \
        predreg_purpose = PURPOSE(UCS_RCACHE_PRED_COMM_##_comm); \
        ret = PREDREG_REAL(_name) _args; \
        predreg_purpose = purpose; \
        --predreg_depth; \
        return ret; \
    }

#include "ucp_comms.h"

PREDREG_EXPORT ucs_status_t
ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
            ucp_mem_h *memh_p)
{
    uct_predreg_purpose_t purpose = predreg_purpose;
    ucs_status_t status;

    predreg_purpose = UCT_PREDREG_PURPOSE_MAPPED;
    status          = PREDREG_REAL(ucp_mem_map)(context, params, memh_p);
    predreg_purpose = purpose;
    return status;
}
