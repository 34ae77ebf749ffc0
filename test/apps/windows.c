/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * MPI windows that are large, and of which little is accessed: puts and gets of any
 * length and place, in the middle and at both ends, accumulates and atomics, in all
 * the ways to synchronise. Each process has a part of each window for itself, and
 * knows what must be in it. A buffer is overwritten as soon as MPI says that it may
 * be. What the kernel counts as pinned is sampled.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* Longest put or get: some buckets */
#define MAX_LENGTH (300 * 1024)

/* Bytes at the end of a window that are for counters */
#define COUNTERS   64

typedef struct {
    size_t   size;     /* Of a window, bytes */
    size_t   touched;  /* Of each process's part of a window, at each of 3 places */
    int      ops;      /* Of a round */
    int      rounds;
    uint64_t seed;
    size_t   max_pinned;
    int      keeps_rput; /* Whether the buffer of an MPI_Rput() stays as it is until
                            a flush */
    int      rank;
    int      ranks;
    uint64_t errors;
    /* What must be in this process's part of each window: [target][place] */
    char     *known;
    atomic_size_t pinned_peak;
    atomic_int    is_over;
} windows_t;

#define PLACES 3

/* Of a window */
typedef struct {
    MPI_Win win;
    char    *base;
} window_t;


static void windows_usage(void)
{
    printf("usage: windows [options]\n"
           "  --size BYTES        of a window (64m)\n"
           "  --touched BYTES     of it that each process accesses, at each of its\n"
           "                      start, middle and end (512k)\n"
           "  --ops N             puts and gets of a round (200)\n"
           "  --rounds N          of each kind of window (3)\n"
           "  --seed N            (1)\n"
           "  --max-pinned BYTES  fail if more is pinned at any time; 0: do not\n"
           "                      (0)\n"
           "  --keep-rput         leave the buffer of an MPI_Rput alone until a\n"
           "                      flush, although the request is complete\n");
}

static size_t get_pinned(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    size_t kib = 0;
    char line[256];

    if (file == NULL) {
        app_fatal("windows: no /proc/self/status");
    }

    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "VmPin: %zu kB", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return kib * 1024;
}

/* Look at what is pinned, again and again, until the process ends */
static void *sample_pinned(void *arg)
{
    windows_t *w          = arg;
    struct timespec pause = {.tv_nsec = 500000};
    size_t pinned;

    while (!atomic_load(&w->is_over)) {
        pinned = get_pinned();
        if (pinned > atomic_load(&w->pinned_peak)) {
            atomic_store(&w->pinned_peak, pinned);
        }
        nanosleep(&pause, NULL);
    }

    return NULL;
}

static char *known_of(windows_t *w, int target, int place)
{
    return w->known + ((((size_t)target * PLACES) + place) * w->touched);
}

/* Where this process's part at a place begins in a window. Those at the end have the
 * last byte before the counters, those at the start the first one */
static size_t displacement(const windows_t *w, int rank, int place)
{
    size_t all   = w->touched * w->ranks;
    size_t start = (place == 0) ? 0 :
                   (place == 1) ? (w->size / 2) - 4321 :
                                  w->size - COUNTERS - all;

    return start + (rank * w->touched);
}

static void fail(windows_t *w, const char *what, int target, int place,
                 size_t offset)
{
    if (w->errors++ < 10) {
        fprintf(stderr, "windows: rank %d: %s: target %d, place %d, byte %zu is "
                "wrong\n", w->rank, what, target, place, offset);
    }
}

static void compare(windows_t *w, const char *what, const char *got, int target,
                    int place, size_t offset, size_t length)
{
    const char *known = known_of(w, target, place) + offset;
    size_t i;

    if (memcmp(got, known, length) == 0) {
        return;
    }

    for (i = 0; got[i] == known[i]; ++i) {
    }
    fail(w, what, target, place, offset + i);
}

/* A put from a buffer is complete locally: what becomes of the buffer is nothing to
 * it any more */
static void overwrite(char *buffer, size_t length)
{
    memset(buffer, 0xa5, length);
}

/* One put or get, which is flushed before it returns */
static void one_op(windows_t *w, window_t *window, uint64_t *random, int target,
                   char *buffer)
{
    int place     = app_random_below(random, PLACES);
    size_t most   = (w->touched < MAX_LENGTH) ? w->touched : MAX_LENGTH;
    size_t length = 1 + app_random_below(random, (app_random(random) & 1) ?
                                         most : 64);
    size_t offset = app_random_below(random, w->touched - length + 1);
    MPI_Aint disp = displacement(w, w->rank, place) + offset;
    char *known   = known_of(w, target, place) + offset;
    MPI_Request request;

    switch (app_random_below(random, 3)) {
    case 0:
        /* Complete when it is waited for */
        memset(buffer, 0x5a, length);
        MPI_Get(buffer, length, MPI_BYTE, target, disp, length, MPI_BYTE,
                window->win);
        MPI_Win_flush(target, window->win);
        compare(w, "get", buffer, target, place, offset, length);
        break;
    case 1:
        app_pattern_fill(buffer, length, app_random(random), 0);
        memcpy(known, buffer, length);
        MPI_Put(buffer, length, MPI_BYTE, target, disp, length, MPI_BYTE,
                window->win);
        MPI_Win_flush_local(target, window->win);
        overwrite(buffer, length);
        /* The next one to the same place must not pass it */
        MPI_Win_flush(target, window->win);
        break;
    default:
        app_pattern_fill(buffer, length, app_random(random), 0);
        memcpy(known, buffer, length);
        MPI_Rput(buffer, length, MPI_BYTE, target, disp, length, MPI_BYTE,
                 window->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!w->keeps_rput) {
            overwrite(buffer, length);
        }
        MPI_Win_flush(target, window->win);
        break;
    }
}

/* Many puts that nothing waits for in between, to places of their own */
static void burst(windows_t *w, window_t *window, uint64_t *random, char *buffer)
{
    size_t length = w->touched / 64;
    int target, place, i;

    app_pattern_fill(buffer, w->touched, app_random(random), 0);
    for (place = 0; place < PLACES; ++place) {
        for (target = 0; target < w->ranks; ++target) {
            for (i = 0; i < 64; ++i) {
                MPI_Put(buffer + (i * length), length, MPI_BYTE, target,
                        displacement(w, w->rank, place) + (i * length), length,
                        MPI_BYTE, window->win);
            }
            memcpy(known_of(w, target, place), buffer, 64 * length);
        }
    }
    MPI_Win_flush_all(window->win);
}

/* What a process has put must be in the memory of the target */
static void check_local(windows_t *w, window_t *window, char *buffer)
{
    int shift, to, from, place;
    char *there;
    size_t i;

    for (shift = 0; shift < w->ranks; ++shift) {
        to   = (w->rank + shift) % w->ranks;
        from = (w->rank + w->ranks - shift) % w->ranks;
        for (place = 0; place < PLACES; ++place) {
            MPI_Sendrecv(known_of(w, to, place), w->touched, MPI_BYTE, to, 0,
                         buffer, w->touched, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            there = window->base + displacement(w, from, place);
            for (i = 0; (i < w->touched) && (there[i] == buffer[i]); ++i) {
            }
            if (i < w->touched) {
                fail(w, "memory", from, place, i);
            }
        }
    }

    /* Nobody puts more before all have looked */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The parts of this window that are accessed are as if it were new */
static void reset(windows_t *w, window_t *window)
{
    int rank, place;

    for (rank = 0; rank < w->ranks; ++rank) {
        for (place = 0; place < PLACES; ++place) {
            memset(window->base + displacement(w, rank, place), 0, w->touched);
        }
    }
    memset(window->base + w->size - COUNTERS, 0, COUNTERS);
    memset(w->known, 0, w->touched * PLACES * w->ranks);
}

/* Each process adds to each counter; one is claimed by compare and swap */
static void count(windows_t *w, window_t *window)
{
    MPI_Aint disp = w->size - COUNTERS;
    int64_t one   = 1, free = 0, mine = w->rank + 1, got, claimed = 0;
    int target, i;

    for (i = 0; i < 20; ++i) {
        for (target = 0; target < w->ranks; ++target) {
            MPI_Fetch_and_op(&one, &got, MPI_INT64_T, target, disp, MPI_SUM,
                             window->win);
            MPI_Accumulate(&one, 1, MPI_INT64_T, target, disp + 8, 1,
                           MPI_INT64_T, MPI_SUM, window->win);
            MPI_Compare_and_swap(&mine, &free, &got, MPI_INT64_T, target,
                                 disp + 16, window->win);
            MPI_Win_flush(target, window->win);
            claimed += (got == 0);
        }
    }

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &claimed, 1, MPI_INT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Win_sync(window->win);
    for (i = 0; i < 2; ++i) {
        memcpy(&got, window->base + disp + (8 * i), sizeof(got));
        if (got != 20 * w->ranks) {
            fprintf(stderr, "windows: rank %d: counter %d is %lld, not %d\n",
                    w->rank, i, (long long)got, 20 * w->ranks);
            ++w->errors;
        }
    }
    if (claimed != w->ranks) {
        fprintf(stderr, "windows: %lld places were claimed, not %d\n",
                (long long)claimed, w->ranks);
        ++w->errors;
    }
}

/* A put arrives although the target does not call MPI */
static void passive(windows_t *w, window_t *window)
{
    volatile char *flag = window->base + w->size - 1;
    double until        = app_time() + 20;
    char one            = 1;

    MPI_Barrier(MPI_COMM_WORLD);
    if (w->rank == 1) {
        MPI_Put(&one, 1, MPI_BYTE, 0, w->size - 1, 1, MPI_BYTE, window->win);
        MPI_Win_flush(0, window->win);
    } else if ((w->rank == 0) && (w->ranks > 1)) {
        while ((*flag == 0) && (app_time() < until)) {
        }
        if (*flag == 0) {
            fprintf(stderr, "windows: a put has not arrived after 20 s\n");
            ++w->errors;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* With fences, and with post, start, complete and wait */
static void synchronise(windows_t *w, window_t *window, uint64_t *random,
                        char *buffer)
{
    int next     = (w->rank + 1) % w->ranks;
    int previous = (w->rank + w->ranks - 1) % w->ranks;
    size_t disp  = displacement(w, w->rank, 1);
    MPI_Group all, access, exposure;

    app_pattern_fill(buffer, w->touched, app_random(random), 0);
    memcpy(known_of(w, next, 1), buffer, w->touched);
    MPI_Win_fence(0, window->win);
    MPI_Put(buffer, w->touched, MPI_BYTE, next, disp, w->touched, MPI_BYTE,
            window->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);

    app_pattern_fill(buffer, w->touched, app_random(random), 0);
    memcpy(known_of(w, next, 1), buffer, w->touched);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &access);
    MPI_Group_incl(all, 1, &previous, &exposure);
    MPI_Win_post(exposure, 0, window->win);
    MPI_Win_start(access, 0, window->win);
    MPI_Put(buffer, w->touched, MPI_BYTE, next, disp, w->touched, MPI_BYTE,
            window->win);
    MPI_Win_complete(window->win);
    MPI_Win_wait(window->win);
    MPI_Group_free(&exposure);
    MPI_Group_free(&access);
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void use(windows_t *w, window_t *window, uint64_t *random)
{
    char *buffer = malloc(w->touched + MAX_LENGTH);
    int i;

    reset(w, window);
    MPI_Barrier(MPI_COMM_WORLD);
    synchronise(w, window, random, buffer);
    check_local(w, window, buffer);

    MPI_Win_lock_all(0, window->win);
    for (i = 0; i < w->ops; ++i) {
        one_op(w, window, random, app_random_below(random, w->ranks), buffer);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_local(w, window, buffer);
    burst(w, window, random, buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    check_local(w, window, buffer);
    count(w, window);
    passive(w, window);
    MPI_Win_unlock_all(window->win);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
    one_op(w, window, random, 0, buffer);
    MPI_Win_unlock(0, window->win);
    MPI_Barrier(MPI_COMM_WORLD);
    check_local(w, window, buffer);
    free(buffer);
}

/* Memory that the library allocates, and memory of the program's that begins and ends
 * in the middle of a page */
static void round_of_windows(windows_t *w, uint64_t *random)
{
    window_t window = {};
    char *memory;

    MPI_Win_allocate(w->size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.base,
                     &window.win);
    use(w, &window, random);
    MPI_Win_free(&window.win);

    memory = mmap(NULL, w->size + 8192, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        app_fatal("windows: could not map memory: %s", strerror(errno));
    }

    window.base = memory + 1000 - (1000 % 8);
    MPI_Win_create(window.base, w->size, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window.win);
    use(w, &window, random);
    MPI_Win_free(&window.win);
    munmap(memory, w->size + 8192);
}

int main(int argc, char **argv)
{
    windows_t w = {.size = 64 << 20, .touched = 512 << 10, .ops = 200,
                   .rounds = 3, .seed = 1};
    const app_option_t options[] = {
        {"size", .size = &w.size},
        {"touched", .size = &w.touched},
        {"ops", .count = &w.ops},
        {"rounds", .count = &w.rounds},
        {"seed", .number = &w.seed},
        {"max-pinned", .size = &w.max_pinned},
        {"keep-rput", .flag = &w.keeps_rput},
        {NULL}
    };
    double start;
    uint64_t random, sum;
    pthread_t sampler;
    size_t peak;
    int i;

    app_parse(argc, argv, "windows", options, windows_usage);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    if ((w.touched < 64) || (w.touched * w.ranks * 8 > w.size)) {
        app_fatal("windows: --touched is %zu: accepted are 64 to %zu", w.touched,
                  w.size / w.ranks / 8);
    }

    w.known = malloc(w.touched * PLACES * w.ranks);
    random  = app_mix(w.seed * 1000 + w.rank);
    pthread_create(&sampler, NULL, sample_pinned, &w);
    start = app_time();
    for (i = 0; i < w.rounds; ++i) {
        round_of_windows(&w, &random);
    }
    start = app_time() - start;
    atomic_store(&w.is_over, 1);
    pthread_join(sampler, NULL);

    peak = atomic_load(&w.pinned_peak);
    if ((w.max_pinned > 0) && (peak > w.max_pinned)) {
        fprintf(stderr, "windows: rank %d: %zu bytes were pinned, more than "
                "%zu\n", w.rank, peak, w.max_pinned);
        ++w.errors;
    }
    MPI_Allreduce(&w.errors, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (w.rank == 0) {
        printf("{\"ranks\":%d,\"size\":%zu,\"pinned_peak\":%zu,\"seconds\":%.3f,"
               "\"errors\":%llu}\n", w.ranks, w.size, peak, start,
               (unsigned long long)sum);
    }

    free(w.known);
    MPI_Finalize();
    return sum ? 1 : 0;
}
