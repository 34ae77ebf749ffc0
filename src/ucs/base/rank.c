/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rank.h"

#if UCS_ASSERT_RANKS

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Most locks that a thread has at a time */
#define MAX_HELD 32


/* A lock that this thread has. Volatile: handlers of signals take locks as well,
 * and give them back before they return. They find a place that is not written
 * yet with the rank NONE */
typedef struct {
    volatile ucs_rank_t  rank;
    const void *volatile lock;
} held_t;


static const char *const names[] = {
    [UCS_RANK_NONE] = "NONE",
#define NAME(_name) [UCS_RANK_##_name] = #_name,
    UCS_RANKS(NAME)
#undef NAME
};

/* Initial-exec: in a library that was opened by dlopen(), libc else allocates it
 * when a thread first asks, which may be in a hook of memory */
static __thread held_t held[MAX_HELD]
        __attribute__((tls_model("initial-exec")));
static __thread volatile unsigned num_held
        __attribute__((tls_model("initial-exec")));


/* Name the lock that is out of order and those that this thread has, and end the process.
 * Nothing is allocated: the lock may be one of a hook of memory */
static void fail(ucs_rank_t rank, const void *lock)
{
    char text[2048];
    int length = snprintf(text, sizeof(text),
                          "ucx-predreg: %s (%p) is out of order "
                          "(docs/design/locks.md); this thread has", names[rank],
                          lock);
    unsigned i;
    ssize_t ret;

    for (i = 0; (i < num_held) && (length < sizeof(text) - 64); ++i) {
        length += snprintf(text + length, sizeof(text) - length, " %s (%p)",
                           names[held[i].rank], held[i].lock);
    }
    text[length++] = '\n';
    ret            = write(STDERR_FILENO, text, length);
    (void)ret;
    abort();
}

void ucs_rank_take(ucs_rank_t rank, const void *lock, ucs_rank_how_t how)
{
    unsigned num = num_held;
    unsigned i;

    if ((rank == UCS_RANK_NONE) || (num == MAX_HELD)) {
        fail(rank, lock);
    }

    for (i = 0; (i < num) && (how != UCS_RANK_TRY); ++i) {
        if ((held[i].lock == lock) && (how == UCS_RANK_AGAIN)) {
            how = UCS_RANK_TRY;
        }
    }
    for (i = 0; (i < num) && (how != UCS_RANK_TRY); ++i) {
        if (held[i].rank >= rank) {
            fail(rank, lock);
        }
    }

    num_held       = num + 1;
    held[num].lock = lock;
    held[num].rank = rank;
}

void ucs_rank_drop(const void *lock)
{
    unsigned i = num_held;

    do {
        if (i == 0) {
            return; /* Forgotten at a fork */
        }
        --i;
    } while ((held[i].lock != lock) || (held[i].rank == UCS_RANK_NONE));

    held[i].rank = UCS_RANK_NONE;
    /* A handler that comes meanwhile may lower the number as well */
    for (i = num_held; (i > 0) && (held[i - 1].rank == UCS_RANK_NONE); --i) {
        num_held = i - 1;
    }
}

void ucs_rank_check(ucs_rank_t rank)
{
    unsigned i;

    for (i = 0; i < num_held; ++i) {
        if (held[i].rank >= rank) {
            fail(rank, NULL);
        }
    }
}

void ucs_rank_forget(void)
{
    while (num_held > 0) {
        held[num_held - 1].rank = UCS_RANK_NONE;
        --num_held;
    }
}

#endif
