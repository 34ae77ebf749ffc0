/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sender.h"

#include <ucs/base/mutex.h>

#include <pthread.h>
#include <stdlib.h>


/* Protects the list of all senders. Senders are never freed, since their counters are
 * needed after the counting threads have ended */
static ucs_mutex_t lock = UCS_MUTEX_INITIALIZER(UCS_RANK_SENDERS);
static uct_predreg_sender_t *senders;

_Atomic(uint32_t) uct_predreg_sender_generation = 1;

__thread uct_predreg_sender_t *uct_predreg_sender_mine;

/* Counts of events that no thread's sender counts. Relaxed: the counts are only shown */
static _Atomic(uint64_t) late_hot;
static _Atomic(uint64_t) late_bytes;
static _Atomic(uint64_t) heated;

/* The key's destructor gives the sender of a thread back when the thread ends */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;


static void thread_ended(void *arg)
{
    uct_predreg_sender_t *sender = arg;

    ucs_mutex_lock(&lock);
    sender->is_taken = 0;
    ucs_mutex_unlock(&lock);
}

static void make_key(void)
{
    /* Without a key no sender is given back, and each new thread gets a new sender */
    has_key = (pthread_key_create(&key, thread_ended) == 0);
}

uct_predreg_sender_t *uct_predreg_sender_take(void)
{
    uct_predreg_sender_t *sender;

    pthread_once(&key_once, make_key);

    ucs_mutex_lock(&lock);
    for (sender = senders; sender != NULL; sender = sender->next) {
        if (!sender->is_taken) {
            break;
        }
    }

    if (sender == NULL) {
        sender = calloc(1, sizeof(*sender));
        if (sender != NULL) {
            sender->next = senders;
            senders      = sender;
        }
    }

    if (sender != NULL) {
        sender->is_taken = 1;
        /* The thread that had the sender before may have been cancelled within a send */
        sender->issuing  = (uct_predreg_issuing_t){};
    }
    ucs_mutex_unlock(&lock);

    if ((sender != NULL) && has_key) {
        pthread_setspecific(key, sender);
    }
    uct_predreg_sender_mine = sender;
    return sender;
}

void uct_predreg_count_late(size_t length)
{
    ucs_relaxed_add(&late_hot, 1);
    ucs_relaxed_add(&late_bytes, length);
}

void uct_predreg_count_heated(void)
{
    ucs_relaxed_add(&heated, 1);
}

void uct_predreg_count_sends(ucs_rcache_pred_snapshot_t *snapshot)
{
    const uct_predreg_sender_t *sender;

    snapshot->eager_sends       = 0;
    snapshot->eager_hot         = ucs_relaxed_load(&late_hot);
    snapshot->eager_bytes_saved = ucs_relaxed_load(&late_bytes);
    snapshot->eager_buffers_hot = ucs_relaxed_load(&heated);

    ucs_mutex_lock(&lock);
    for (sender = senders; sender != NULL; sender = sender->next) {
        snapshot->eager_sends       += ucs_relaxed_load(&sender->sends);
        snapshot->eager_hot         += ucs_relaxed_load(&sender->hot);
        snapshot->eager_bytes_saved += ucs_relaxed_load(&sender->bytes_saved);
    }
    ucs_mutex_unlock(&lock);
}

void uct_predreg_senders_reset(void)
{
    uct_predreg_sender_t *sender;

    ucs_mutex_init(&lock, UCS_RANK_SENDERS, 0);
    uct_predreg_senders_forget();
    for (sender = senders; sender != NULL; sender = sender->next) {
        sender->issuing = (uct_predreg_issuing_t){};
        atomic_init(&sender->sends, 0);
        atomic_init(&sender->hot, 0);
        atomic_init(&sender->bytes_saved, 0);
    }
    atomic_init(&late_hot, 0);
    atomic_init(&late_bytes, 0);
    atomic_init(&heated, 0);
}
