/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "hook.h"

#include <signal.h>

/* The number of sections that this thread is in, and the signals that were
 * blocked before the outermost section. The depth is above 0 only while signals
 * are blocked: no handler ever sees such a depth, and a handler that comes
 * before the signals are blocked leaves both variables as they were.
 * Initial-exec: in a library that was opened by dlopen(), libc would otherwise
 * allocate the variables at the first access of a thread, which may be in the
 * midst of free(). Volatile: the compiler must not move an access past the
 * calls that block signals */
static __thread volatile unsigned depth
        __attribute__((tls_model("initial-exec")));
static __thread sigset_t before __attribute__((tls_model("initial-exec")));


void ucs_hook_enter(void)
{
    sigset_t all, old;

    if (depth == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        before = old;
    }
    ++depth;
}

void ucs_hook_leave(void)
{
    sigset_t old = before;

    if (--depth == 0) {
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
}
