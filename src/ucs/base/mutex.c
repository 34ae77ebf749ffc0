/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mutex.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>


static void init_lending(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    if (pthread_mutex_init(mutex, &attr) != 0) {
        /* The kernel has no mutexes that lend priorities */
        pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
        pthread_mutex_init(mutex, &attr);
    }
    pthread_mutexattr_destroy(&attr);
}

void ucs_mutex_init(ucs_mutex_t *mutex, ucs_rank_t rank, unsigned flags)
{
    int is_recursive = (flags & UCS_MUTEX_RECURSIVE) != 0;

    if (flags & UCS_MUTEX_LENDS) {
        /* Error checking: ucs_give_way() tries to lock the mutex, even in the
         * thread that has the mutex */
        init_lending(&mutex->mutex, is_recursive ? PTHREAD_MUTEX_RECURSIVE :
                                                   PTHREAD_MUTEX_ERRORCHECK);
    } else {
        pthread_mutex_init(&mutex->mutex, NULL);
    }
#if UCS_ASSERT_RANKS
    mutex->rank = rank;
    mutex->how  = is_recursive ? UCS_RANK_AGAIN : UCS_RANK_WAIT;
#endif
}

void ucs_mutex_destroy(ucs_mutex_t *mutex)
{
    pthread_mutex_destroy(&mutex->mutex);
}


#if UCS_ASSERT_RANKS

/* NULL where libuct_predreg.so is not preloaded */
#pragma weak predreg_rank_account_1


static const char *const names[] = {
    [UCS_RANK_NONE] = "NONE",
#define NAME(_name) [UCS_RANK_##_name] = #_name,
    UCS_RANKS(NAME)
#undef NAME
};

/* The locks that this thread has, as far as this library knows, for a process
 * without libuct_predreg.so. Initial-exec: libc would otherwise allocate the
 * variable at the first access, possibly in a hook of memory */
static __thread ucs_rank_account_t own
        __attribute__((tls_model("initial-exec")));


static ucs_rank_account_t *get_account(void)
{
    return (predreg_rank_account_1 != NULL) ? predreg_rank_account_1() : &own;
}

/* Name the lock out of order and the locks of this thread, and end the process.
 * Nothing is allocated: the lock may be one of a hook of memory */
static void fail(ucs_rank_t rank, const void *lock)
{
    char text[2048];
    int length = snprintf(text, sizeof(text),
                          "ucx-predreg: %s (%p) is out of order "
                          "(docs/design/locks.md); this thread has", names[rank],
                          lock);
    const ucs_rank_account_t *account = get_account();
    unsigned i;
    ssize_t ret;

    for (i = 0; (i < account->num) && (length < sizeof(text) - 64); ++i) {
        length += snprintf(text + length, sizeof(text) - length, " %s (%p)",
                           names[account->held[i].rank],
                           account->held[i].lock);
    }
    text[length++] = '\n';
    ret            = write(STDERR_FILENO, text, length);
    (void)ret;
    abort();
}

void ucs_rank_take(ucs_rank_t rank, const void *lock, ucs_rank_how_t how)
{
    ucs_rank_account_t *account = get_account();
    ucs_rank_held_t *held       = account->held;
    unsigned num                = account->num;
    unsigned i;

    if ((rank == UCS_RANK_NONE) || (num == UCS_RANK_MAX_HELD)) {
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

    account->num   = num + 1;
    held[num].lock = lock;
    held[num].rank = rank;
}

void ucs_rank_drop(const void *lock)
{
    ucs_rank_account_t *account = get_account();
    ucs_rank_held_t *held       = account->held;
    unsigned i                  = account->num;

    do {
        if (i == 0) {
            return; /* ucs_rank_forget() has forgotten the lock at a fork */
        }
        --i;
    } while ((held[i].lock != lock) || (held[i].rank == UCS_RANK_NONE));

    held[i].rank = UCS_RANK_NONE;
    /* A handler that comes meanwhile may lower the number as well */
    for (i = account->num; (i > 0) && (held[i - 1].rank == UCS_RANK_NONE); --i) {
        account->num = i - 1;
    }
}

void ucs_rank_check(ucs_rank_t rank)
{
    const ucs_rank_account_t *account = get_account();
    unsigned i;

    for (i = 0; i < account->num; ++i) {
        if (account->held[i].rank >= rank) {
            fail(rank, NULL);
        }
    }
}

void ucs_rank_forget(void)
{
    ucs_rank_account_t *account = get_account();

    while (account->num > 0) {
        account->held[account->num - 1].rank = UCS_RANK_NONE;
        --account->num;
    }
}

#endif
