/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "progress.h"
#include "access.h"
#include "flush.h"

#include <ucp/firehose/core/drive.h>
#include <ucp/firehose/core/settle.h>

#include <stdlib.h>


/* ucp_fh_worker_progress() leaves the tables alone so often in a row at most, if
 * UCP has got on and nothing of the worker waits for them */
#define MAX_QUICK 16


static int has_due(ucp_fh_worker_h worker)
{
    ucp_fh_way_t *way;

    ucs_list_for_each(way, &worker->dirty, link) {
        if (ucp_fh_flush_is_due(way)) {
            return 1;
        }
    }

    return 0;
}

int ucp_fh_worker_is_busy(ucp_fh_worker_h worker)
{
    return worker->is_multi &&
           ((worker->num_flushing > 0) || !ucs_list_is_empty(&worker->trash) ||
            !ucs_list_is_empty(&worker->unposted) ||
            !ucs_list_is_empty(&worker->flushes) || has_due(worker));
}

/* Count a call by a worker that has got on. Its lists are read without lock, since
 * only the threads that may call UCP with the worker write them, one at a time.
 *
 * @return whether the tables may be left to a later call: no operation of the
 *         worker waits for them, and others, which may want what it has written
 *         through, can wait for so long. */
static int may_skip_tables(ucp_fh_worker_h worker)
{
    if (worker->is_multi) {
        return 0; /* Several threads may be here */
    }

    if ((worker->num_quick == MAX_QUICK) ||
        !ucs_list_is_empty(&worker->unposted) ||
        !ucs_list_is_empty(&worker->flushes)) {
        worker->num_quick = 0;
        return 0;
    }

    ++worker->num_quick;
    return 1;
}

unsigned ucp_fh_worker_go_on(ucp_fh_worker_h worker, int *is_waiting_p)
{
    ucp_fh_t *fh   = worker->fh;
    unsigned count = ucp_worker_progress(worker->worker);
    int has_ready, has_trash, is_due;

    if ((count > 0) && may_skip_tables(worker)) {
        *is_waiting_p = 0;
        return count;
    }

    ucp_fh_lock(fh);
    has_ready     = !ucs_list_is_empty(&worker->ready) ||
                    !ucs_list_is_empty(&worker->flushes);
    has_trash     = !ucs_list_is_empty(&worker->trash);
    is_due        = has_due(worker);
    *is_waiting_p = !ucs_list_is_empty(&worker->unposted) && !has_ready;
    ucp_fh_unlock(fh);

    if (has_ready) {
        ucp_fh_access_resume(worker);
    }
    if (is_due) {
        ucp_fh_flush_due(worker);
    }
    if (has_trash) {
        ucp_fh_worker_empty_trash(worker);
    }
    return count + has_ready + is_due + has_trash;
}

unsigned ucp_fh_worker_progress(ucp_fh_worker_h worker)
{
    int is_waiting;
    unsigned count;

    count = ucp_fh_worker_go_on(worker, &is_waiting);
    if (is_waiting) {
        count += ucp_fh_drive_help(worker->fh);
    }
    return count;
}

static void wait(ucp_fh_worker_h worker, ucs_status_ptr_t request)
{
    while (ucp_fh_request_check_status(request) == UCS_INPROGRESS) {
        ucp_fh_worker_progress(worker);
    }
    ucp_fh_request_free(request);
}

static int is_flushing(ucp_fh_worker_h worker)
{
    int ret;

    ucp_fh_lock(worker->fh);
    ret = worker->num_flushing > 0;
    ucp_fh_unlock(worker->fh);
    return ret;
}

/* Complete all that was begun, flushes of single ways as well */
static void flush(ucp_fh_worker_h worker)
{
    ucs_status_ptr_t request = ucp_fh_access_flush(worker->last);

    if (UCS_PTR_IS_PTR(request)) {
        wait(worker, request);
    }
    while (is_flushing(worker)) {
        ucp_fh_worker_progress(worker);
    }
}

static void close_way(ucp_fh_worker_h worker, ucp_fh_way_t *way)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = UCP_EP_CLOSE_FLAG_FORCE
    };
    ucs_status_ptr_t request;

    /* It has been flushed. Without an error handler it has to be closed in
     * agreement with the peer */
    if (way->has_no_handler) {
        param.op_attr_mask = 0;
    }

    request = ucp_ep_close_nbx(way->ep, &param);
    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            ucp_worker_progress(worker->worker);
        }
        ucp_request_free(request);
    }
    free(way);
}

/* Keys that firehoses have still, unpacked for this worker */
static void take_rkeys(ucp_fh_worker_h worker)
{
    ucp_fh_rkey_t *unpacked;

    ucp_fh_lock(worker->fh);
    while (!ucs_list_is_empty(&worker->rkeys)) {
        unpacked = ucs_list_extract_head(&worker->rkeys, ucp_fh_rkey_t,
                                         owned_link);
        ucs_list_del(&unpacked->link);
        ucs_list_add_tail(&worker->trash, &unpacked->owned_link);
    }
    ucp_fh_unlock(worker->fh);
}

void ucp_fh_worker_destroy(ucp_fh_worker_h worker)
{
    ucp_fh_t *fh = worker->fh;
    ucp_fh_way_t *way;
    uint32_t i;

    flush(worker);

    /* From here on the library's thread does not look after it */
    ucs_mutex_lock(&fh->workers_lock);
    ucs_list_del(&worker->link);
    ucs_mutex_unlock(&fh->workers_lock);

    take_rkeys(worker);
    ucp_fh_worker_empty_trash(worker);
    for (i = 0; i < fh->num_procs; ++i) {
        way = atomic_load(&worker->ways[i]);
        if (way != NULL) {
            close_way(worker, way);
        }
    }

    ucp_fh_settle(fh);
    ucs_mutex_destroy(&worker->ways_lock);
    free(worker->ways);
    free(worker);
}
