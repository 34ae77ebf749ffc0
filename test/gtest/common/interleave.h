/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_INTERLEAVE_H_
#define PREDREG_GTEST_INTERLEAVE_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/* All interleavings of a few threads that share memory.
 *
 * The threads are coroutines, and each operation on shared memory is a step: any thread
 * may take the next one. A store that is not sequentially consistent comes to memory
 * later: it stays in a buffer of its thread, which alone sees it. From there, release
 * stores come to memory after all that were made before them, and relaxed ones in any
 * order, but for those to one place. (Loads take place in the order of the program, and
 * all threads see memory alike: what an architecture may do beyond that is not
 * explored.)
 *
 * What comes after a state that was met before is not taken again. The state is what the
 * threads have loaded so far, and the memory that they load and store.
 *
 * A thread that loads the same place twice in a row, with the same result, spins: it goes
 * on once it would see something else. */

#define INTERLEAVE_MAX_THREADS 4

typedef enum {
    INTERLEAVE_RELAXED, /* And acquire, for loads */
    INTERLEAVE_RELEASE,
    INTERLEAVE_SEQ_CST
} interleave_order_t;

typedef struct interleave {
    unsigned num_threads;
    void     (*begin)(void);            /* Puts the memory into its first state */
    void     (*run)(unsigned thread);   /* What a thread does */
    void     (*end)(void);              /* Checks the memory when all have ended */
    /* Whether nobody stores to a place: loads of it are no steps */
    int      (*is_constant)(const volatile void *place);
} interleave_t;

typedef struct interleave_result {
    uint64_t   states;
    const char *failed; /* What was not true in one of them, the last one; or NULL */
} interleave_result_t;

/* Explore until something is not true, or all is explored */
interleave_result_t interleave_explore(const interleave_t *test);

/* In a thread of a test; values of up to 8 bytes */
uint64_t interleave_load(const volatile void *place, size_t size);
void interleave_store(volatile void *place, size_t size, uint64_t value,
                      interleave_order_t order);
/* Sequentially consistent. @return whether the value was as expected */
int interleave_swap(volatile void *place, size_t size, uint64_t expected,
                    uint64_t value);
/* Also in begin() and end() */
void interleave_check(int is_true, const char *what);

END_C_DECLS

#endif
