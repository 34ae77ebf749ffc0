/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "interleave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK       65536
#define MAX_CHOICES 4096
#define MAX_BUFFER  16
#define MAX_PLACES  32
#define MAX_STATES  (1u << 22) /* A power of two */

/* A store that has not come to memory */
typedef struct {
    volatile void      *place;
    size_t             size;
    uint64_t           value;
    interleave_order_t order;
} late_t;

typedef struct {
    ucontext_t    context;
    char          stack[STACK];
    int           has_ended;
    late_t        late[MAX_BUFFER]; /* The oldest first */
    unsigned      num_late;
    /* The load that is its next step, and the last one if nothing came between; size 0:
     * none */
    const volatile void *next_place, *last_place;
    size_t        next_size, last_size;
    uint64_t      last_value;
    uint64_t      history;    /* Hash of the results of its steps so far */
} coroutine_t;

/* A choice among several steps */
typedef struct {
    unsigned chosen;
    unsigned num;
} choice_t;

/* The exploration that is under way. One at a time */
static struct {
    const interleave_t *test;
    coroutine_t        threads[INTERLEAVE_MAX_THREADS];
    ucontext_t         scheduler;
    unsigned           current;
    choice_t           choices[MAX_CHOICES];
    unsigned           num_choices; /* Of the last run */
    unsigned           depth;       /* In this run */
    late_t             places[MAX_PLACES]; /* Of memory; their values are not used */
    unsigned           num_places;
    uint64_t           *states;     /* Hashes of states that were met; 0: none */
    uint64_t           num_states;
    const char         *failed;
} all;


static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = ((hash ^ value) + 1) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static void note_place(volatile void *place, size_t size)
{
    unsigned i;

    for (i = 0; i < all.num_places; ++i) {
        if (all.places[i].place == place) {
            return;
        }
    }

    if (all.num_places == MAX_PLACES) {
        fprintf(stderr, "interleave: more than %d places\n", MAX_PLACES);
        abort();
    }
    all.places[all.num_places++] = (late_t){place, size, 0, INTERLEAVE_RELAXED};
}

static uint64_t read_memory(const volatile void *place, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, (const void*)place, size);
    return value;
}

static void write_memory(const late_t *late)
{
    memcpy((void*)late->place, &late->value, late->size);
}

/* What a thread sees */
static uint64_t
look(const coroutine_t *thread, const volatile void *place, size_t size)
{
    unsigned i = thread->num_late;

    while (i-- > 0) {
        if (thread->late[i].place == place) {
            return thread->late[i].value;
        }
    }

    return read_memory(place, size);
}

static void remove_late(coroutine_t *thread, unsigned index)
{
    --thread->num_late;
    memmove(&thread->late[index], &thread->late[index + 1],
            (thread->num_late - index) * sizeof(*thread->late));
}

static int may_come(const coroutine_t *thread, unsigned index)
{
    const late_t *late = &thread->late[index];
    unsigned i;

    if (late->order == INTERLEAVE_RELEASE) {
        return index == 0;
    }

    for (i = 0; i < index; ++i) {
        if (thread->late[i].place == late->place) {
            return 0;
        }
    }

    return 1;
}

static void all_come(coroutine_t *thread)
{
    while (thread->num_late > 0) {
        write_memory(&thread->late[0]);
        remove_late(thread, 0);
    }
}

static int spins(const coroutine_t *thread)
{
    return (thread->next_size != 0) &&
           (thread->next_place == thread->last_place) &&
           (thread->next_size == thread->last_size) &&
           (look(thread, thread->next_place, thread->next_size) ==
            thread->last_value);
}

/* Let others go on before the next step of this thread */
static coroutine_t *yield(const volatile void *load, size_t size)
{
    coroutine_t *thread = &all.threads[all.current];

    thread->next_place = load;
    thread->next_size  = size;
    thread->history    = mix(thread->history, 0);
    swapcontext(&thread->context, &all.scheduler);
    thread->last_size  = 0;
    return thread;
}

uint64_t interleave_load(const volatile void *place, size_t size)
{
    coroutine_t *thread;

    if (all.test->is_constant(place)) {
        return read_memory(place, size);
    }

    note_place((volatile void*)place, size);
    thread             = yield(place, size);
    thread->last_place = place;
    thread->last_size  = size;
    thread->last_value = look(thread, place, size);
    thread->history    = mix(thread->history, thread->last_value);
    return thread->last_value;
}

void interleave_store(volatile void *place, size_t size, uint64_t value,
                      interleave_order_t order)
{
    coroutine_t *thread = yield(NULL, 0);
    late_t late         = {place, size, value, order};

    note_place(place, size);
    thread->history = mix(thread->history, 1);
    if (order == INTERLEAVE_SEQ_CST) {
        all_come(thread);
        write_memory(&late);
        return;
    }

    if (thread->num_late == MAX_BUFFER) {
        fprintf(stderr, "interleave: more than %d late stores\n", MAX_BUFFER);
        abort();
    }
    thread->late[thread->num_late++] = late;
}

int interleave_swap(volatile void *place, size_t size, uint64_t expected,
                    uint64_t value)
{
    coroutine_t *thread = yield(NULL, 0);
    late_t late         = {place, size, value, INTERLEAVE_SEQ_CST};
    uint64_t found;

    note_place(place, size);
    all_come(thread);
    found           = read_memory(place, size);
    thread->history = mix(thread->history, found);
    if (found != expected) {
        return 0;
    }
    write_memory(&late);
    return 1;
}

void interleave_check(int is_true, const char *what)
{
    if (!is_true) {
        all.failed = what;
    }
}

static void run_thread(unsigned index)
{
    all.test->run(index);
    all.threads[index].has_ended = 1;
}

static void start(unsigned index)
{
    coroutine_t *thread = &all.threads[index];

    thread->has_ended = 0;
    thread->num_late  = 0;
    thread->next_size = 0;
    thread->last_size = 0;
    thread->history   = 0;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp   = thread->stack;
    thread->context.uc_stack.ss_size = STACK;
    thread->context.uc_link          = &all.scheduler;
    makecontext(&thread->context, (void (*)(void))run_thread, 1, index);
}

/* Take one of so many steps: as the last run did up to where it differs, and the first
 * one after that */
static unsigned choose(unsigned num)
{
    choice_t *choice = &all.choices[all.depth];

    if (all.depth == MAX_CHOICES) {
        fprintf(stderr, "interleave: more than %d steps\n", MAX_CHOICES);
        abort();
    }

    if (all.depth++ == all.num_choices) {
        *choice = (choice_t){0, num};
        ++all.num_choices;
    }
    return choice->chosen;
}

/* What may be next: a thread, or one of its late stores that comes to memory */
typedef struct {
    unsigned thread;
    int      late; /* Its index, or -1 */
} step_t;

static unsigned list_steps(step_t *steps)
{
    unsigned num = 0;
    unsigned i, j;

    for (i = 0; i < all.test->num_threads; ++i) {
        if (!all.threads[i].has_ended && !spins(&all.threads[i])) {
            steps[num++] = (step_t){i, -1};
        }
        for (j = 0; j < all.threads[i].num_late; ++j) {
            if (may_come(&all.threads[i], j)) {
                steps[num++] = (step_t){i, (int)j};
            }
        }
    }

    return num;
}

static void take_step(const step_t *step)
{
    coroutine_t *thread = &all.threads[step->thread];

    if (step->late >= 0) {
        write_memory(&thread->late[step->late]);
        remove_late(thread, (unsigned)step->late);
        return;
    }

    all.current = step->thread;
    swapcontext(&all.scheduler, &thread->context);
}

static uint64_t hash_state(void)
{
    uint64_t hash = 1;
    const coroutine_t *thread;
    unsigned i, j;

    for (i = 0; i < all.test->num_threads; ++i) {
        thread = &all.threads[i];
        hash   = mix(hash, thread->history);
        hash   = mix(hash, thread->has_ended);
        hash   = mix(hash, (uintptr_t)thread->next_place);
        for (j = 0; j < thread->num_late; ++j) {
            hash = mix(hash, (uintptr_t)thread->late[j].place);
            hash = mix(hash, thread->late[j].value);
        }
    }

    for (i = 0; i < all.num_places; ++i) {
        hash = mix(hash, read_memory(all.places[i].place, all.places[i].size));
    }
    return hash | 1;
}

/* @return whether this state is new */
static int note_state(void)
{
    uint64_t hash = hash_state();
    uint64_t slot = hash >> 20;

    for (;; ++slot) {
        slot %= MAX_STATES;
        if (all.states[slot] == hash) {
            return 0;
        }

        if (all.states[slot] == 0) {
            break;
        }
    }

    if (++all.num_states > (MAX_STATES / 2)) {
        fprintf(stderr, "interleave: more than %u states\n", MAX_STATES / 2);
        abort();
    }
    all.states[slot] = hash;
    return 1;
}

static void run_once(void)
{
    step_t steps[INTERLEAVE_MAX_THREADS * (MAX_BUFFER + 1)];
    unsigned num, i;

    all.depth = 0;
    all.test->begin();
    for (i = 0; i < all.test->num_threads; ++i) {
        start(i);
    }

    while ((all.failed == NULL) && ((num = list_steps(steps)) > 0)) {
        if ((num > 1) && (all.depth == all.num_choices) && !note_state()) {
            return;
        }
        take_step(&steps[(num == 1) ? 0 : choose(num)]);
    }

    for (i = 0; i < all.test->num_threads; ++i) {
        interleave_check(all.threads[i].has_ended || (all.failed != NULL),
                         "all threads end");
    }
    if (all.failed == NULL) {
        all.test->end();
    }
}

/* @return whether there is a run that was not taken yet */
static int next_run(void)
{
    choice_t *choice;

    while (all.num_choices > 0) {
        choice = &all.choices[all.num_choices - 1];
        if (++choice->chosen < choice->num) {
            return 1;
        }
        --all.num_choices;
    }

    return 0;
}

interleave_result_t interleave_explore(const interleave_t *test)
{
    interleave_result_t result;

    all.test        = test;
    all.num_choices = 0;
    all.num_places  = 0;
    all.num_states  = 0;
    all.failed      = NULL;
    all.states      = calloc(MAX_STATES, sizeof(*all.states));
    if (all.states == NULL) {
        abort();
    }

    do {
        run_once();
    } while ((all.failed == NULL) && next_run());

    free(all.states);
    result.states = all.num_states;
    result.failed = all.failed;
    return result;
}
