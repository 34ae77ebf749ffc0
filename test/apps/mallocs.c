/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A program that allocates, writes, checks and frees memory all the time, in
 * several threads, and has a context of UCP, but does not communicate: what an
 * allocator costs beside UCX. It may fork meanwhile, and its children do the same.
 * Prints a line of JSON with the run time, the most memory that was resident and
 * page faults. mallocs_usage() tells the options.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS       16
#define MAX_THREADS 64

/* A child that is not done after so many seconds hangs: it needs a fraction of
 * one */
#define CHILD_LIMIT 20

/* So much does a child do */
#define CHILD_OPS   200

static struct {
    int    threads;
    int    forks;
    int    verify;
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
           "               [--forks N] [--verify]\n"
           "  a thread has up to 16 allocations; their lengths are spread evenly\n"
           "  over the powers of 2 from min (1k) to max (4m); the first thread\n"
           "  forks so many times (0) meanwhile, and a child opens UCX anew;\n"
           "  verify looks at every byte, instead of three of an allocation\n");
}

static void check(const slot_t *slot)
{
    if (slot->start == NULL) {
        return;
    }

    if ((slot->start[0] != (char)slot->value) ||
        (slot->start[slot->length - 1] != (char)slot->value) ||
        (slot->start[slot->length / 2] != (char)slot->value) ||
        /* Each byte is as the one before */
        (opts.verify &&
         (memcmp(slot->start, slot->start + 1, slot->length - 1) != 0))) {
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

/* Make an allocation longer or shorter, which keeps what it has */
static char *grow(const slot_t *slot, size_t length)
{
    slot_t grown = *slot;

    grown.start  = realloc(slot->start, length);
    grown.length = (length < slot->length) ? length : slot->length;
    if ((slot->start != NULL) && (grown.start != NULL)) {
        check(&grown);
    }
    return grown.start;
}

/* Allocate anew, or grow */
static void step(slot_t *slot, uint64_t *random)
{
    size_t length = random_length(random);
    char *start;

    check(slot);
    if (app_random_below(random, 4)) {
        free(slot->start);
        start = malloc(length);
    } else {
        start = grow(slot, length);
    }
    if (start == NULL) {
        app_fatal("mallocs: no memory");
    }

    slot->start  = start;
    slot->length = length;
    slot->value  = app_random(random) & 0x7f;
    memset(start, slot->value, length);
}

static void step_any(slot_t *slots, size_t ops, uint64_t *random)
{
    size_t i;

    for (i = 0; i < ops; ++i) {
        step(&slots[app_random_below(random, SLOTS)], random);
    }
}

static void check_all(const slot_t *slots)
{
    int i;

    for (i = 0; i < SLOTS; ++i) {
        check(&slots[i]);
    }
}

static void free_all(slot_t *slots)
{
    int i;

    check_all(slots);
    for (i = 0; i < SLOTS; ++i) {
        free(slots[i].start);
    }
}

static void *run(void *arg)
{
    uint64_t random     = (uintptr_t)arg;
    slot_t slots[SLOTS] = {{0}};

    step_any(slots, opts.ops, &random);
    free_all(slots);
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

/* What the parent had at the fork is the child's own. It goes on with that, before
 * and while it has a context */
static void child(slot_t *slots, uint64_t *random)
{
    ucp_context_h context;

    check_all(slots);
    step_any(slots, CHILD_OPS, random);
    context = make_context();
    step_any(slots, CHILD_OPS, random);
    ucp_cleanup(context);
    free_all(slots);
    /* Without the exit handlers, which are the parent's */
    _exit(0);
}

static void wait_for(pid_t pid)
{
    double begin = app_time();
    pid_t done;
    int status;

    while ((done = waitpid(pid, &status, WNOHANG)) == 0) {
        if (app_time() - begin > CHILD_LIMIT) {
            app_fatal("mallocs: the child %d is not done after %d s", pid,
                      CHILD_LIMIT);
        }
        usleep(1000);
    }
    if ((done < 0) || (status != 0)) {
        app_fatal("mallocs: the child %d has ended with status 0x%x", pid,
                  status);
    }
}

/* Fork again and again beside the threads, and see that neither process changes
 * what the other one has */
static void fork_all(void)
{
    uint64_t random     = 0;
    slot_t slots[SLOTS] = {{0}};
    pid_t pid;
    int i;

    for (i = 0; i < opts.forks; ++i) {
        step_any(slots, SLOTS, &random);
        pid = fork();
        if (pid < 0) {
            app_fatal("mallocs: fork: %s", strerror(errno));
        } else if (pid == 0) {
            child(slots, &random);
        }
        step_any(slots, SLOTS, &random);
        wait_for(pid);
        check_all(slots);
    }
    free_all(slots);
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"threads", .count = &opts.threads},
        {"forks", .count = &opts.forks},
        {"verify", .flag = &opts.verify},
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
    fork_all();
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
