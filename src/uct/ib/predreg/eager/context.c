/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <ucs/base/mutex.h>
#include <ucs/base/wait.h>
#include <uct/ib/predreg/core/state.h>

#include <stdlib.h>

/* A worker of a listed context */
typedef struct worker {
    ucp_worker_h                worker;
    uct_predreg_eager_context_t *context;
    struct worker               *next;
} worker_t;

/* Held by a thread while it writes one of the lists. A thread may walk the list of
 * contexts without the lock, in memory hooks too: a context is complete before it
 * is listed, and is freed when nobody walks any more */
static ucs_mutex_t lock = UCS_MUTEX_INITIALIZER(UCS_RANK_EAGER_CONTEXTS);
static worker_t *workers;
static _Atomic(uct_predreg_eager_context_t*) contexts;

/* In a forked child, where the lists that the child has inherited from its parent begin,
 * at the end of the child's own lists; NULL: it has inherited none. The child neither
 * uses nor frees the inherited contexts, since threads of the parent may have held their
 * locks */
static uct_predreg_eager_context_t *inherited_contexts;
static worker_t *inherited_workers;

/* What find_context() and find_worker() point to if the context or worker is not listed.
 * Always NULL */
static _Atomic(uct_predreg_eager_context_t*) no_context;
static worker_t *no_worker;

/* See uct_predreg_eager_is_making_rma() */
static __thread int making_rma;

/* How many threads walk the list of contexts. Sequentially consistent, with the
 * list: if a thread has removed a context and then sees no walker, no walker will
 * see the context */
static _Atomic(unsigned) walkers;


/* Relaxed: the caller holds the lock, or only wants to know whether there is any context */
static uct_predreg_eager_context_t *first_context(void)
{
    return ucs_relaxed_load(&contexts);
}

ucs_status_t uct_predreg_eager_add(uct_predreg_core_t *core,
                                   const uct_predreg_real_t *real,
                                   ucp_context_h ucp,
                                   const uct_predreg_making_t *making,
                                   ucp_datatype_t cold_datatype)
{
    uct_predreg_eager_context_t *context;
    ucs_status_t status;

    context = calloc(1, sizeof(*context));
    if (context == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    context->ucp           = ucp;
    context->core          = core;
    context->real          = real;
    context->cold_datatype = cold_datatype;
    context->min_length    = making->min_length;
    context->max_length    = making->max_length;
    context->flag_decides  = making->flag_decides;
    context->has_rma       = making->has_rma;

    status = ucs_reuse_table_init(&context->table, UCS_REUSE_TABLE_BITS,
                                  core->knobs.eager_adapt / 100);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = ucs_reuse_slots_init(&context->slots);
    if (status != UCS_OK) {
        goto err_table_cleanup;
    }

    status = uct_predreg_flights_init(&context->flights);
    if (status != UCS_OK) {
        goto err_slots_cleanup;
    }

    ucs_mutex_lock(&lock);
    context->next = first_context();
    atomic_store(&contexts, context);
    ucs_mutex_unlock(&lock);
    return UCS_OK;

err_slots_cleanup:
    ucs_reuse_slots_cleanup(&context->slots);
err_table_cleanup:
    ucs_reuse_table_cleanup(&context->table);
err_free:
    free(context);
    return status;
}

static void forget_workers(const uct_predreg_eager_context_t *context)
{
    worker_t **link = &workers;
    worker_t *worker;

    while (*link != NULL) {
        worker = *link;
        if (worker->context == context) {
            *link = worker->next;
            free(worker);
        } else {
            link = &worker->next;
        }
    }
}

/* @return the list's pointer to a context; &no_context: it is not listed. Under the
 * lock */
static _Atomic(uct_predreg_eager_context_t*) *find_context(ucp_context_h ucp)
{
    _Atomic(uct_predreg_eager_context_t*) *link;

    for (link = &contexts; *link != inherited_contexts; link = &(*link)->next) {
        if ((*link)->ucp == ucp) {
            return link;
        }
    }
    return &no_context;
}

/* @return the list's pointer to a worker; &no_worker: it is not listed. Under the lock */
static worker_t **find_worker(ucp_worker_h worker)
{
    worker_t **link;

    for (link = &workers; *link != inherited_workers; link = &(*link)->next) {
        if ((*link)->worker == worker) {
            return link;
        }
    }
    return &no_worker;
}

uct_predreg_eager_context_t *uct_predreg_eager_remove(ucp_context_h ucp)
{
    _Atomic(uct_predreg_eager_context_t*) *link;
    uct_predreg_eager_context_t *context;

    ucs_mutex_lock(&lock);
    link    = find_context(ucp);
    context = *link;
    if (context != NULL) {
        atomic_store(link, context->next);
        forget_workers(context);
        uct_predreg_senders_forget();
    }
    ucs_mutex_unlock(&lock);

    /* A walker may have found the context before, and have taken one of its slots: wait
     * until the walker has put the slot back */
    while ((context != NULL) && (atomic_load(&walkers) > 0)) {
        ucs_give_way(NULL); /* A walk takes microseconds, seldom longer */
    }
    return context;
}

void uct_predreg_eager_free(uct_predreg_eager_context_t *context)
{
    uct_predreg_flights_cleanup(&context->flights);
    ucs_reuse_slots_cleanup(&context->slots);
    ucs_reuse_table_cleanup(&context->table);
    free(context);
}

void uct_predreg_eager_for_each(void (*func)(uct_predreg_eager_context_t *ctx,
                                             void *arg), void *arg)
{
    uct_predreg_eager_context_t *context;

    if (first_context() == inherited_contexts) {
        return;
    }

    atomic_fetch_add(&walkers, 1);
    for (context = atomic_load(&contexts); context != inherited_contexts;
         context = context->next) {
        func(context, arg);
    }
    atomic_fetch_sub(&walkers, 1);
}

void uct_predreg_eager_making_worker(ucp_context_h ucp)
{
    const uct_predreg_eager_context_t *context;

    ucs_mutex_lock(&lock);
    context    = *find_context(ucp);
    making_rma = (context != NULL) && context->has_rma;
    ucs_mutex_unlock(&lock);
}

int uct_predreg_eager_is_making_rma(void)
{
    return making_rma;
}

void uct_predreg_eager_add_worker(ucp_context_h ucp, ucp_worker_h worker)
{
    uct_predreg_eager_context_t *context;
    worker_t *entry;

    making_rma = 0;
    if (worker == NULL) {
        return;
    }

    ucs_mutex_lock(&lock);
    context = *find_context(ucp);
    if (context == NULL) {
        goto out;
    }

    if (!context->is_calibrated) {
        context->is_calibrated = 1;
        uct_predreg_thresholds_find(context);
    }

    entry = malloc(sizeof(*entry));
    if (entry != NULL) {
        *entry  = (worker_t){worker, context, workers};
        workers = entry;
        /* Threads may remember that no worker was listed at this address, and endpoints
         * of the new worker may get the addresses of former endpoints */
        uct_predreg_endpoints_forget();
    }

out:
    ucs_mutex_unlock(&lock);
}

void uct_predreg_eager_remove_worker(ucp_worker_h worker)
{
    worker_t **link, *found;

    ucs_mutex_lock(&lock);
    link  = find_worker(worker);
    found = *link;
    if (found != NULL) {
        *link = found->next;
        free(found);
        uct_predreg_senders_forget();
    }
    ucs_mutex_unlock(&lock);
}

/* As uct_predreg_eager_find(), where the sender does not remember the worker */
static UCS_F_NOINLINE uct_predreg_eager_context_t *
find_slow(uct_predreg_sender_worker_t *known, ucp_worker_h worker)
{
    const worker_t *entry;

    ucs_mutex_lock(&lock);
    entry             = *find_worker(worker);
    known->worker     = worker;
    known->context    = (entry == NULL) ? NULL : entry->context;
    known->generation = ucs_relaxed_load(&uct_predreg_sender_generation);
    ucs_mutex_unlock(&lock);
    return known->context;
}

uct_predreg_eager_context_t *
uct_predreg_eager_find(uct_predreg_sender_t *sender, ucp_worker_h worker)
{
    uct_predreg_sender_worker_t *known = uct_predreg_sender_place(sender,
                                                                  worker);

    return ucs_likely((known->worker == worker) &&
                      uct_predreg_sender_is_recent(known->generation)) ?
           known->context : find_slow(known, worker);
}

/* The tool that is told the costs */
typedef struct listener {
    uct_predreg_tell_t tell;
    void               *arg;
} listener_t;

static void tell_costs(uct_predreg_eager_context_t *context, void *arg)
{
    const listener_t *listener = arg;
    char text[UCS_REUSE_COSTS_TEXT_MAX];

    if (context->is_calibrated) {
        ucs_reuse_costs_print(&context->thresholds.costs, text);
        listener->tell(listener->arg, "small", text);
    }
}

void uct_predreg_eager_tell(uct_predreg_tell_t tell, void *arg)
{
    listener_t listener = {tell, arg};

    uct_predreg_eager_for_each(tell_costs, &listener);
}

void uct_predreg_eager_reset(void)
{
    inherited_contexts = first_context();
    inherited_workers  = workers;
    ucs_mutex_init(&lock, UCS_RANK_EAGER_CONTEXTS, 0);
    atomic_init(&walkers, 0);
    making_rma = 0;
    uct_predreg_senders_forget();
}
