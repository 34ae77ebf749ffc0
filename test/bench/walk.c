/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * Which functions the helper passes for one entry of the deregistration queue whose region
 * is given up. The sources of the cache are compiled with -finstrument-functions, see
 * test/walk.sh: each function calls the first one of these as it begins. Prints how far
 * each is from walk_now(), in the order in which they begin, and likewise those of a round
 * without an entry.
 */

#define MAX_CALLS 1000

static const void *calls[MAX_CALLS];
static unsigned num_calls;
static int is_walk;
static ucs_rcache_pred_time_t present = 1;


__attribute__((no_instrument_function)) void
__cyg_profile_func_enter(void *function, void *caller)
{
    if (is_walk && (num_calls < MAX_CALLS)) {
        calls[num_calls++] = function;
    }
}

__attribute__((no_instrument_function)) void
__cyg_profile_func_exit(void *function, void *caller)
{
}

static ucs_rcache_pred_time_t walk_now(void *arg)
{
    return present;
}

static void walk_wait(void *arg, ucs_rcache_pred_time_t until)
{
}

static void walk_wake(void *arg)
{
}

static ucs_status_t walk_mem_reg(void *domain_arg, void *address, size_t length,
                                 unsigned flags, void **memh_p)
{
    *memh_p = address;
    return UCS_OK;
}

static ucs_status_t walk_mem_dereg(void *domain_arg, void *memh)
{
    return UCS_OK;
}

__attribute__((no_instrument_function)) static void print(const char *section)
{
    unsigned i;

    for (i = 0; i < num_calls; ++i) {
        printf("%s %ld\n", section, (long)((const char*)calls[i] - (const char*)walk_now));
    }
}

int main(int argc, char **argv)
{
    static const ucs_rcache_pred_ops_t ops = {
        .now       = walk_now,
        .wait      = walk_wait,
        .wake      = walk_wake,
        .mem_reg   = walk_mem_reg,
        .mem_dereg = walk_mem_dereg
    };
    ucs_rcache_pred_params_t params        = {
        .ops           = &ops,
        .policy        = UCS_RCACHE_PRED_POLICY_PREDICT,
        .budget        = INFINITY,
        .history       = 8,
        .max_sites     = 16384,
        .known_regions = 8192,
        .max_bytes     = UINT64_MAX,
        .max_regions   = UINT64_MAX,
        .dq_size       = 64
    };
    ucs_rcache_pred_context_t context      = {.caller = 1};
    ucs_rcache_pred_stats_t stats;
    ucs_rcache_pred_domain_t *domain;
    ucs_rcache_pred_t *pred;
    unsigned i, mark;
    void *memh;

    if ((ucs_rcache_pred_create(&params, &pred) != UCS_OK) ||
        (ucs_rcache_pred_domain_create(pred, "walk", NULL, &domain) != UCS_OK)) {
        return 2;
    }

    /* Each second, so that from the third on the next use is predicted */
    for (i = 0; i < 8; ++i) {
        if ((ucs_rcache_pred_begin(domain, (void*)0x100000, 65536, 0, &context,
                                   &memh) != UCS_OK) ||
            (ucs_rcache_pred_end(domain, memh) != UCS_OK)) {
            return 2;
        }

        ucs_rcache_pred_get_stats(pred, &stats);
        mark      = stats.deregs;
        num_calls = 0;
        present  += 1000000;
        is_walk   = 1;
        ucs_rcache_pred_poll(pred);
        is_walk   = 0;
        ucs_rcache_pred_get_stats(pred, &stats);
        present  += 999000000;
        ucs_rcache_pred_poll(pred);
        if (stats.deregs != mark + 1) {
            fprintf(stderr, "use %u: the region was not given up\n", i);
            return 2;
        }
    }
    print("entry");

    num_calls = 0;
    is_walk   = 1;
    ucs_rcache_pred_poll(pred);
    print("idle");
    return 0;
}
