/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A program that allocates, writes, checks and frees memory all the time, in
 * several threads, and has a context of UCP, but does not communicate: what an
 * allocator costs beside UCX. Prints a line of JSON with the run time, the most
 * memory that was resident and page faults. mallocs_usage() tells the options.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <pthread.h>
#include <sys/resource.h>

#define SLOTS       16
#define MAX_THREADS 64

static struct {
    int    threads;
    size_t ops;
    size_t min;
    size_t max;
} opts = {
    .threads = 1,
    .ops     = 20000,
    .min     = 1024,
    .max     = 4ul << 20
};

typedef struct {
    char   *start;
    size_t length;
    int    value;
} slot_t;


static void mallocs_usage(void)
{
    printf("usage: mallocs [--threads N] [--ops N] [--min BYTES] [--max BYTES]\n"
           "  a thread has up to 16 allocations; their lengths are spread evenly\n"
           "  over the powers of 2 from min (1k) to max (4m)\n");
}

static void check(const slot_t *slot)
{
    if ((slot->start != NULL) &&
        ((slot->start[0] != (char)slot->value) ||
         (slot->start[slot->length - 1] != (char)slot->value) ||
         (slot->start[slot->length / 2] != (char)slot->value))) {
        app_fatal("mallocs: %zu bytes at %p are not what was written",
                  slot->length, slot->start);
    }
}

static size_t random_length(uint64_t *random)
{
    size_t length = opts.min;

    while ((length < opts.max / 2) && app_random_below(random, 4)) {
        length *= 2;
    }
    return length + app_random_below(random, length);
}

/* Allocate anew, grow, or free */
static void step(slot_t *slot, uint64_t *random)
{
    size_t length = random_length(random);
    char *start;

    check(slot);
    if (app_random_below(random, 4)) {
        free(slot->start);
        start = malloc(length);
    } else {
        start = realloc(slot->start, length);
    }
    if (start == NULL) {
        app_fatal("mallocs: no memory");
    }

    slot->start  = start;
    slot->length = length;
    slot->value  = app_random(random) & 0x7f;
    memset(start, slot->value, length);
}

static void *run(void *arg)
{
    uint64_t random     = (uintptr_t)arg;
    slot_t slots[SLOTS] = {{0}};
    size_t i;

    for (i = 0; i < opts.ops; ++i) {
        step(&slots[app_random_below(&random, SLOTS)], &random);
    }
    for (i = 0; i < SLOTS; ++i) {
        check(&slots[i]);
        free(slots[i].start);
    }
    return NULL;
}

static ucp_context_h make_context(void)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    ucp_context_h context;

    if (ucp_init(&params, NULL, &context) != UCS_OK) {
        app_fatal("mallocs: no context of UCP");
    }
    return context;
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"threads", .count = &opts.threads},
        {"ops", .size = &opts.ops},
        {"min", .size = &opts.min},
        {"max", .size = &opts.max},
        {NULL}
    };
    pthread_t threads[MAX_THREADS];
    ucp_context_h context;
    struct rusage usage;
    double begin;
    int i;

    app_parse(argc, argv, "mallocs", options, mallocs_usage);
    if ((opts.threads < 1) || (opts.threads > MAX_THREADS) || (opts.min < 2)) {
        app_fatal("mallocs: --threads %d --min %zu: not accepted",
                  opts.threads, opts.min);
    }

    context = make_context();
    begin   = app_time();
    for (i = 0; i < opts.threads; ++i) {
        pthread_create(&threads[i], NULL, run, (void*)(uintptr_t)(i + 1));
    }
    for (i = 0; i < opts.threads; ++i) {
        pthread_join(threads[i], NULL);
    }
    begin = app_time() - begin;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"program\":\"mallocs\",\"threads\":%d,\"seconds\":%.3f,"
           "\"max_rss_mb\":%.1f,\"faults\":%ld}\n", opts.threads, begin,
           usage.ru_maxrss / 1024., usage.ru_minflt);
    ucp_cleanup(context);
    return 0;
}
