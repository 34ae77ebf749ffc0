/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose_int.h"

#include <ucp/firehose/access/access.h>

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The longest sleep of the library's thread, ns. Other threads wake the thread for work;
 * without work it calls UCX now and then, and UCX notices peers that have died */
#define SLEEP_IDLE    500000000L

/* The longest sleep, ns, if the library's worker cannot wake the thread, if the thread
 * progresses a busy worker of the program, or if a thread of the program drives
 * (core/core.h): the thread of the program may stop to drive at any time */
#define SLEEP_POLLING 100000L

/* How long pins wait until the system, or a bound, has room for them, ns. Transfers under
 * way give their room back within this time; other memory may keep its room for ever */
#define PATIENCE      250000000ull

/* The time between two recalls while pins wait for room, ns: some round trips, since a
 * peer needs one to give a bucket back */
#define RECALL_EVERY  1000000ull

/* After a pin has waited for room in vain, other pins without room fail at once, without
 * a wait, during this time, ns */
#define IMPATIENCE    10000000000ull

/* After this number of rounds without work, some 10 us, the thread sleeps. It does not
 * sleep earlier, since messages seldom come alone */
#define MAX_IDLE      64


/* Progress those workers of the program that any thread may use and that are busy.
 * @return whether any worker is busy: then the caller sleeps for SLEEP_POLLING at most */
static int help_workers(ucp_fh_t *fh)
{
    int num_busy = 0;
    ucp_fh_worker_h worker;
    int is_busy, is_waiting;

    ucs_mutex_lock(&fh->workers_lock);
    ucs_list_for_each(worker, &fh->workers, link) {
        ucp_fh_lock(fh);
        is_busy = ucp_fh_worker_is_busy(worker);
        ucp_fh_unlock(fh);
        if (is_busy) {
            ++num_busy;
            (void)ucp_fh_worker_go_on(worker, &is_waiting);
        }
    }
    ucs_mutex_unlock(&fh->workers_lock);
    return num_busy > 0;
}

static void sleep_for(ucp_fh_t *fh, int can_wake, long ns)
{
    struct timespec timeout = {.tv_nsec = ns};
    struct pollfd fds[2]    = {
        {.fd = fh->watcher.wake_fd, .events = POLLIN},
        {.fd = fh->worker_fd, .events = POLLIN}
    };
    uint64_t count;
    ssize_t ret;

    if ((ppoll(fds, can_wake ? 2 : 1, &timeout, NULL) > 0) &&
        (fds[0].revents != 0)) {
        ret = read(fh->watcher.wake_fd, &count, sizeof(count));
        (void)ret;
    }
}

/* @return whether a thread of the program has driven since the last call of this
 *         function */
static int is_driven(ucp_fh_t *fh, unsigned *num_helps_p)
{
    unsigned before = *num_helps_p;

    *num_helps_p = ucs_relaxed_load(&fh->num_helps);
    return *num_helps_p != before;
}

/* @return whether there may be received messages to handle: for these UCX signals no
 * event any more. Under send_lock: UCX receives no message meanwhile */
static int has_mail(ucp_fh_t *fh)
{
    int ret;

    ucp_fh_lock(fh);
    ret = !ucs_list_is_empty(&fh->mail);
    ucp_fh_unlock(fh);
    return ret;
}

/* Prepare the sleep of the library's thread. @return UCS_OK: worker_fd will signal the
 * next event, and each thread that sends a message wakes the library's thread;
 * UCS_ERR_BUSY: there may be something to do right now; another error: no event will be
 * signalled */
static ucs_status_t arm(ucp_fh_t *fh)
{
    ucs_status_t status = UCS_ERR_UNSUPPORTED;

    ucs_mutex_lock(&fh->send_lock);
    if (fh->has_acted || has_mail(fh)) {
        /* UCX may have a message still to send, and signals no event for that message */
        status = UCS_ERR_BUSY;
    } else if (fh->worker_fd >= 0) {
        status = ucp_worker_arm(fh->worker);
    }
    fh->has_acted = 0;
    fh->is_armed  = (status == UCS_OK);
    ucs_mutex_unlock(&fh->send_lock);
    return status;
}

static void sleep_until_needed(ucp_fh_t *fh, int is_polling)
{
    ucs_status_t status = arm(fh);

    if (status == UCS_ERR_BUSY) {
        return;
    }

    sleep_for(fh, status == UCS_OK, (is_polling || (status != UCS_OK)) ?
              SLEEP_POLLING : SLEEP_IDLE);
    ucs_mutex_lock(&fh->send_lock);
    fh->is_armed = 0;
    ucs_mutex_unlock(&fh->send_lock);
}

/* Under lock. @return how long the first registration of ucp_fh_local_t::to_pin has
 * waited for room, ns */
static uint64_t get_wait(ucp_fh_t *fh)
{
    ucp_fh_reg_t *reg = ucs_list_head(&fh->local.to_pin, ucp_fh_reg_t, link);

    if (!fh->is_waiting || (fh->refused_number != reg->number)) {
        fh->is_waiting     = 1;
        fh->refused_number = reg->number;
        fh->refused_since  = ucs_monotonic_ns();
    }
    return ucs_monotonic_ns() - fh->refused_since;
}

/* Under lock: pins wait, since the bounds leave less room than M, or since other memory
 * has the room. Ask the peers with firehoses on one bucket to give these back, to make
 * room for peers without firehoses */
static void ask_for_room(ucp_fh_t *fh)
{
    ucp_fh_run_t run;

    if ((ucs_monotonic_ns() - fh->recalled_at > RECALL_EVERY) &&
        ucp_fh_local_pick_recall(&fh->local, &run)) {
        ucp_fh_target_recall(fh, &run);
        fh->recalled_at = ucs_monotonic_ns();
    }
}

/* Try pins again for which the system had no room. @return whether there are such pins:
 * then the caller sleeps for SLEEP_POLLING at most */
static int retry_pins(ucp_fh_t *fh)
{
    int is_refused;

    ucp_fh_lock(fh);
    is_refused = fh->local.is_refused &&
                 !ucs_list_is_empty(&fh->local.to_pin);
    fh->is_waiting = fh->is_waiting && is_refused;
    if (is_refused) {
        ask_for_room(fh);
        ucp_fh_local_try_again(&fh->local, get_wait(fh) > PATIENCE);
    } else if (fh->local.is_impatient &&
               (ucs_monotonic_ns() - fh->refused_since > IMPATIENCE)) {
        ucp_fh_local_be_patient(&fh->local);
    }
    ucp_fh_unlock(fh);
    if (is_refused) {
        ucp_fh_settle(fh);
    }
    return is_refused;
}

static void *run(void *arg)
{
    unsigned num_helps = 0;
    ucp_fh_t *fh       = arg;
    int idle           = 0;
    ucp_fh_drive_result_t result;
    int is_busy;

    while (!ucs_relaxed_load(&fh->is_ending)) {
        result = ucp_fh_drive(fh, 0);
        ucp_fh_settle(fh);
        ucp_fh_unmap_progress(fh);
        is_busy = help_workers(fh);
        if (result == UCP_FH_DRIVE_DONE) {
            idle = 0;
        } else if ((result == UCP_FH_DRIVE_TAKEN) ||
                   is_driven(fh, &num_helps)) {
            (void)retry_pins(fh);
            sleep_for(fh, 0, SLEEP_POLLING);
            idle = 0;
        } else if (++idle > MAX_IDLE) {
            is_busy |= retry_pins(fh);
            sleep_until_needed(fh, is_busy);
            idle = 0;
        }
    }

    return NULL;
}

static ucs_status_t set_handler(ucp_fh_t *fh)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id         = UCP_FH_AM_ID,
        .flags      = UCP_AM_FLAG_WHOLE_MSG,
        .cb         = ucp_fh_inbox_receive,
        .arg        = fh
    };

    return ucp_worker_set_am_recv_handler(fh->worker, &param);
}

ucs_status_t ucp_fh_thread_create_worker(ucp_fh_t *fh)
{
    /* send_lock is around all calls of the worker */
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED
    };
    ucs_status_t status;

    status = ucp_worker_create(fh->context, &params, &fh->worker);
    if (status != UCS_OK) {
        goto err;
    }

    status = set_handler(fh);
    if (status != UCS_OK) {
        ucs_error("firehose: the context takes no active messages; accepted: one "
                  "made with UCP_FEATURE_AM, and UCP_FEATURE_RMA");
        goto err_destroy_worker;
    }

    status = ucp_worker_get_address(fh->worker, &fh->address,
                                    &fh->address_length);
    if (status != UCS_OK) {
        goto err_destroy_worker;
    }

    if (ucp_worker_get_efd(fh->worker, &fh->worker_fd) != UCS_OK) {
        ucs_debug("firehose: the context has no UCP_FEATURE_WAKEUP; the thread "
                  "looks for messages every 100 us");
        fh->worker_fd = -1;
    }

    fh->watcher.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fh->watcher.wake_fd < 0) {
        status = UCS_ERR_NO_RESOURCE;
        goto err_release_address;
    }
    return UCS_OK;

err_release_address:
    ucp_worker_release_address(fh->worker, fh->address);
err_destroy_worker:
    ucp_worker_destroy(fh->worker);
err:
    ucs_error("firehose: the library's worker could not be made: %s",
              ucs_status_string(status));
    return status;
}

void ucp_fh_thread_destroy_worker(ucp_fh_t *fh)
{
    ucp_worker_release_address(fh->worker, fh->address);
    ucp_worker_destroy(fh->worker);
}

ucs_status_t ucp_fh_thread_start(ucp_fh_t *fh)
{
    sigset_t all, before;
    int ret;

    /* The new thread inherits the mask: no signal handler of the program is to run in
     * it */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ret = pthread_create(&fh->thread, NULL, run, fh);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ret != 0) {
        ucs_error("firehose: no thread could be started: %s", strerror(ret));
        return UCS_ERR_NO_RESOURCE;
    }

    (void)pthread_setname_np(fh->thread, "ucx_firehose");
    return UCS_OK;
}

void ucp_fh_thread_stop(ucp_fh_t *fh)
{
    ucs_relaxed_store(&fh->is_ending, 1);
    ucp_fh_wake(fh);
    pthread_join(fh->thread, NULL);
}
