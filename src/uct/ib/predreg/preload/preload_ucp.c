/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucx.h"

#include <uct/ib/predreg/compat/ucx_api.h>

#include <stdio.h>

/*
 * Overriding functions of UCP for its configuration, for contexts and workers, for progress,
 * which shows when a program waits and has time to spare, and for freed requests.
 */


static ucs_status_t
config_read(unsigned ucx, const void *caller, const char *env_prefix,
            const char *filename, ucp_config_t **config_p)
{
    /* The core is loaded here, and reads its variables, before UCX warns of each variable
     * that nobody has read */
    const uct_predreg_hooks_t *hooks = predreg_load(ucx, caller);
    ucs_status_t status;

    status = PREDREG_REAL_OF(ucx, caller, ucp_config_read)(env_prefix, filename,
                                                           config_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->ucp_config(predreg_real_ucp(ucx, caller), *config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
ucp_config_read(const char *env_prefix, const char *filename,
                ucp_config_t **config_p)
{
    return config_read(predreg_find_ucx(PREDREG_CALLER), PREDREG_CALLER,
                       env_prefix, filename, config_p);
}

/* @return the core's hooks for contexts and their workers; NULL: the core does not look
 * at small sends, and only for small sends it has to know of contexts and workers */
static const uct_predreg_hooks_t *making_hooks(unsigned ucx)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return ((hooks == NULL) || (hooks->send == NULL)) ? NULL : hooks;
}

/* Complain of fields unknown to this library in a program's parameters of a context: the
 * library can neither copy nor change such parameters */
static void complain_of_params(const ucp_params_t *params, const char *what)
{
    PREDREG_COMPLAIN("%s in a UCP context that the program makes with parameters which "
                     "are not known here (ucp_params_t::field_mask is 0x%llx)", what,
                     (unsigned long long)params->field_mask);
}

/* Copy the parameters of a context, and ask for a lock of the context (mt_workers_shared),
 * since not only the thread of a worker registers memory with the context: Firehose pins
 * windows by a thread of its own, and hot buffers are registered by whichever thread sends,
 * outside of the lock of its worker */
static void share_context(uct_predreg_ucp_params_t *copy, const ucp_params_t *params)
{
    uct_predreg_ucp_params_copy(copy, params);
    copy->field_mask       |= UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    copy->mt_workers_shared = 1;
}

/* @return whether windows of a new context go through Firehose: then libucp_windows.so is
 *         loaded */
static int has_windows(unsigned ucx, const ucp_params_t *params)
{
    static atomic_flag is_told       = ATOMIC_FLAG_INIT;
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    const predreg_windows_t *windows;

    if (!(params->field_mask & UCP_PARAM_FIELD_FEATURES) ||
        !(params->features & UCP_FEATURE_RMA) || (hooks == NULL) ||
        (hooks->windows == NULL)) {
        return 0;
    }

    windows = hooks->windows(&predreg_windows_env);
    if (windows == NULL) {
        return 0;
    }

    if (!uct_predreg_ucp_params_known(params)) {
        if (!atomic_flag_test_and_set(&is_told)) {
            complain_of_params(params, "windows are pinned");
        }
        return 0;
    }

    atomic_store_explicit(&predreg_windows_table, windows, memory_order_release);
    return 1;
}

/* Let the core prepare a context. UCP protects its cache by the lock of the context
 * (ucp_memh_get() of 1.14 and later). There is no lock unless the program asks for one,
 * and a program whose threads share one worker need not ask. So buffers become hot only in
 * a context for which this library can ask for the lock.
 * @return whether buffers may become hot in the context */
static int prepare(const uct_predreg_hooks_t *hooks, const uct_predreg_real_t *real,
                   const ucp_params_t *params, const ucp_config_t *config,
                   uct_predreg_making_t *making)
{
    static const ucp_params_t nothing = {.field_mask = 0};
    static atomic_flag is_told        = ATOMIC_FLAG_INIT;
    int is_known                      = uct_predreg_ucp_params_known(params);

    /* The hook may change the program's configuration, although it is const:
     * hooks->made() undoes the change before ucp_init_version() returns */
    hooks->making(real, is_known ? params : &nothing, (ucp_config_t*)config, making);
    if (!is_known && (params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
        (params->features & (UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM)) &&
        !atomic_flag_test_and_set(&is_told)) {
        complain_of_params(params, "small sends are copied");
    }
    return is_known && (making->min_length > 0);
}

PREDREG_EXPORT ucs_status_t
ucp_init_version(unsigned api_major_version, unsigned api_minor_version,
                 const ucp_params_t *params, const ucp_config_t *config,
                 ucp_context_h *context_p)
{
    unsigned ucx             = predreg_find_ucx(PREDREG_CALLER);
    ucp_config_t *own_config = NULL;
    const uct_predreg_hooks_t *hooks;
    uct_predreg_making_t making;
    uct_predreg_ucp_params_t shared;
    ucs_status_t status;
    int is_windows, is_shared, may_register;

    if (config == NULL) {
        /* Without a configuration UCP would read one itself, and no hook could change
         * it */
        status = config_read(ucx, PREDREG_CALLER, NULL, NULL, &own_config);
        if (status != UCS_OK) {
            return status;
        }
        config = own_config;
    } else {
        /* The program may have changed the configuration since UCP read it */
        hooks = predreg_load(ucx, PREDREG_CALLER);
        if (hooks != NULL) {
            hooks->ucp_config(predreg_real_ucp(ucx, PREDREG_CALLER),
                              (ucp_config_t*)config);
        }
    }

    if ((params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
        (params->features & UCP_FEATURE_RMA)) {
        ucs_relaxed_store(&predreg_one_sided, 1);
    }

    is_windows = has_windows(ucx, params);
    is_shared  = (params->field_mask & UCP_PARAM_FIELD_MT_WORKERS_SHARED) &&
                 params->mt_workers_shared;
    hooks      = making_hooks(ucx);

    may_register = (hooks != NULL) &&
                   prepare(hooks, predreg_real_ucp(ucx, PREDREG_CALLER), params,
                           config, &making);
    if (is_windows || may_register) {
        share_context(&shared, params);
        params = (const ucp_params_t*)&shared;
    }

    predreg_thread.in_init = 1;
    status = PREDREG_REAL(ucx, ucp_init_version)(api_major_version,
                                                 api_minor_version, params,
                                                 config, context_p);
    predreg_thread.in_init = 0;
    if (hooks != NULL) {
        hooks->made(predreg_real_ucp(ucx, PREDREG_CALLER), &making,
                    (ucp_config_t*)config,
                    (status == UCS_OK) ? *context_p : NULL);
    }

    if (own_config != NULL) {
        PREDREG_REAL(ucx, ucp_config_release)(own_config);
    }

    if (is_windows && (status == UCS_OK)) {
        predreg_windows(ucx)->context_made(*context_p, is_shared);
    }
    return status;
}

PREDREG_EXPORT void ucp_cleanup(ucp_context_h context)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = making_hooks(ucx);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (windows != NULL) {
        windows->cleaning(context);
    }
    if ((hooks != NULL) && (hooks->cleaning != NULL)) {
        hooks->cleaning(context);
    }
    PREDREG_REAL(ucx, ucp_cleanup)(context);
}

static ucs_status_t
create_worker(unsigned ucx, const void *caller, ucp_context_h context,
              const ucp_worker_params_t *params, ucp_worker_h *worker_p)
{
    const uct_predreg_hooks_t *hooks = making_hooks(ucx);
    uct_predreg_purpose_t purpose    = predreg_thread.purpose;
    ucs_status_t status;

    if (hooks == NULL) {
        return PREDREG_REAL_OF(ucx, caller, ucp_worker_create)(context, params,
                                                               worker_p);
    }

    if (hooks->worker_making != NULL) {
        hooks->worker_making(context);
    }
    status = PREDREG_REAL_OF(ucx, caller, ucp_worker_create)(context, params,
                                                             worker_p);

    predreg_thread.purpose = UCT_PREDREG_PURPOSE_OPTIONAL;
    hooks->worker_made(context, (status == UCS_OK) ? *worker_p : NULL);
    predreg_thread.purpose = purpose;
    return status;
}

PREDREG_EXPORT ucs_status_t
ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
                  ucp_worker_h *worker_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    status = create_worker(ucx, PREDREG_CALLER, context, params, worker_p);
    if ((windows != NULL) && (status == UCS_OK)) {
        windows->worker_made(context, *worker_p);
    }
    return status;
}

PREDREG_EXPORT void ucp_worker_destroy(ucp_worker_h worker)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (windows != NULL) {
        windows->worker_destroying(worker);
    }
    if (hooks != NULL) {
        hooks->closing(worker);
    }
    PREDREG_REAL(ucx, ucp_worker_destroy)(worker);
}

PREDREG_EXPORT ucs_status_t ucp_worker_arm(ucp_worker_h worker)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    predreg_thread.idle.skip = 0; /* A sleeping program calls progress seldom: the core is
                                     to be told of the next call without work */

    /* A transfer that waits for room goes on only when the program calls progress, and no
     * event of UCX would wake the program for it: so the program must not sleep */
    return ((hooks != NULL) && !hooks->may_sleep()) ?
           UCS_ERR_BUSY : PREDREG_REAL(ucx, ucp_worker_arm)(worker);
}

/* Progress with windows that go through Firehose */
static UCS_F_NOINLINE unsigned
progress_windows(unsigned ucx, const void *caller,
                 const predreg_windows_t *windows, ucp_worker_h worker)
{
    unsigned count;

    ++predreg_thread.in_progress;
    count = PREDREG_REAL_OF(ucx, caller, ucp_worker_progress)(worker);
    --predreg_thread.in_progress;
    if (predreg_thread.in_progress == 0) {
        windows->progressed(worker, count == 0);
    }
    return count;
}

/* Progress has found nothing to do. Most often this function only counts down the waits
 * that the core need not be told of: the sooner progress returns, the sooner the next
 * message is found */
static UCS_F_ALWAYS_INLINE void
found_nothing(unsigned ucx, ucp_worker_h worker)
{
    uct_predreg_purpose_t purpose = predreg_thread.purpose;
    const uct_predreg_hooks_t *hooks;

    if (ucs_likely(predreg_thread.idle.skip > 0)) {
        --predreg_thread.idle.skip;
        return;
    }

    hooks = predreg_hooks(ucx);
    if (hooks != NULL) {
        /* The hook may register memory through UCP, to measure sends without a copy */
        predreg_thread.purpose = UCT_PREDREG_PURPOSE_OPTIONAL;
        hooks->idle(&predreg_thread.sender, &predreg_thread.idle, worker);
        predreg_thread.purpose = purpose;
    }
}

PREDREG_EXPORT unsigned ucp_worker_progress(ucp_worker_h worker)
{
    unsigned ucx                  = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose = predreg_thread.purpose;
    const predreg_windows_t *windows;
    unsigned count;

    /* UCP's blocking calls make progress, too. Memory that is registered during progress
     * is not that of the blocking call, so the purpose of the call does not apply */
    predreg_thread.purpose = ucs_relaxed_load(&predreg_bypassed) ?
                      UCT_PREDREG_PURPOSE_UNKNOWN : UCT_PREDREG_PURPOSE_MESSAGE;
    windows         = predreg_windows(ucx);
    count           = ucs_likely(windows == NULL) ?
                      PREDREG_REAL(ucx, ucp_worker_progress)(worker) :
                      progress_windows(ucx, PREDREG_CALLER, windows, worker);
    predreg_thread.purpose = purpose;

    if (count == 0) {
        found_nothing(ucx, worker);
    }

    return count;
}

/* Whether a request that the program frees belongs to a small send without a copy that is
 * still in flight: UCP has to call the core back at its end */
static int is_hot(unsigned ucx, void *request)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return (hooks != NULL) && (hooks->freeing != NULL) &&
           (PREDREG_REAL(ucx, ucp_request_check_status)(request) ==
            UCS_INPROGRESS) && hooks->freeing(request);
}

PREDREG_EXPORT void ucp_request_free(void *request)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (((windows != NULL) && windows->request_freeing(request)) ||
        is_hot(ucx, request)) {
        PREDREG_REAL(ucx, ucp_request_release)(request);
    } else {
        PREDREG_REAL(ucx, ucp_request_free)(request);
    }
}
