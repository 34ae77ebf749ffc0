/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "thread.h"

#include <ucp/firehose/access/progress.h>
#include <ucp/firehose/core/mover.h>
#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/peer.h>
#include <ucp/firehose/core/settle.h>
#include <ucp/firehose/core/target.h>
#include <ucp/firehose/core/unmap.h>

#include <ucs/debug/log_def.h>

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* How long the thread sleeps at most, ns. Whoever has something for it wakes
 * it; UCX is asked now and then whether its peers are alive */
#define SLEEP_IDLE    500000000L

/* The same if the worker cannot wake it, or it looks after a worker of the
 * program that has something to do */
#define SLEEP_POLLING 100000L

/* How long pins wait for room that the system, or a bound, has not, ns.
 * Transfers that are under way give it back sooner; who has it for longer may
 * keep it */
#define PATIENCE      250000000ull

/* How long nothing waits so after it was in vain, ns */
#define IMPATIENCE    10000000000ull

/* So often in a row nothing has to happen before it sleeps, as messages seldom
 * come alone: some 10 us */
#define MAX_IDLE      64

/* The worker is progressed so often before others get its lock */
#define MAX_PROGRESS  64


static uint64_t number_of(const ucp_fh_parcel_t *parcel)
{
    return ((const ucp_fh_header_t*)parcel->data)->number;
}

static unsigned type_of(const ucp_fh_parcel_t *parcel)
{
    return ((const ucp_fh_header_t*)parcel->data)->type;
}

static uint64_t cookie_of(const ucp_fh_parcel_t *parcel)
{
    return ((const ucp_fh_header_t*)parcel->data)->cookie;
}

/* Put a message where it belongs among those of its peer, nearly always at the
 * end. Under lock. @return 0 if there was one of its number */
static int insert(ucp_fh_link_t *link, ucp_fh_parcel_t *parcel)
{
    ucs_list_link_t *pos = link->inbox.prev;
    uint64_t other;

    if (number_of(parcel) < link->next_in) {
        return 0;
    }

    for (; pos != &link->inbox; pos = pos->prev) {
        other = number_of(ucs_container_of(pos, ucp_fh_parcel_t, link));
        if (other == number_of(parcel)) {
            return 0;
        }
        if (other < number_of(parcel)) {
            break;
        }
    }

    ucs_list_insert_after(pos, &parcel->link);
    return 1;
}

/* Under lock. Takes the message */
static void receive(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    uint32_t slot       = parcel->slot;
    ucp_fh_link_t *link = &fh->links[slot];

    if (link->status != UCS_OK) {
        free(parcel); /* It is not heard any more */
    } else if ((link->ep != NULL) && (cookie_of(parcel) != link->cookie)) {
        free(parcel); /* Somebody else has sent it, and not this peer */
        ++fh->num_damaged;
    } else if ((link->num_inbox == UCP_FH_MAX_INBOX) || !insert(link, parcel)) {
        free(parcel);
        ucp_fh_peer_damaged(fh, slot, "a message too many");
    } else {
        ++link->num_inbox;
        fh->has_mail = 1;
    }
}

/* @return a copy of a message, whose peer is known; NULL if it cannot be told
 *         whose it is */
static ucp_fh_parcel_t *
copy_message(ucp_fh_t *fh, const void *data, size_t length)
{
    const ucp_fh_header_t *header;
    ucp_fh_parcel_t *parcel;

    parcel = malloc(sizeof(*parcel) + length);
    if (parcel == NULL) {
        return NULL;
    }

    parcel->fh     = fh;
    parcel->length = length;
    memcpy(parcel->data, data, length);
    header = ucp_fh_message_header(parcel->data, length);
    if ((header == NULL) || (header->sender >= fh->num_procs)) {
        free(parcel);
        return NULL;
    }

    parcel->slot = header->sender;
    return parcel;
}

/* Called by UCP under send_lock */
static ucs_status_t
message_has_come(void *arg, const void *header, size_t header_length,
                 void *data, size_t length, const ucp_am_recv_param_t *param)
{
    ucp_fh_t *fh            = arg;
    ucp_fh_parcel_t *parcel = NULL;

    /* A rendezvous is none of ours: what there is of it is a description
     * only */
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        parcel = copy_message(fh, data, length);
    }

    ucp_fh_lock(fh);
    if (parcel != NULL) {
        receive(fh, parcel);
    } else {
        ++fh->num_damaged;
    }
    ucp_fh_unlock(fh);
    return UCS_OK;
}

/* Under lock. @return whether the next message of a peer is there, and may be
 * handled: before the peer is connected, only its greeting is */
static int has_next(const ucp_fh_t *fh, ucp_fh_link_t *link)
{
    ucp_fh_parcel_t *parcel;

    if (ucs_list_is_empty(&link->inbox)) {
        return 0;
    }

    parcel = ucs_list_head(&link->inbox, ucp_fh_parcel_t, link);
    return (number_of(parcel) == link->next_in) &&
           ((link->ep != NULL) ||
            (fh->says_hello && (type_of(parcel) == UCP_FH_MESSAGE_HELLO)));
}

/* Take a message whose turn it is. @return NULL if there is none */
static ucp_fh_parcel_t *next_message(ucp_fh_t *fh)
{
    ucp_fh_parcel_t *parcel = NULL;
    ucp_fh_link_t *link;
    uint32_t i;

    ucp_fh_lock(fh);
    for (i = 0; fh->has_mail && (i < fh->num_procs); ++i) {
        link = &fh->links[i];
        if (has_next(fh, link)) {
            parcel = ucs_list_extract_head(&link->inbox, ucp_fh_parcel_t, link);
            --link->num_inbox;
            ++link->next_in;
            break;
        }
    }
    fh->has_mail = (parcel != NULL);
    ucp_fh_unlock(fh);
    return parcel;
}

/* A peer has made itself known. It may be known already, as its greeting and
 * that of this process may have met */
static ucs_status_t handle_hello(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    size_t length    = parcel->length - sizeof(ucp_fh_header_t);
    const void *data = UCS_PTR_BYTE_OFFSET(parcel->data,
                                           sizeof(ucp_fh_header_t));
    const ucp_fh_address_t *head = data;
    ucs_status_t status;

    if (!fh->says_hello || (ucp_fh_address_check(data, length) != UCS_OK) ||
        (head->cookie != cookie_of(parcel))) {
        return UCS_ERR_INVALID_PARAM;
    }

    status = ucp_fh_connect(fh, parcel->slot, data, length);
    return (status == UCS_ERR_ALREADY_EXISTS) ? UCS_OK : status;
}

static ucs_status_t handle(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    const ucp_fh_header_t *header = (const ucp_fh_header_t*)parcel->data;

    switch (header->type) {
    case UCP_FH_MESSAGE_MOVE:
        return ucp_fh_target_move(fh, parcel);
    case UCP_FH_MESSAGE_REPLY:
        return ucp_fh_mover_reply(fh, parcel);
    case UCP_FH_MESSAGE_RECALL:
        return ucp_fh_mover_recall(fh, parcel);
    case UCP_FH_MESSAGE_HELLO:
        return handle_hello(fh, parcel);
    default:
        ucp_fh_lock(fh);
        ucp_fh_peer_fail(fh, parcel->slot, UCS_ERR_UNREACHABLE);
        ucp_fh_unlock(fh);
        return UCS_OK;
    }
}

/* @return whether there was a message */
static int handle_messages(ucp_fh_t *fh)
{
    int num = 0;
    ucp_fh_parcel_t *parcel;

    for (; (parcel = next_message(fh)) != NULL; ++num) {
        if (handle(fh, parcel) != UCS_OK) {
            ucp_fh_lock(fh);
            ucp_fh_peer_damaged(fh, parcel->slot,
                                "a message that is not understood");
            ucp_fh_unlock(fh);
        }
        free(parcel);
        ucp_fh_settle(fh);
    }

    return num > 0;
}

static int progress(ucp_fh_t *fh)
{
    int i = 0;

    pthread_mutex_lock(&fh->send_lock);
    while ((i < MAX_PROGRESS) && (ucp_worker_progress(fh->worker) > 0)) {
        ++i;
    }
    pthread_mutex_unlock(&fh->send_lock);
    return i > 0;
}

/* Look after workers that any thread may use. @return whether one waits for
 * that */
static int help_workers(ucp_fh_t *fh)
{
    int num_busy = 0;
    ucp_fh_worker_h worker;
    int is_busy;

    pthread_mutex_lock(&fh->workers_lock);
    ucs_list_for_each(worker, &fh->workers, link) {
        ucp_fh_lock(fh);
        is_busy = ucp_fh_worker_is_busy(worker);
        ucp_fh_unlock(fh);
        if (is_busy) {
            ++num_busy;
            ucp_fh_worker_progress(worker);
        }
    }
    pthread_mutex_unlock(&fh->workers_lock);
    return num_busy > 0;
}

/* @return whether the worker wakes the thread */
static int arm(ucp_fh_t *fh, int *is_pending_p)
{
    ucs_status_t status;

    *is_pending_p = 0;
    if (fh->worker_fd < 0) {
        return 0;
    }

    pthread_mutex_lock(&fh->send_lock);
    status = ucp_worker_arm(fh->worker);
    pthread_mutex_unlock(&fh->send_lock);
    *is_pending_p = (status == UCS_ERR_BUSY);
    return status == UCS_OK;
}

static void sleep_until_needed(ucp_fh_t *fh, int is_polling)
{
    struct pollfd fds[2] = {
        {.fd = fh->wake_fd, .events = POLLIN},
        {.fd = fh->worker_fd, .events = POLLIN}
    };
    struct timespec timeout = {};
    int is_pending, can_wake;
    uint64_t count;
    ssize_t ret;

    can_wake = arm(fh, &is_pending);
    if (is_pending) {
        return;
    }

    timeout.tv_nsec = (can_wake && !is_polling) ? SLEEP_IDLE : SLEEP_POLLING;
    if ((ppoll(fds, can_wake ? 2 : 1, &timeout, NULL) > 0) &&
        (fds[0].revents != 0)) {
        ret = read(fh->wake_fd, &count, sizeof(count));
        (void)ret;
    }
}

static int is_ending(ucp_fh_t *fh)
{
    int ret;

    ucp_fh_lock(fh);
    ret = fh->is_ending;
    ucp_fh_unlock(fh);
    return ret;
}

static uint64_t now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (ts.tv_sec * 1000000000ull) + ts.tv_nsec;
}

/* Under lock. @return for how long a region has been waiting, ns */
static uint64_t get_wait(ucp_fh_t *fh)
{
    ucp_fh_region_t *region = ucs_list_head(&fh->local.to_pin, ucp_fh_region_t,
                                            link);

    if (!fh->is_waiting || (fh->refused_region != region->number)) {
        fh->is_waiting     = 1;
        fh->refused_region = region->number;
        fh->refused_since  = now();
    }
    return now() - fh->refused_since;
}

/* Try again to pin what there was no room for. @return whether pins wait for
 * that */
static int retry_pins(ucp_fh_t *fh)
{
    int is_refused;

    ucp_fh_lock(fh);
    is_refused = fh->local.is_refused &&
                 !ucs_list_is_empty(&fh->local.to_pin);
    fh->is_waiting = fh->is_waiting && is_refused;
    if (is_refused) {
        ucp_fh_local_try_again(&fh->local, get_wait(fh) > PATIENCE);
    } else if (fh->local.is_impatient &&
               (now() - fh->refused_since > IMPATIENCE)) {
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
    ucp_fh_t *fh = arg;
    int idle     = 0;
    int has_progressed, has_handled, is_busy;

    while (!is_ending(fh)) {
        has_progressed = progress(fh);
        has_handled    = handle_messages(fh);
        ucp_fh_settle(fh);
        ucp_fh_unmap_progress(fh);
        is_busy = help_workers(fh);
        idle    = (has_progressed || has_handled) ? 0 : idle + 1;
        if (idle > MAX_IDLE) {
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
        .cb         = message_has_come,
        .arg        = fh
    };

    return ucp_worker_set_am_recv_handler(fh->worker, &param);
}

ucs_status_t ucp_fh_thread_create_worker(ucp_fh_t *fh)
{
    /* Its calls are under send_lock, so that it needs no lock of its own */
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

    fh->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fh->wake_fd < 0) {
        status = UCS_ERR_NO_RESOURCE;
        goto err_release_address;
    }
    fh->watcher.wake_fd = fh->wake_fd;
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

    /* No handler of the program is to run in this thread */
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
    ucp_fh_lock(fh);
    fh->is_ending = 1;
    ucp_fh_unlock(fh);
    ucp_fh_wake(fh);
    pthread_join(fh->thread, NULL);
}
