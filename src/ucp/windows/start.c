/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucp/firehose/firehose_int.h>

#include <ucs/base/hash.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <stdlib.h>

/* Most bytes of an address of Firehose in the key to a window: the rest of the
 * key has some 300 bytes, and UCP_WIN_KEY_MAX bounds the key */
#define MAX_ADDRESS 700


/* @return a number that all processes of a job have, and other jobs do not: processes of
 *         two jobs may exchange keys, and have to notice so */
static uint64_t get_job(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "PMI_JOBID",
                                        "PMI_ID_JOB", "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "OMPI_MCA_ess_base_jobid"};
    uint64_t hash                    = UCS_HASH_TEXT_FIRST;
    unsigned i;

    for (i = 0; i < ucs_static_array_size(names); ++i) {
        hash = ucs_hash_text(hash, getenv(names[i])) + i;
    }

    return hash ^ ucs_hash_word(ucp_win.num_procs);
}

void ucp_win_start_init(const predreg_windows_env_t *env)
{
    long num = (env->num_procs == NULL) ? 0 : atol(env->num_procs);

    ucp_win.env       = env;
    ucp_win.num_procs = ((num > 0) && (num <= 1 << 20) && (env->index >= 0) &&
                         (env->index < num)) ? num : 0;
    ucp_win.job       = get_job();
    ucs_list_head_init(&ucp_win.open_ways);
    ucs_list_head_init(&ucp_win.closing_ways);
    ucs_list_head_init(&ucp_win.workers);
    ucs_list_head_init(&ucp_win.ways.list);
    ucs_list_head_init(&ucp_win.none.remote.ended);
    ucs_list_head_init(&ucp_win.none.local.ended);
}

void ucp_win_tell_pinned(const char *why)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_warn("UCX_RCACHE_PRED_WINDOWS=firehose: memory is pinned as a "
                 "whole, since %s", why);
    }
}

/* Make the queues of Firehose's own worker short: with UCX's own lengths, for a flood of
 * messages of 8 KB, the worker would have 24 MB pinned. These settings are for all
 * transports of InfiniBand, since UCX 1.13 takes settings of single transports, such as
 * RC_VERBS_RX_QUEUE_LEN, from the environment only. A version of UCX that lacks a setting
 * refuses it, which does no harm */
static void shrink_queues(ucp_config_t *config)
{
    (void)ucp_config_modify(config, "IB_RX_QUEUE_LEN", "256");
    (void)ucp_config_modify(config, "IB_RX_BUFS_GROW", "64");
    (void)ucp_config_modify(config, "IB_TX_BUFS_GROW", "64");
}

static ucs_status_t make_context(ucp_context_h *context_p)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };
    ucp_config_t *config;
    ucs_status_t status;

    status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        return status;
    }

    shrink_queues(config);
    status = ucp_init(&params, config, context_p);
    ucp_config_release(config);
    return status;
}

/* Under start_lock */
static ucs_status_t start(ucp_context_h context, ucp_fh_t **fh_p)
{
    ucp_fh_init_params_t params = {
        .num_procs = ucp_win.num_procs,
        .index     = ucp_win.env->index
    };
    ucs_status_t status;

    status = make_context(&ucp_win.context);
    if (status != UCS_OK) {
        return status;
    }

    /* Keep messages of UCX about settings of transports out of the log: this machine may
     * lack a transport */
    (void)ucp_fh_hush("invalid configuration");
    params.context = ucp_win.context;
    status         = ucp_fh_init_for(&params, context, fh_p);
    (void)ucp_fh_hush(NULL);
    if (status != UCS_OK) {
        goto err_cleanup;
    }

    (*fh_p)->says_hello = 1;
    status = ucp_fh_get_address(*fh_p, &ucp_win.address,
                                &ucp_win.address_length);
    if (status != UCS_OK) {
        goto err_finalize;
    }

    if (ucp_win.address_length > MAX_ADDRESS) {
        status = UCS_ERR_EXCEEDS_LIMIT;
        goto err_release_address;
    }
    return UCS_OK;

err_release_address:
    ucp_fh_release_address(*fh_p, ucp_win.address);
err_finalize:
    ucp_fh_finalize(*fh_p);
err_cleanup:
    ucp_cleanup(ucp_win.context);
    return status;
}

/* Under start_lock */
static ucp_fh_t *try_to_start(ucp_context_h context)
{
    ucp_fh_t *fh;

    if (ucp_win.num_procs == 0) {
        ucp_win_tell_pinned("the environment does not tell which process of "
                            "which job this is");
        return NULL;
    }

    if (!ucp_fh_is_for_threads(context)) {
        ucp_win_tell_pinned("UCX has no locks for threads");
        return NULL;
    }

    if (start(context, &fh) != UCS_OK) {
        ucp_win.is_over = 1;
        ucp_win_tell_pinned("Firehose could not be started");
        return NULL;
    }

    ucp_win.mem_context = context;
    atomic_store_explicit(&ucp_win.fh, fh, memory_order_release);
    return fh;
}

ucp_fh_t *ucp_win_start_access(ucp_context_h context)
{
    ucp_fh_t *fh;

    ucs_mutex_lock(&ucp_win.start_lock);
    fh = ucp_win_fh();
    if ((fh == NULL) && !ucp_win.is_over) {
        fh = try_to_start(context);
    }
    ucs_mutex_unlock(&ucp_win.start_lock);
    return fh;
}

ucp_fh_t *ucp_win_start(ucp_context_h context)
{
    ucp_fh_t *fh = ucp_win_start_access(context);

    /* Without lock: mem_context does not change while Firehose runs */
    if ((fh != NULL) && (ucp_win.mem_context != context)) {
        ucp_win_tell_pinned("the windows of one UCP context only go through "
                            "Firehose, and there are two");
        fh = NULL;
    }
    return fh;
}

/* Take Firehose away from the endpoints of all contexts, and from calls that begin later.
 * The unpacked keys go to the trash of the ways: threads that may use the workers destroy
 * the keys.
 * @return 0: a call that uses Firehose is under way, and the caller tries again */
static int try_detach(ucp_fh_t *fh)
{
    ucp_win_way_t *way;
    int is_unused;

    ucs_mutex_lock(&ucp_win.lock);
    is_unused = (atomic_load(&ucp_win.num_calls) <= (ucp_win_depth > 0));
    if (is_unused) {
        ucp_fh_lock(fh);
        ucs_list_for_each(way, &ucp_win.open_ways, link) {
            ucp_fh_way_drop(fh, &way->super);
        }
        ucs_list_for_each(way, &ucp_win.closing_ways, link) {
            ucp_fh_way_drop(fh, &way->super);
        }
        atomic_store_explicit(&ucp_win.fh, NULL, memory_order_release);
        ucp_fh_unlock(fh);
    }
    ucs_mutex_unlock(&ucp_win.lock);
    return is_unused;
}

/* Refuse further calls, wait until the calls under way for other contexts have ended,
 * which may themselves wait for peers, and take Firehose away */
static void detach(ucp_fh_t *fh)
{
    atomic_store(&ucp_win.is_ending, 1);
    while (!try_detach(fh)) {
        ucs_sleep_shortly();
    }
}

void ucp_win_end(ucp_context_h context)
{
    ucp_fh_t *fh;

    /* Firehose's own context is not noted: do nothing for it. start() destroys that
     * context under start_lock if Firehose cannot be started */
    if (!ucp_win_context_remove(context)) {
        return;
    }

    ucs_mutex_lock(&ucp_win.start_lock);
    fh = (ucp_win.mem_context == context) ? ucp_win_fh() : NULL;
    if (fh != NULL) {
        ucp_win.is_over = 1;
    }
    ucs_mutex_unlock(&ucp_win.start_lock);

    if (fh != NULL) {
        detach(fh); /* Without start_lock, since calls for which detach() waits may take
                       start_lock */
        ucp_fh_release_address(fh, ucp_win.address);
        ucp_fh_finalize(fh);
        ucp_cleanup(ucp_win.context);
    }
}
