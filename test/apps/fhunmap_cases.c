/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "fhunmap_cases.h"
#include "fhpages.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>


/* The handler of a signal, and what handler_owner() has to do with it */
static struct {
    uint64_t              base;    /* Of what it unmaps, set before */
    volatile sig_atomic_t has_run; /* Set by it, and waited for */
} handler;


/* Let the peer know where the memory is, and wait until it has been used */
static void tell_peer(fhjob_t *job, uint64_t base)
{
    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
}

/* What the peer does if it only has a firehose, until the owner has looked */
static void hold_until_barrier(fhjob_t *job, int library)
{
    ucp_fh_hold_h hold;

    fhjob_barrier(job);
    hold = fhpages_hold(job, library, job->shared->extra[0], 3);
    fhjob_barrier(job);
    fhjob_barrier(job);
    ucp_fh_release(hold);
}

/* The same, by the first library */
static void hold_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    hold_until_barrier(job, 0);
}

/* All of it, on which the peer has a firehose that it keeps */
static void unmapped_owner(fhjob_t *job)
{
    uint64_t base    = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem = fhpages_expose(job, base);

    tell_peer(job, base);
    fhpages_unmap(job, base, 0, FHPAGES_NUM);

    /* There is nothing, which is no error */
    fhpages_unmap(job, base, 0, FHPAGES_NUM);
    usleep(50000);
    fhjob_errors(job, "pages that are gone too early",
                 !fhpages_is_mapped(base, 3));
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_await_unmapped(job, base, 0, FHPAGES_NUM);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_unexpose(job, mem);
}

static void unmapped_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    ucp_fh_hold_h hold;
    uint64_t base;

    fhjob_barrier(job);
    base = job->shared->extra[0];
    fhpages_put(job, worker, base, 0, FHPAGES_NUM, 1);
    hold = fhpages_hold(job, 0, base, 3);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_expect_put(job, worker, base, 3, 2, UCS_OK);
    fhjob_flush(job, worker);
    ucp_fh_release(hold);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_expect_put(job, worker, base, 3, 3, UCS_ERR_INVALID_ADDR);
    fhjob_barrier(job);
}

/* Some of the middle: the rest is still there */
static void partly_owner(fhjob_t *job)
{
    uint64_t base    = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem = fhpages_expose(job, base);

    tell_peer(job, base);
    fhpages_unmap(job, base, 16, 16);
    fhpages_await_unmapped(job, base, 16, 16);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_check(job, base, 0, 16, 2);
    fhpages_check(job, base, 32, 32, 2);

    /* What is in the place next is nobody's business */
    (void)fhpages_map(job, 16, base + (16 * FHJOB_PAGE));
    fhpages_unmap(job, base, 0, FHPAGES_NUM);
    fhpages_await_unmapped(job, base, 0, FHPAGES_NUM);
    fhpages_unexpose(job, mem);
}

static void partly_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    uint64_t base;

    fhjob_barrier(job);
    base = job->shared->extra[0];
    fhpages_put(job, worker, base, 0, FHPAGES_NUM, 1);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_put(job, worker, base, 0, 16, 2);
    fhpages_put(job, worker, base, 32, 32, 2);
    fhpages_expect_put(job, worker, base, 16, 3, UCS_ERR_INVALID_ADDR);
    fhpages_expect_put(job, worker, base, 31, 3, UCS_ERR_INVALID_ADDR);
    fhjob_barrier(job);
}

/* Other memory in its place is new to the peer, too */
static void replaced_owner(fhjob_t *job)
{
    uint64_t base    = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem = fhpages_expose(job, base);
    ucp_fh_mem_h other;

    tell_peer(job, base);
    (void)fhpages_map(job, FHPAGES_NUM, base);
    other = fhpages_expose(job, base);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_check(job, base, 0, FHPAGES_NUM, 2);
    fhpages_unexpose(job, mem);
    fhjob_barrier(job);
    fhjob_barrier(job);
    fhpages_check(job, base, 0, FHPAGES_NUM, 3);
    fhpages_unexpose(job, other);
    fhpages_unmap(job, base, 0, FHPAGES_NUM);
    fhjob_errors(job, "pages that are left", fhpages_is_mapped(base, 0));
}

static void replaced_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    uint64_t base, op;

    fhjob_barrier(job);
    base = job->shared->extra[0];
    fhpages_put(job, worker, base, 0, FHPAGES_NUM, 1);
    for (op = 2; op <= 3; ++op) {
        fhjob_barrier(job);
        fhjob_barrier(job);
        fhpages_put(job, worker, base, 0, FHPAGES_NUM, op);
    }
    fhjob_barrier(job);
}

/* Exposed by two libraries, of which one is done with it earlier */
static void shared_owner(fhjob_t *job)
{
    uint64_t base      = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem   = fhpages_expose(job, base);
    ucp_fh_mem_h other = fhpages_expose_part(job, 1, base, 0, FHPAGES_NUM);

    tell_peer(job, base);
    fhpages_unmap(job, base, 0, FHPAGES_NUM);
    fhpages_unexpose(job, mem);
    fhjob_errors(job, "shared pages that are gone too early",
                 !fhpages_is_mapped(base, 3));
    fhjob_barrier(job);
    fhpages_await_unmapped(job, base, 0, FHPAGES_NUM);
    fhpages_unexpose(job, other);
}

static void shared_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    hold_until_barrier(job, 1);
}

static void unmap_in_handler(int signal)
{
    munmap((void*)handler.base, FHPAGES_NUM * FHJOB_PAGE);
    handler.has_run = 1;
}

/* By the handler of a signal, while its thread unmaps other memory, for which
 * it is busy for milliseconds */
static void handler_owner(fhjob_t *job)
{
    uint64_t base           = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem        = fhpages_expose(job, base);
    size_t length           = 128 << 20;
    uint64_t other          = fhpages_reserve(job, length);
    struct itimerval timer  = {.it_value.tv_usec = 4000};
    struct sigaction action = {.sa_handler = unmap_in_handler};
    ucp_fh_mem_h first;

    if (mprotect((void*)other, length, PROT_READ | PROT_WRITE) != 0) {
        app_fatal("%s: mprotect: %s", job->name, strerror(errno));
    }
    memset((void*)other, 0, length); /* Its pages have to be there */
    first        = fhpages_expose(job, other);
    handler.base = base;
    tell_peer(job, base);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    munmap((void*)other, length);
    while (!handler.has_run) {
        usleep(100);
    }
    usleep(20000);
    fhjob_errors(job, "pages that are gone since a handler unmapped them",
                 !fhpages_is_mapped(base, 3));
    fhjob_barrier(job);
    fhpages_await_unmapped(job, base, 0, FHPAGES_NUM);
    fhpages_unexpose(job, mem);
    fhpages_unexpose(job, first);
}

/* Memory beside it is exposed once some of it is gone, in a bucket of both if
 * buckets are large; the rest of it goes then */
static void beside_owner(fhjob_t *job)
{
    uint64_t base    = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem = fhpages_expose_part(job, 0, base, 0, 24);
    ucp_fh_mem_h beside;

    fhpages_unmap(job, base, 23, 1);
    beside = fhpages_expose_part(job, 0, base, 24, 8);
    fhpages_unmap(job, base, 20, 3);
    fhpages_await_unmapped(job, base, 20, 4);

    /* A bucket has no holes */
    (void)fhpages_map(job, 4, (uint64_t)fhpages_at(base, 20));
    tell_peer(job, base);
    fhpages_check(job, base, 24, 8, 1);
    fhpages_unexpose(job, mem);
    fhpages_unexpose(job, beside);
    fhpages_unmap(job, base, 0, FHPAGES_NUM);
}

static void beside_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    fhjob_barrier(job);
    fhpages_put(job, worker, job->shared->extra[0], 24, 8, 1);
    fhjob_barrier(job);
}

/* What waits to be exposed, since a peer has a firehose on what was there
 * before, is unmapped as well */
static void *expose_late(void *arg)
{
    fhjob_t *job = arg;

    return fhpages_expose(job, job->shared->extra[0]);
}

static void late_owner(fhjob_t *job)
{
    uint64_t base    = fhpages_map(job, FHPAGES_NUM, 0);
    ucp_fh_mem_h mem = fhpages_expose(job, base);
    pthread_t thread;
    void *late;

    tell_peer(job, base);
    (void)fhpages_map(job, FHPAGES_NUM, base);
    if (pthread_create(&thread, NULL, expose_late, job) != 0) {
        app_fatal("%s: pthread_create", job->name);
    }
    usleep(50000);
    fhpages_unmap(job, base, 0, FHPAGES_NUM);
    usleep(50000);
    fhjob_barrier(job);
    pthread_join(thread, &late);
    fhpages_await_unmapped(job, base, 0, FHPAGES_NUM);
    fhpages_unexpose(job, mem);
    fhpages_unexpose(job, late);
}

/* Memory that becomes shorter, but not by whole pages */
static void cut_owner(fhjob_t *job)
{
    size_t length    = FHPAGES_NUM * FHJOB_PAGE;
    uint64_t base    = fhpages_map_anonymous(job);
    uint64_t other   = fhpages_map_anonymous(job);
    uint64_t heap    = ((uint64_t)sbrk(0) + job->bucket - 1) &
                       ~((uint64_t)job->bucket - 1);
    size_t cut       = (FHPAGES_NUM / 2 * FHJOB_PAGE) + 100;
    ucp_fh_mem_h mem = fhpages_expose(job, base);
    ucp_fh_mem_h mem2;

    if (brk((void*)(heap + length)) != 0) {
        app_fatal("%s: brk: %s", job->name, strerror(errno));
    }
    memset((void*)heap, 0, length);
    mem2 = fhpages_expose(job, heap);

    if ((mremap((void*)base, length, length - cut, 0) != (void*)base) ||
        (sbrk(-(intptr_t)cut) == (void*)-1)) {
        app_fatal("%s: memory cannot be cut: %s", job->name, strerror(errno));
    }
    (void)brk(NULL);

    /* What was cut off is withdrawn before */
    fhpages_unexpose(job, fhpages_expose(job, other));
    job->shared->extra[1] = heap;
    tell_peer(job, base);
    fhpages_unexpose(job, mem);
    fhpages_unexpose(job, mem2);
    fhpages_unmap(job, base, 0, FHPAGES_NUM / 2);
    fhpages_unmap(job, other, 0, FHPAGES_NUM);
}

static void cut_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    int bucket_pages = job->bucket / FHJOB_PAGE;
    int last         = (FHPAGES_NUM / 2) - 1; /* The page that stays in part */
    uint64_t base;
    int i;

    fhjob_barrier(job);
    for (i = 0; i < 2; ++i) {
        base = job->shared->extra[i];
        fhpages_expect_put(job, worker, base, last - bucket_pages, 1, UCS_OK);
        if (bucket_pages == 1) {
            fhpages_expect_put(job, worker, base, last, 1, UCS_OK);
        }
        fhpages_expect_put(job, worker, base, FHPAGES_NUM - 1, 1,
                           UCS_ERR_INVALID_ADDR);
    }
    fhjob_flush(job, worker);
    fhjob_barrier(job);
}

/* What each of the two processes does in a case */
static const struct {
    void (*owner)(fhjob_t *job);
    void (*peer)(fhjob_t *job, fhjob_worker_t *worker);
} cases[] = {
    {unmapped_owner, unmapped_peer},
    {partly_owner, partly_peer},
    {replaced_owner, replaced_peer},
    {shared_owner, shared_peer},
    {handler_owner, hold_peer},
    {beside_owner, beside_peer},
    {late_owner, hold_peer},
    {cut_owner, cut_peer}
};

void fhunmap_cases(fhjob_t *job)
{
    fhjob_worker_t worker;
    size_t i;

    fhjob_worker_open(job, 0, &worker);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        if (job->rank == 0) {
            cases[i].owner(job);
        } else {
            cases[i].peer(job, &worker);
        }
    }
    fhjob_worker_close(&worker);
}
