/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose_int.h"

#include <ucs/base/clock.h>
#include <ucs/base/hash.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <string.h>
#include <unistd.h>

/* Begin and end of the library in a process */

/* How long ucp_fh_finalize() waits until the messages to peers have left, ns: not for
 * ever, since some peers may be gone */
#define PATIENCE 2000000000L


static void init_fields(ucp_fh_t *fh, const ucp_fh_settings_t *settings)
{
    uint32_t i;

    fh->context     = settings->context;
    fh->mem_context = settings->mem_context;
    fh->num_procs = settings->local.num_peers;
    fh->index     = settings->index;
    fh->err_mode  = settings->err_mode;
    fh->shift     = settings->local.shift;
    fh->cookie    = ucs_hash_word(ucs_clock_ns(CLOCK_REALTIME)) ^
                    ucs_hash_word(getpid());
    fh->report    = ucp_fh_report;
    fh->watcher.wake_fd = -1;
    ucs_list_head_init(&fh->mail);
    ucs_list_head_init(&fh->outbox);
    ucs_list_head_init(&fh->calls);
    ucs_list_head_init(&fh->mems);
    ucp_fh_places_init(&fh->leaving);
    ucs_list_head_init(&fh->withdrawn);
    ucs_list_head_init(&fh->workers);
    ucs_mutex_init(&fh->drive_lock, UCS_RANK_FH_DRIVE, UCS_MUTEX_LENDS);
    ucs_mutex_init(&fh->send_lock, UCS_RANK_FH_SEND, 0);
    ucs_mutex_init(&fh->lock, UCS_RANK_FH, 0);
    ucs_mutex_init(&fh->workers_lock, UCS_RANK_FH_WORKERS, 0);
    pthread_cond_init(&fh->cond, NULL);
    for (i = 0; i < fh->num_procs; ++i) {
        ucs_list_head_init(&fh->links[i].inbox);
        ucs_list_head_init(&fh->links[i].mail);
        ucs_list_head_init(&fh->links[i].sent);
    }
}

static void cleanup_fields(ucp_fh_t *fh)
{
    if (fh->watcher.wake_fd >= 0) {
        close(fh->watcher.wake_fd);
    }
    pthread_cond_destroy(&fh->cond);
    ucs_mutex_destroy(&fh->workers_lock);
    ucs_mutex_destroy(&fh->lock);
    ucs_mutex_destroy(&fh->send_lock);
    ucs_mutex_destroy(&fh->drive_lock);
    free(fh->spare);
    free(fh->links);
    free(fh);
}

static void destroy_key(void *arg, void *key)
{
    ucp_fh_key_free(key);
}

int ucp_fh_is_for_threads(ucp_context_h context)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_THREAD_MODE};

    return (ucp_context_query(context, &attr) == UCS_OK) &&
           (attr.thread_mode == UCS_THREAD_MODE_MULTI);
}

/* Check that the context allows calls by several threads at a time: those of the program,
 * and the library's own */
static ucs_status_t check_context(ucp_context_h context)
{
    if (context == NULL) {
        ucs_error("firehose: no context; accepted: one with AM and RMA");
        return UCS_ERR_INVALID_PARAM;
    }

    if (!ucp_fh_is_for_threads(context)) {
        ucs_error("firehose: the context is for one thread; it has to be made "
                  "with mt_workers_shared");
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

/* Make the state of the library. Its tables and links have an entry for each process */
static ucs_status_t make(const ucp_fh_settings_t *settings, ucp_fh_t **fh_p)
{
    uint32_t num        = settings->local.num_peers;
    ucs_status_t status = UCS_ERR_NO_MEMORY;
    ucp_fh_t *fh        = calloc(1, sizeof(*fh));

    if (fh == NULL) {
        goto err;
    }

    fh->links = calloc(num, sizeof(*fh->links));
    if (fh->links == NULL) {
        free(fh);
        goto err;
    }

    init_fields(fh, settings);
    status = ucp_fh_remote_init(&fh->remote, &settings->remote);
    if (status != UCS_OK) {
        goto err_cleanup;
    }

    status = ucp_fh_local_init(&fh->local, &settings->local);
    if (status != UCS_OK) {
        goto err_cleanup_remote;
    }

    *fh_p = fh;
    return UCS_OK;

err_cleanup_remote:
    ucp_fh_remote_cleanup(&fh->remote, destroy_key, NULL);
err_cleanup:
    cleanup_fields(fh);
err:
    if (status == UCS_ERR_NO_MEMORY) {
        ucs_error("firehose: there is no memory for what is kept for each of %u "
                  "processes", num);
    }
    return status;
}

ucs_status_t
ucp_fh_init_for(const ucp_fh_init_params_t *params, ucp_context_h mem_context,
                ucp_fh_h *fh_p)
{
    ucp_fh_settings_t settings;
    ucs_status_t status;
    ucp_fh_t *fh;

    /* If UCM reports no munmap(), the program has to call ucp_fh_unexpose() before
     * munmap() */
    (void)ucp_fh_watch_start();

    status = check_context(params->context);
    if (status != UCS_OK) {
        goto err;
    }

    status = ucp_fh_settings_get(params, ucp_fh_preloaded_room(mem_context),
                                 &settings);
    if (status != UCS_OK) {
        goto err;
    }

    settings.mem_context = mem_context;
    status               = make(&settings, &fh);
    if (status != UCS_OK) {
        goto err;
    }

    status = ucp_fh_thread_create_worker(fh);
    if (status != UCS_OK) {
        goto err_cleanup;
    }

    status = ucp_fh_thread_start(fh);
    if (status != UCS_OK) {
        goto err_destroy_worker;
    }

    *fh_p = fh;
    return UCS_OK;

err_destroy_worker:
    ucp_fh_thread_destroy_worker(fh);
err_cleanup:
    ucp_fh_local_cleanup(&fh->local, &(ucp_fh_pin_ops_t){});
    ucp_fh_remote_cleanup(&fh->remote, destroy_key, NULL);
    cleanup_fields(fh);
err:
    return status;
}

ucs_status_t ucp_fh_init(const ucp_fh_init_params_t *params, ucp_fh_h *fh_p)
{
    return ucp_fh_init_for(params, params->context, fh_p);
}

void ucp_fh_query(ucp_fh_h fh, ucp_fh_stats_t *stats)
{
    ucp_fh_lock(fh);
    stats->requests    = fh->remote.stats.requests;
    stats->hits        = fh->remote.stats.hits;
    stats->moves       = fh->remote.stats.moves;
    stats->moved       = fh->remote.stats.moved;
    stats->bytes       = fh->local.num_pinned << fh->shift;
    stats->bytes_peak  = fh->pinned_peak << fh->shift;
    stats->bytes_limit = fh->local.max_pinned << fh->shift;
    stats->answered    = fh->num_answered;
    stats->damaged     = fh->num_damaged;
    ucp_fh_unlock(fh);
}

/* Tell all peers that this process ends */
static void say_goodbye(ucp_fh_t *fh)
{
    uint32_t i;

    ucp_fh_lock(fh);
    for (i = 0; i < fh->num_procs; ++i) {
        if (fh->links[i].status == UCS_OK) {
            ucp_fh_peer_bye(fh, i);
        }
    }
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);
}

/* Wait until the messages have left, before the worker and its endpoints are destroyed. The
 * library's thread has stopped */
static void flush_worker(ucp_fh_t *fh)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t until            = ucs_monotonic_ns() + PATIENCE;
    ucs_status_ptr_t request;

    request = ucp_worker_flush_nbx(fh->worker, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }

    while ((ucp_request_check_status(request) == UCS_INPROGRESS) &&
           (ucs_monotonic_ns() < until)) {
        ucp_worker_progress(fh->worker);
    }
    ucp_request_free(request);
}

/* End all requests of this process to peers, and all requests of peers to this process */
static void fail_all(ucp_fh_t *fh)
{
    uint32_t i;

    ucp_fh_lock(fh);
    for (i = 0; i < fh->num_procs; ++i) {
        ucp_fh_peer_fail(fh, i, UCS_ERR_CANCELED);
    }
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);
}

static void free_mems(ucp_fh_t *fh)
{
    struct ucp_fh_mem *mem;
    ucp_fh_part_t *part;

    while ((mem = ucp_fh_list_pop(&fh->mems, struct ucp_fh_mem, link)) != NULL) {
        while ((part = ucp_fh_list_pop(&mem->parts, ucp_fh_part_t, link)) != NULL) {
            free(part);
        }
        ucp_fh_watch_remove(&mem->watched);
        free(mem);
    }
}

void ucp_fh_finalize(ucp_fh_h fh)
{
    ucp_fh_pin_ops_t ops = ucp_fh_pinning_ops(fh);
    uint32_t i;

    say_goodbye(fh);
    ucp_fh_thread_stop(fh);
    flush_worker(fh);
    fail_all(fh);
    ucp_fh_unmap_finish(fh); /* No peer has firehoses any more */
    ucp_fh_thread_destroy_worker(fh);

    ucp_fh_local_cleanup(&fh->local, &ops);
    ucp_fh_remote_cleanup(&fh->remote, destroy_key, NULL);
    free_mems(fh);
    for (i = 0; i < fh->num_procs; ++i) {
        free(fh->links[i].address);
        free(fh->links[i].bye);
    }
    cleanup_fields(fh);
}
