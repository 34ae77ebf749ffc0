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

/* The thread sanitizer has to know of coroutines, which it calls fibers: it keeps a stack
 * of calls for each fiber, and would take a switch between two fibers for calls that never
 * return */
#ifdef __SANITIZE_THREAD__
#  include <sanitizer/tsan_interface.h>
#else
#  define __tsan_create_fiber(_flags)           NULL
#  define __tsan_destroy_fiber(_fiber)
#  define __tsan_get_current_fiber()            NULL
#  define __tsan_switch_to_fiber(_fiber, _flags)
#endif

/* The size allows for UCS, which formats messages of several KB on the stack */
#define STACK_SIZE (256ul << 10)


struct predreg_coroutine {
    void       (*func)(void *arg);
    void       *arg;
    ucontext_t inside;
    ucontext_t outside;
    void       *stack;
    void       *inside_fiber;  /* The fiber of the flow, for the thread sanitizer */
    void       *outside_fiber;
};


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
    coroutine->inside_fiber            = __tsan_create_fiber(0);
    makecontext(&coroutine->inside, (void (*)(void))coroutine_main, 2,
                (unsigned)(self >> 32), (unsigned)self);
    return coroutine;
}

void predreg_coroutine_destroy(predreg_coroutine_t *coroutine)
{
    __tsan_destroy_fiber(coroutine->inside_fiber);
    free(coroutine->stack);
    free(coroutine);
}

void predreg_coroutine_resume(predreg_coroutine_t *coroutine)
{
    coroutine->outside_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(coroutine->inside_fiber, 0);
    swapcontext(&coroutine->outside, &coroutine->inside);
}

void predreg_coroutine_suspend(predreg_coroutine_t *coroutine)
{
    __tsan_switch_to_fiber(coroutine->outside_fiber, 0);
    swapcontext(&coroutine->inside, &coroutine->outside);
}
