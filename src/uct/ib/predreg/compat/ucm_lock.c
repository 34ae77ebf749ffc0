/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucm_lock.h"

#include <features.h>
#include <stddef.h>

/* UCM's lock has no name outside of UCM, but functions that take the lock have names:
 * while this thread has the lock, one variable of UCM says so. The search relies on the
 * layout of locks in the GNU C library (bits/struct_rwlock.h) */
#ifdef __GLIBC__

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>


/* UCM's own functions, without an installed header (ucm/event/event.h) */
void ucm_event_enter_exclusive(void) __attribute__((weak));
void ucm_event_leave(void) __attribute__((weak));


/* Memory of UCM's variables, to be searched */
typedef struct {
    uintptr_t start;
    uintptr_t end;
} segment_t;

/* More writable segments than a library has */
#define MAX_SEGMENTS 4

typedef struct {
    segment_t segments[MAX_SEGMENTS];
    unsigned  num;
} segments_t;


/* More variables than ever look like the lock at the same time */
#define MAX_CANDIDATES 8

/* Variables that may be the lock */
typedef struct {
    pthread_rwlock_t *locks[MAX_CANDIDATES];
    unsigned         num;
} candidates_t;


/* The lock; NULL: not found. Written once, before forked children read it */
static pthread_rwlock_t *found;


static segment_t get_segment(const struct dl_phdr_info *info, unsigned number)
{
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[number].p_vaddr;

    return (segment_t){start, start + info->dlpi_phdr[number].p_memsz};
}

/* Whether a library has the code of UCM */
static int is_ucm(const struct dl_phdr_info *info)
{
    uintptr_t code = (uintptr_t)ucm_event_leave;
    segment_t segment;
    unsigned i;

    for (i = 0; i < info->dlpi_phnum; ++i) {
        segment = get_segment(info, i);
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (code >= segment.start) && (code < segment.end)) {
            return 1;
        }
    }
    return 0;
}

/* Note the memory of UCM that can be written, if a library has the code of UCM */
static int note_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
    segments_t *segments = arg;
    unsigned i;

    if (!is_ucm(info)) {
        return 0;
    }

    for (i = 0; (i < info->dlpi_phnum) && (segments->num < MAX_SEGMENTS); ++i) {
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (info->dlpi_phdr[i].p_flags & PF_W)) {
            segments->segments[segments->num++] = get_segment(info, i);
        }
    }
    return 1;
}

/* Whether a variable looks like a lock that the thread holds for writing. Atomic, since
 * other threads may write to variables that are no such lock meanwhile */
static int is_writer(const pthread_rwlock_t *lock, int tid)
{
    return (__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) ==
            tid) &&
           (__atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) != 0);
}

/* Find variables that look like a lock of the thread. A variable that is no lock looks like
 * one if its value happens to be the thread's number */
static void search(const segments_t *segments, int tid, candidates_t *candidates)
{
    const uintptr_t align = __alignof__(pthread_rwlock_t);
    const segment_t *segment;
    uintptr_t address;
    unsigned i;

    for (i = 0; i < segments->num; ++i) {
        segment = &segments->segments[i];
        for (address = (segment->start + align - 1) & ~(align - 1);
             (address + sizeof(pthread_rwlock_t) <= segment->end) &&
             (candidates->num < MAX_CANDIDATES); address += align) {
            if (is_writer((void*)address, tid)) {
                candidates->locks[candidates->num++] = (void*)address;
            }
        }
    }
}

/* @return the one candidate that does not look like a lock of the thread any more; NULL
 *         if there are several such candidates, or none */
static pthread_rwlock_t *choose(const candidates_t *candidates, int tid)
{
    pthread_rwlock_t *lock = NULL;
    unsigned i;

    for (i = 0; i < candidates->num; ++i) {
        if (is_writer(candidates->locks[i], tid)) {
            continue;
        }
        if (lock != NULL) {
            return NULL;
        }
        lock = candidates->locks[i];
    }
    return lock;
}

void uct_predreg_ucm_lock_find(void)
{
    segments_t segments     = {.num = 0};
    candidates_t candidates = {.num = 0};
    int tid                 = syscall(SYS_gettid);
    sigset_t all, old;

    if ((found != NULL) || (ucm_event_enter_exclusive == NULL) ||
        (ucm_event_leave == NULL)) {
        return;
    }

    /* dl_iterate_phdr() may call for memory, so it comes before. While this thread has
     * the lock, nothing may call for memory, and no handler of a signal may run: the
     * thread would wait for itself */
    dl_iterate_phdr(note_segments, &segments);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ucm_event_enter_exclusive();
    search(&segments, tid, &candidates);
    ucm_event_leave();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    found = choose(&candidates, tid);
}

void uct_predreg_ucm_lock_forked(void)
{
    if (found != NULL) {
        pthread_rwlock_init(found, NULL);
    }
}

#else

void uct_predreg_ucm_lock_find(void)
{
}

void uct_predreg_ucm_lock_forked(void)
{
}

#endif
