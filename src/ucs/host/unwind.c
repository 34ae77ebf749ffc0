/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "unwind.h"

#include <pthread.h>
#include <unwind.h>

/* If the return address is not at the top of a frame, this many words at the
 * bottom are searched: code for 64-bit ARM processors stores frame pointer and
 * return address near the bottom, above the arguments of further calls */
#define UNWIND_BOTTOM_WORDS 32


typedef struct walk {
    const void           *caller;
    ucs_callpath_frame_t *frames;
    unsigned             count;
    unsigned             max;
    uintptr_t            bottom; /* Lowest address of the present frame; 0: the
                                    walk has not found the caller yet */
} walk_t;


ucs_callpath_stack_t ucs_host_stack(void)
{
    ucs_callpath_stack_t stack = {0, 0};
    pthread_attr_t attr;
    size_t size;
    void *low;

    if (pthread_getattr_np(pthread_self(), &attr) != 0) {
        return stack;
    }

    if (pthread_attr_getstack(&attr, &low, &size) == 0) {
        stack.low  = (uintptr_t)low;
        stack.high = stack.low + size;
    }
    pthread_attr_destroy(&attr);
    return stack;
}

/* Find the word of a frame that holds its return address. @return 0 if there is
 * none. Some words of a frame may be poisoned for the address sanitizer. */
__attribute__((no_sanitize_address)) static uintptr_t
find_slot(uintptr_t bottom, uintptr_t top, uintptr_t address)
{
    uintptr_t slot = top - sizeof(uintptr_t);
    unsigned i;

    /* The call instruction of some processors, such as x86, stores the return
     * address here */
    if (*(const uintptr_t*)slot == address) {
        return slot;
    }

    for (i = 0; i < UNWIND_BOTTOM_WORDS; ++i) {
        slot = bottom + i * sizeof(uintptr_t);
        if (slot >= top) {
            break;
        }
        if (*(const uintptr_t*)slot == address) {
            return slot;
        }
    }
    return 0;
}

static _Unwind_Reason_Code
walk_frame(struct _Unwind_Context *context, void *arg)
{
    walk_t *walk      = arg;
    uintptr_t address = _Unwind_GetIP(context);
    /* The unwinder is in the function after the return. The stack pointer there is
     * the end of the returning frame */
    uintptr_t top     = _Unwind_GetCFA(context);
    uintptr_t slot;

    if (walk->bottom == 0) {
        if (address == (uintptr_t)walk->caller) {
            walk->bottom = top;
        }
        return _URC_NO_REASON;
    }

    /* A caller's frame is above the frame of the called function. If this frame is not,
     * the unwinder has left this stack */
    if ((walk->count == walk->max) || (top <= walk->bottom) ||
        (top % sizeof(uintptr_t) != 0)) {
        return _URC_NORMAL_STOP;
    }

    slot = find_slot(walk->bottom, top, address);
    if (slot != 0) {
        walk->frames[walk->count].address = address;
        walk->frames[walk->count].slot    = slot;
        ++walk->count;
    }
    walk->bottom = top;
    return _URC_NO_REASON;
}

unsigned ucs_host_unwind(const void *caller, ucs_callpath_frame_t *frames,
                         unsigned max)
{
    walk_t walk = {
        .caller = caller,
        .frames = frames,
        .max    = max
    };

    /* The result only says whether the walk came to the end of the stack */
    _Unwind_Backtrace(walk_frame, &walk);
    return walk.count;
}

const ucs_callpath_ops_t ucs_host_callpath_ops = {
    .stack  = ucs_host_stack,
    .unwind = ucs_host_unwind
};
