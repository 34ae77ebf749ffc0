/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mutex.h"


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
        /* A thread that has it may ask whether others do, see ucs_give_way() */
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
