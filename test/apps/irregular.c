/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Programs that no predictor likes: pairs of ranks exchange buffers at times
 * that do not repeat themselves, or do so only for a while. Both ranks of a
 * pair follow the same plan.
 */

#include "kernel.h"
#include "apps.h"

/* The number of buffers to choose from */
#define IRREGULAR_CHOICE 16

/* alternating: the longer of the two periods, in units of --compute */
#define IRREGULAR_LONG 4

/* drift: each period is so much longer than the one before */
#define IRREGULAR_DRIFT 1.04

/* phases: iterations until the period changes, and by which factor */
#define IRREGULAR_PHASE  10
#define IRREGULAR_FACTOR 10


/* What happens in an iteration: which buffer is exchanged, and how long is
 * computed after that, in units of --compute. */
typedef struct {
    int    buffer;
    double pause;
} irregular_step_t;

typedef irregular_step_t (*irregular_plan_t)(const kernel_t *k);


static irregular_step_t irregular_noreuse(const kernel_t *k)
{
    return (irregular_step_t){k->iter, 1};
}

/* There is no state: a step is a function of the iteration, and the same on all
 * ranks. */
static irregular_step_t irregular_random(const kernel_t *k)
{
    uint64_t random = app_mix(k->iter + 1);

    return (irregular_step_t){random % IRREGULAR_CHOICE,
                              2.0 * ((random >> 8) % 1024) / 1024};
}

static irregular_step_t irregular_alternating(const kernel_t *k)
{
    return (irregular_step_t){0, (k->iter % 2) ? IRREGULAR_LONG : 1};
}

static irregular_step_t irregular_drift(const kernel_t *k)
{
    double pause = 1;
    int i;

    for (i = 0; i < k->iter; ++i) {
        pause *= IRREGULAR_DRIFT;
    }

    return (irregular_step_t){0, pause};
}

static irregular_step_t irregular_phases(const kernel_t *k)
{
    return (irregular_step_t){0, ((k->iter / IRREGULAR_PHASE) % 2) ?
                                         1.0 / IRREGULAR_FACTOR : 1};
}

/* The first quarter of the iterations has no pauses */
static irregular_step_t irregular_burst(const kernel_t *k)
{
    return (irregular_step_t){0, (k->iter < k->iters / 4) ? 0 : 1};
}

static const struct {
    const char       *name;
    irregular_plan_t plan;
} irregular_patterns[] = {
    {"noreuse", irregular_noreuse},
    {"random", irregular_random},
    {"alternating", irregular_alternating},
    {"drift", irregular_drift},
    {"phases", irregular_phases},
    {"burst", irregular_burst}
};

#define NUM_PATTERNS \
    (sizeof(irregular_patterns) / sizeof(irregular_patterns[0]))

static irregular_plan_t irregular_plan = irregular_noreuse;

static const char irregular_help[] =
        "  --pattern NAME   (noreuse)\n"
        "     noreuse       new buffers each time\n"
        "     random        one of 16 buffers, then a pause, both at random\n"
        "     alternating   a period, and one 4 times as long, in turn\n"
        "     drift         a period that grows by 4 % each time\n"
        "     phases        a period that changes by a factor of 10 after 10\n"
        "     burst         a quarter without pauses, then a period";


static void irregular_set_pattern(const char *value)
{
    unsigned i;

    for (i = 0; i < NUM_PATTERNS; ++i) {
        if (!strcmp(value, irregular_patterns[i].name)) {
            irregular_plan = irregular_patterns[i].plan;
            return;
        }
    }

    app_fatal("irregular: --pattern: '%s'; accepted: noreuse, random, "
              "alternating, drift, phases, burst", value);
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "irregular",
        .what        = "Exchanges that do not repeat themselves; an even "
                       "number of ranks.",
        .size_help   = "of a buffer",
        .size        = 1024 * 1024,
        .iters       = 40,
        .compute_ms  = 100,
        .option      = "pattern",
        .option_help = irregular_help,
        .set_option  = irregular_set_pattern
    };
    irregular_step_t step;
    uint8_t **send, **recv;
    int num_buffers;

    kernel_begin(&k, argc, argv);
    if ((k.ranks % 2) != 0) {
        kernel_fatal(&k, "%d ranks: an even number is needed", k.ranks);
    }

    num_buffers = (k.iters > IRREGULAR_CHOICE) ? k.iters : IRREGULAR_CHOICE;
    send        = kernel_alloc(&k, num_buffers * sizeof(*send));
    recv        = kernel_alloc(&k, num_buffers * sizeof(*recv));
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        step = irregular_plan(&k);
        if (send[step.buffer] == NULL) {
            send[step.buffer] = kernel_alloc(&k, k.size);
            recv[step.buffer] = kernel_alloc(&k, k.size);
        }

        kernel_exchange(&k, send[step.buffer], recv[step.buffer], k.size, 0,
                        k.rank ^ 1);
        kernel_compute(&k, k.compute_ms * step.pause);
    }

    return kernel_end(&k);
}
