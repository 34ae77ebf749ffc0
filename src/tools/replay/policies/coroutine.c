/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"

#include <tools/base/memory.h>

#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#ifdef __SANITIZE_THREAD__
#  include <sanitizer/tsan_interface.h>
#endif

/* The size allows for UCS, which formats messages of several KB on the stack */
#define STACK_SIZE (256ul << 10)


struct predreg_coroutine {
    void       (*func)(void *arg);
    void       *arg;
    ucontext_t inside;
    ucontext_t outside;
    void       *stack;
    void       *inside_fiber;  /* For the thread sanitizer: the flow */
    void       *outside_fiber;
};


/* Tell the thread sanitizer of a coroutine, which it calls a fiber: it keeps a stack of
 * calls for each fiber, and would take a switch between two for calls that never return */
static void *fiber_create(void)
{
#ifdef __SANITIZE_THREAD__
    return __tsan_create_fiber(0);
#else
    return NULL;
#endif
}

static void fiber_destroy(void *fiber)
{
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(fiber);
#endif
}

static void *fiber_current(void)
{
#ifdef __SANITIZE_THREAD__
    return __tsan_get_current_fiber();
#else
    return NULL;
#endif
}

static inline void fiber_switch(void *fiber)
{
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(fiber, 0);
#endif
}

/* Start of the flow. makecontext() passes its argument as two integers */
static void coroutine_main(unsigned high, unsigned low)
{
    predreg_coroutine_t *coroutine =
            (predreg_coroutine_t*)(((uintptr_t)high << 32) | low);

    coroutine->func(coroutine->arg);
    abort(); /* The flow has no caller to return to */
}

predreg_coroutine_t *predreg_coroutine_create(void (*func)(void *arg), void *arg)
{
    predreg_coroutine_t *coroutine = predreg_alloc(1, sizeof(*coroutine));
    uintptr_t self                 = (uintptr_t)coroutine;

    getcontext(&coroutine->inside);
    coroutine->func                    = func;
    coroutine->arg                     = arg;
    coroutine->stack                   = predreg_check_memory(malloc(STACK_SIZE));
    coroutine->inside.uc_stack.ss_sp   = coroutine->stack;
    coroutine->inside.uc_stack.ss_size = STACK_SIZE;
    coroutine->inside.uc_link          = NULL;
    coroutine->inside_fiber            = fiber_create();
    makecontext(&coroutine->inside, (void (*)(void))coroutine_main, 2,
                (unsigned)(self >> 32), (unsigned)self);
    return coroutine;
}

void predreg_coroutine_destroy(predreg_coroutine_t *coroutine)
{
    fiber_destroy(coroutine->inside_fiber);
    free(coroutine->stack);
    free(coroutine);
}

void predreg_coroutine_resume(predreg_coroutine_t *coroutine)
{
    coroutine->outside_fiber = fiber_current();
    fiber_switch(coroutine->inside_fiber);
    swapcontext(&coroutine->outside, &coroutine->inside);
}

void predreg_coroutine_suspend(predreg_coroutine_t *coroutine)
{
    fiber_switch(coroutine->outside_fiber);
    swapcontext(&coroutine->inside, &coroutine->outside);
}
