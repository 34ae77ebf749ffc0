/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "touched.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t begin, end; /* Whole pages */
static volatile unsigned count;
static struct sigaction old_action;

static void set(int prot)
{
    if (begin < end) {
        mprotect((void*)begin, end - begin, prot);
    }
}

/* The first touch of a page */
static void touched(int signum, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    size_t page       = sysconf(_SC_PAGESIZE);

    if ((address < begin) || (address >= end)) {
        sigaction(SIGSEGV, &old_action, NULL); /* It comes again, and is a crash */
        return;
    }

    ++count;
    mprotect((void*)(address & ~(page - 1)), page, PROT_READ | PROT_WRITE);
}

void test_touched_start(void *start, size_t length)
{
    struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO};
    size_t page             = sysconf(_SC_PAGESIZE);

    begin = ((uintptr_t)start + page - 1) & ~(page - 1);
    end   = ((uintptr_t)start + length) & ~(page - 1);
    count = 0;
    sigaction(SIGSEGV, &action, &old_action);
    set(PROT_NONE);
}

unsigned test_touched_stop(void)
{
    set(PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &old_action, NULL);
    return count;
}
