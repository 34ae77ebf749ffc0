/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cpus.h"

#include <ucs/sys/math.h>

#include <pthread.h>
#include <signal.h>


/* Find the processors on which a process may run. If the usable processors are
 * known, only these count */
static void user_cpus(const cpu_set_t *usable,
                      const ucs_rcache_pred_cpu_user_t *user, cpu_set_t *cpus)
{
    if (CPU_COUNT(&user->affinity) == 0) {
        *cpus = *usable;
    } else if (CPU_COUNT(usable) == 0) {
        *cpus = user->affinity;
    } else {
        CPU_AND(cpus, &user->affinity, usable);
    }
}

/* The nth processor of a set, counted from 0; -1 if it has fewer */
static int nth_cpu(const cpu_set_t *cpus, unsigned nth)
{
    int cpu;

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, cpus) && (nth-- == 0)) {
            return cpu;
        }
    }

    return -1;
}

/* The smallest mask wider than this; 0 if there is none */
static unsigned next_width(const cpu_set_t *usable,
                           const ucs_rcache_pred_cpu_user_t *users,
                           unsigned num_users, unsigned width)
{
    unsigned next = 0;
    unsigned i, count;
    cpu_set_t cpus;

    for (i = 0; i < num_users; ++i) {
        user_cpus(usable, &users[i], &cpus);
        count = CPU_COUNT(&cpus);
        if ((count > width) && ((next == 0) || (count < next))) {
            next = count;
        }
    }

    return next;
}

/*
 * Count the usable processors that are left over when each process has got one
 * of its own. The processes with the narrowest masks get theirs first: if masks
 * are disjoint, equal or nested, it makes no difference to wider masks which
 * processor a process gets.
 */
static unsigned count_idle(const cpu_set_t *usable,
                           const ucs_rcache_pred_cpu_user_t *users,
                           unsigned num_users)
{
    cpu_set_t idle = *usable;
    unsigned width = 0;
    cpu_set_t cpus;
    unsigned i;
    int cpu;

    while ((width = next_width(usable, users, num_users, width)) != 0) {
        for (i = 0; i < num_users; ++i) {
            user_cpus(usable, &users[i], &cpus);
            if (CPU_COUNT(&cpus) != width) {
                continue;
            }

            CPU_AND(&cpus, &cpus, &idle);
            cpu = nth_cpu(&cpus, 0);
            if (cpu >= 0) {
                CPU_CLR(cpu, &idle);
            }
        }
    }

    return CPU_COUNT(&idle);
}

static unsigned rank_by_demand(const ucs_rcache_pred_cpu_user_t *users,
                               unsigned num_users, unsigned self)
{
    unsigned rank = 0;
    unsigned i;

    for (i = 0; i < num_users; ++i) {
        rank += (users[i].demand > users[self].demand) ||
                ((users[i].demand == users[self].demand) && (i < self));
    }

    return rank;
}

/* Find the usable processors that are in no process's mask */
static void free_cpus(const cpu_set_t *usable,
                      const ucs_rcache_pred_cpu_user_t *users,
                      unsigned num_users, cpu_set_t *cpus)
{
    cpu_set_t taken;
    unsigned i;

    *cpus = *usable;
    for (i = 0; i < num_users; ++i) {
        user_cpus(usable, &users[i], &taken);
        CPU_AND(&taken, &taken, cpus);
        CPU_XOR(cpus, cpus, &taken);
    }
}

/* Count the processes that may run on any of these processors */
static unsigned count_users(const cpu_set_t *usable, const cpu_set_t *cpus,
                            const ucs_rcache_pred_cpu_user_t *users,
                            unsigned num_users)
{
    unsigned count = 0;
    cpu_set_t common;
    unsigned i;

    for (i = 0; i < num_users; ++i) {
        user_cpus(usable, &users[i], &common);
        CPU_AND(&common, &common, cpus);
        count += (CPU_COUNT(&common) > 0);
    }

    return count;
}

static void seat_on_free(const cpu_set_t *cpus,
                         ucs_rcache_pred_node_seat_t *seat)
{
    unsigned num_cpus = CPU_COUNT(cpus);
    unsigned turn     = seat->rank % num_cpus;

    CPU_ZERO(&seat->cpus);
    CPU_SET(nth_cpu(cpus, turn), &seat->cpus);
    seat->sharers = ((seat->procs - turn) + num_cpus - 1) / num_cpus;
}

static void seat_on_own(const cpu_set_t *usable,
                        const ucs_rcache_pred_cpu_user_t *users, unsigned self,
                        ucs_rcache_pred_node_seat_t *seat)
{
    unsigned helpers = seat->procs;
    unsigned cpus    = seat->idle_cpus;

    user_cpus(usable, &users[self], &seat->cpus);
    if (CPU_COUNT(&seat->cpus) == 0) {
        /* None of the processors of the process is usable: it was bound in
         * another cpuset */
        seat->cpus = users[self].affinity;
    }

    if (cpus == 0) {
        helpers = count_users(usable, &seat->cpus, users, seat->procs);
        cpus    = CPU_COUNT(&seat->cpus);
    }

    seat->sharers = ucs_div_round_up(ucs_max(helpers, 1), ucs_max(cpus, 1));
}

void ucs_rcache_pred_cpus_seat(const cpu_set_t *usable,
                               const ucs_rcache_pred_cpu_user_t *users,
                               unsigned num_users, unsigned self,
                               ucs_rcache_pred_node_seat_t *seat)
{
    cpu_set_t cpus;

    seat->procs     = num_users;
    seat->idle_cpus = count_idle(usable, users, num_users);
    seat->rank      = rank_by_demand(users, num_users, self);

    free_cpus(usable, users, num_users, &cpus);
    if (CPU_COUNT(&cpus) > 0) {
        seat_on_free(&cpus, seat);
    } else {
        seat_on_own(usable, users, self, seat);
    }
}

/* Ask the kernel for all processors. It binds the thread to those of them that
 * the thread may have, and then says which these are. If its numbers of
 * processors do not fit the set, it says nothing, and they are not known. */
static void *usable_func(void *arg)
{
    cpu_set_t *usable = arg;
    int cpu;

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        CPU_SET(cpu, usable);
    }

    if ((sched_setaffinity(0, sizeof(*usable), usable) != 0) ||
        (sched_getaffinity(0, sizeof(*usable), usable) != 0)) {
        CPU_ZERO(usable);
    }

    return NULL;
}

void ucs_rcache_pred_cpus_usable(cpu_set_t *usable)
{
    sigset_t all, old;
    pthread_t thread;
    int ret;

    CPU_ZERO(usable);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&thread, NULL, usable_func, usable);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ret == 0) {
        pthread_join(thread, NULL);
    }
}
