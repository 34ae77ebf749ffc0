/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * How much run time and memory programs take under different budgets, and under a
 * bound on memory, compared with leave-pinned without one. The programs are made up:
 * regular, random, bursty, with one or thousands of buffers. They are replayed with
 * the library's own code on a virtual clock, so that the result does not depend on
 * this machine. The argument is the number of a program, from 1; without it all are
 * played. With --clairvoyant before it, predict with a processor of its own and no limit
 * on its costs beside the best possible schedule. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_util.h"

#include <tools/replay/replay.h>

#include <ucs/sys/math.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define USEC 1000ul
#define MSEC 1000000ul
#define SEC  1000000000ul
#define KB   1024ul
#define MB   (1024 * KB)
#define GB   (1024 * MB)

/* 25 GB/s, 200 Gb/s: what the uses last */
#define NS_PER_KB 41

/* UCX's model of an adapter (UCX 1.13, ib_md.c: 16 us and 0.25 us a page) for a
 * registration, and half of it for a deregistration */
static const predreg_cost_t reg_cost   = {.op = 16000, .page = 250};
static const predreg_cost_t dereg_cost = {.op = 8000, .page = 125};

/* How long programs run, and how many uses they make; whatever is less */
#define RUN_TIME (15 * SEC)
#define MAX_USES 100000

/* A bound is a part of what leave-pinned has at most, but of so many buffers at least, so
 * that all buffers of small programs fit in half of it */
#define BOUND_BUFFERS 24

/* How a program uses its buffers */
typedef enum {
    LOOP,     /* All of them one after another, once a period */
    RANDOM,   /* Any of them at any time, as often as in a loop */
    BURSTS,   /* As a loop for 20 periods; then nothing for 100 */
    PHASES,   /* The first half of the buffers for a quarter of the run, then
                 the other half, and so on */
    ONCE,     /* New buffers all the time, which stay mapped */
    FREED,    /* New buffers all the time, unmapped after the use */
    NESTED,   /* Ten short periods of a tenth, then a long one */
    LATEST    /* A loop whose period changes from one to three times its length,
                 at random */
} pattern_t;

static const char *const pattern_names[] = {
    [LOOP]   = "loop",   [RANDOM] = "random", [BURSTS] = "bursts",
    [PHASES] = "phases", [ONCE]   = "once",   [FREED]  = "freed",
    [NESTED] = "nested", [LATEST] = "uneven"
};

typedef struct {
    pattern_t pattern;
    unsigned  buffers;
    uint64_t  length; /* Bytes of each */
    uint64_t  period; /* ns */
    double    jitter; /* Part of the period, uniformly distributed */
} program_t;

typedef struct {
    double   budget; /* Part of the run time */
    int      shared;
    double   bound;  /* Part of what leave-pinned has at most; 0: there is none */
    int      lru;    /* UCX's caches, not predict */
    double   time[256];   /* Above leave-pinned, percent; one a program */
    double   memory[256]; /* Average, as a part of leave-pinned's */
} setting_t;

static setting_t settings[] = {
    {.budget = INFINITY}, {.budget = .05}, {.budget = .01}, {.budget = .002},
    {.budget = INFINITY, .shared = 1}, {.budget = .05, .shared = 1},
    {.budget = .01, .shared = 1}, {.budget = .002, .shared = 1},
    {.budget = .01, .bound = .5}, {.budget = .01, .shared = 1, .bound = .5},
    {.lru = 1, .bound = .5}
};

/* What --clairvoyant counts: programs that are above FEW times the byte-seconds of the
 * clairvoyant, and those of them in which memory that is registered ahead, until the use
 * comes, is the largest part of what is above */
static struct {
    int      on;
    unsigned above;
    unsigned ahead;
} beside;

#define FEW 1.25

static struct {
    predreg_use_t   *uses;
    size_t          num_uses;
    size_t          max_uses;
    predreg_unmap_t *unmaps;
    size_t          num_unmaps;
    uint64_t        random;
    uint64_t        duration;
} made;


static double random_part(void)
{
    made.random = (made.random * 6364136223846793005ul) + 1442695040888963407ul;
    return (made.random >> 11) / (double)(1ul << 53);
}

static uint64_t use_time(const program_t *program)
{
    return 2 * USEC + (program->length / KB) * NS_PER_KB;
}

static void add_use(const program_t *program, uint64_t time, uint64_t buffer)
{
    predreg_use_t *use;

    if (made.num_uses == made.max_uses) {
        made.max_uses = ucs_max(2 * made.max_uses, 1024ul);
        made.uses     = realloc(made.uses, made.max_uses * sizeof(*made.uses));
        made.unmaps   = realloc(made.unmaps,
                                made.max_uses * sizeof(*made.unmaps));
        BENCH_ASSERT((made.uses != NULL) && (made.unmaps != NULL),
                     "no memory");
    }

    use  = &made.uses[made.num_uses++];
    *use = (predreg_use_t){
        .begin   = time,
        .end     = time + use_time(program),
        .address = (1ul << 40) + (buffer * (program->length + 64 * KB)),
        .length  = program->length,
        .context = {.caller = 1 + (buffer % 7)}
    };
    made.duration = ucs_max(made.duration, use->end);
    if (program->pattern == FREED) {
        made.unmaps[made.num_unmaps++] = (predreg_unmap_t){
            .time  = use->end + 10 * USEC,
            .start = use->address,
            .end   = use->address + use->length
        };
    }
}

/* One period: a use of each of these buffers. @return its length */
static uint64_t add_period(const program_t *program, uint64_t begin,
                           uint64_t length, unsigned first, unsigned buffers)
{
    uint64_t step = ucs_max(length / (2 * buffers), use_time(program));
    uint64_t buffer;
    unsigned i;

    for (i = 0; i < buffers; ++i) {
        buffer = (program->pattern == RANDOM) ?
                 (uint64_t)(random_part() * program->buffers) : (first + i);
        add_use(program, begin + (i * step), buffer);
    }

    length = ucs_max(length, buffers * step);
    return length * (1 + (program->jitter * random_part()));
}

static void make_program(const program_t *program, uint64_t duration)
{
    uint64_t time = 0, number = 0;
    unsigned half = ucs_max(program->buffers / 2, 1u);
    uint64_t length;
    unsigned first;

    made.num_uses = made.num_unmaps = made.duration = 0;
    made.random   = 1;
    while ((time < duration) && (made.num_uses < MAX_USES)) {
        length = program->period;
        switch (program->pattern) {
        case ONCE:
        case FREED:
            time += add_period(program, time, length,
                               number * program->buffers, program->buffers);
            break;
        case PHASES:
            first = ((4 * time / duration) % 2) * half;
            time += add_period(program, time, length, first, half);
            break;
        case BURSTS:
            time += add_period(program, time, length, 0, program->buffers);
            if (number % 20 == 19) {
                time += 100 * length;
            }
            break;
        case NESTED:
            time += add_period(program, time,
                               (number % 11 == 10) ? length : (length / 10), 0,
                               program->buffers);
            break;
        case LATEST:
            length *= 1 + (2 * random_part());
            /* Fall through */
        default:
            time += add_period(program, time, length, 0, program->buffers);
        }
        ++number;
    }
}

static int compare_uses(const void *a, const void *b)
{
    const predreg_use_t *use_a = a, *use_b = b;

    return (use_a->begin > use_b->begin) - (use_a->begin < use_b->begin);
}

/* Play leave-pinned without a setting, else predict or UCX's caches.
 *
 * @param [in] most  What the bound of a setting is a part of, bytes. */
static void play(const predreg_timeline_t *timeline, const setting_t *setting,
                 uint64_t most, predreg_replay_result_t *result)
{
    predreg_replay_policy_t policy;
    predreg_replay_params_t params;

    policy = (setting == NULL) ? PREDREG_REPLAY_LEAVE_PINNED :
             setting->lru      ? PREDREG_REPLAY_LRU :
                                 PREDREG_REPLAY_PREDICT;
    predreg_replay_params_default(timeline, policy, &params);
    if (setting != NULL) {
        params.cache.budget = setting->budget;
        params.shared       = setting->shared;
        if (setting->shared && (setting->bound == 0)) {
            params.cache.helper = UCS_RCACHE_PRED_HELPER_AGGRESSIVE;
        }
        if (setting->bound > 0) {
            params.limit           = setting->bound * most;
            params.cache.max_bytes = params.limit;
        }
    }
    BENCH_CHECK(predreg_replay(timeline, &params, result));
}

/* Whether registering ahead costs predict more byte-seconds, above those of the
 * clairvoyant, than anything else */
static int is_ahead_most(const predreg_replay_result_t *result,
                         const predreg_replay_result_t *best)
{
    double ahead = result->pinned.by_cause[PREDREG_CAUSE_AHEAD] -
                   best->pinned.by_cause[PREDREG_CAUSE_AHEAD];
    int cause;

    for (cause = 0; cause < PREDREG_CAUSE_LAST; ++cause) {
        if (result->pinned.by_cause[cause] - best->pinned.by_cause[cause] > ahead) {
            return 0;
        }
    }
    return 1;
}

static void play_beside_clairvoyant(const predreg_timeline_t *timeline)
{
    predreg_replay_result_t best, result;
    predreg_replay_params_t params;
    double times;

    predreg_replay_params_default(timeline, PREDREG_REPLAY_CLAIRVOYANT, &params);
    BENCH_CHECK(predreg_replay(timeline, &params, &best));
    play(timeline, &settings[0], 0, &result);
    times = result.pinned.byte_seconds / best.pinned.byte_seconds;
    printf(" %8.2f times, %8.2f for being ahead; hits %6.2f %%, waits %8.4f s\n",
           times,
           result.pinned.by_cause[PREDREG_CAUSE_AHEAD] / best.pinned.byte_seconds,
           100.0 * result.hits / ucs_max(result.uses, 1ul), result.waited / 1e9);
    beside.above += (times > FEW);
    beside.ahead += (times > FEW) && is_ahead_most(&result, &best);
    predreg_replay_result_cleanup(&result);
    predreg_replay_result_cleanup(&best);
}

static void play_program(const program_t *program, unsigned number)
{
    predreg_replay_result_t stock, result;
    predreg_timeline_t timeline;
    setting_t *setting;
    char name[64];
    size_t i;

    qsort(made.uses, made.num_uses, sizeof(*made.uses), compare_uses);
    timeline = (predreg_timeline_t){
        .uses        = made.uses,
        .num_uses    = made.num_uses,
        .unmaps      = made.unmaps,
        .num_unmaps  = made.num_unmaps,
        .num_domains = 1,
        .duration    = made.duration + 20 * USEC,
        .reg         = reg_cost,
        .dereg       = dereg_cost,
        .reg_known   = 1,
        .dereg_known = 1
    };

    snprintf(name, sizeof(name), "%s %ux%luK %gms%s",
             pattern_names[program->pattern], program->buffers,
             program->length / KB, program->period / (double)MSEC,
             (program->jitter > 0) ? " ~" : "");
    printf("%-26s", name);
    if (beside.on) {
        play_beside_clairvoyant(&timeline);
        return;
    }

    play(&timeline, NULL, 0, &stock);
    for (i = 0; i < ucs_static_array_size(settings); ++i) {
        setting = &settings[i];
        play(&timeline, setting,
             ucs_max(stock.pinned.peak_bytes, BOUND_BUFFERS * program->length),
             &result);
        setting->time[number]   = 100 * ((double)result.duration /
                                         stock.duration - 1);
        setting->memory[number] = result.pinned_avg_bytes /
                                  stock.pinned_avg_bytes;
        printf(" %6.2f %5.3f", setting->time[number], setting->memory[number]);
        predreg_replay_result_cleanup(&result);
    }
    printf("\n");
    fflush(stdout);
    predreg_replay_result_cleanup(&stock);
}

static int compare_doubles(const void *a, const void *b)
{
    return (*(const double*)a > *(const double*)b) -
           (*(const double*)a < *(const double*)b);
}

/* Whose processor the helper has, and which part of the memory may be registered */
static const char *setting_name(const setting_t *setting, char *name)
{
    sprintf(name, "%s", setting->lru ? "lru" : setting->shared ? "shared" : "own");
    if (setting->bound > 0) {
        sprintf(name + strlen(name), " 1/%g", 1 / setting->bound);
    }
    return name;
}

static void print_summary(unsigned count)
{
    unsigned above1, above2, i;
    setting_t *setting;
    char name[16];
    size_t s;

    printf("\nof %u programs: those above 1 and 2 %%, the worst and the median "
           "run time; the median of the memory\n"
           "%8s %-9s %6s %6s %7s %8s %8s\n", count, "budget", "", "> 1 %",
           "> 2 %", "worst", "median", "memory");
    for (s = 0; s < ucs_static_array_size(settings); ++s) {
        setting = &settings[s];
        for (above1 = above2 = i = 0; i < count; ++i) {
            above1 += (setting->time[i] > 1);
            above2 += (setting->time[i] > 2);
        }
        qsort(setting->time, count, sizeof(double), compare_doubles);
        qsort(setting->memory, count, sizeof(double), compare_doubles);
        printf("%6g %% %-9s %6u %6u %6.2f%% %7.2f%% %8.3f\n",
               100 * setting->budget, setting_name(setting, name), above1,
               above2, setting->time[count - 1],
               setting->time[count / 2], setting->memory[count / 2]);
    }
}

static void print_head(void)
{
    const setting_t *setting;
    char name[16];
    size_t i;

    printf("run time above leave-pinned, %%, and memory as a part of "
           "leave-pinned's\n%-26s", "budget, helper's processor");
    for (i = 0; i < ucs_static_array_size(settings); ++i) {
        setting = &settings[i];
        printf(" %2g %-9s", 100 * setting->budget, setting_name(setting, name));
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static const program_t shapes[] = {
        {.buffers = 1, .length = 64 * KB, .period = MSEC},
        {.buffers = 1, .length = 4 * MB, .period = 5 * MSEC},
        {.buffers = 4, .length = 1 * MB, .period = 10 * MSEC},
        {.buffers = 3, .length = 5 * MB, .period = 30 * MSEC},
        {.buffers = 16, .length = 256 * KB, .period = 10 * MSEC},
        {.buffers = 100, .length = 1 * MB, .period = 100 * MSEC},
        {.buffers = 1000, .length = 64 * KB, .period = 10 * MSEC},
        {.buffers = 1000, .length = 64 * KB, .period = SEC},
        {.buffers = 1, .length = 1 * GB, .period = SEC},
        {.buffers = 8, .length = 256 * MB, .period = 3 * SEC},
        {.buffers = 2, .length = 16 * MB, .period = 12 * MSEC}
    };
    static const pattern_t patterns[] = {LOOP, RANDOM, BURSTS, PHASES, ONCE,
                                         FREED, NESTED, LATEST};
    unsigned count  = 0;
    unsigned chosen = UINT_MAX;
    program_t program;
    size_t p, s;

    if ((argc > 1) && (strcmp(argv[1], "--clairvoyant") == 0)) {
        beside.on = 1;
        --argc;
        ++argv;
    }
    if (argc > 1) {
        chosen = bench_parse_count("program", argv[1]) - 1;
    }
    if (!beside.on) {
        print_head();
    }

    for (p = 0; p < ucs_static_array_size(patterns); ++p) {
        for (s = 0; s < ucs_static_array_size(shapes); ++s) {
            program         = shapes[s];
            program.pattern = patterns[p];
            program.jitter  = (s % 2) ? .03 : 0;
            if ((chosen != UINT_MAX) && (chosen != count)) {
                ++count;
                continue;
            }

            make_program(&program, RUN_TIME);
            play_program(&program, count++);
        }
    }

    if (beside.on) {
        printf("\nabove %g times the clairvoyant: %u, most of it for being ahead: %u\n",
               FEW, beside.above, beside.ahead);
    } else if (chosen == UINT_MAX) {
        print_summary(count);
    }
    free(made.uses);
    free(made.unmaps);
    return 0;
}
