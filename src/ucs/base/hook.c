/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "hook.h"

#include <signal.h>

/* Both belong to this thread. The depth is above 0 only while signals are blocked: a
 * handler never sees it so, and a handler that comes before they are blocked leaves
 * both as they were. Initial-exec: in a library that was opened by dlopen(), libc
 * else allocates them when a thread first asks, which may be in the midst of free().
 * Volatile: the compiler must not move them past the calls that block signals */
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
