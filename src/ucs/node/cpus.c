/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cpus.h"

#include <ucs/base/hook.h>
#include <ucs/sys/math.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>


/* A process whose helper has an idle processor counts with 1 / 4 of its demand more */
#define HOLDER_SHARE 4


/* An entry of the order in which processes get idle processors */
typedef struct {
    uint64_t demand;
    unsigned index; /* Place of the process among the users */
} turn_t;

/* The distribution of the idle processors. Too large for the stack of some threads, see
 * watch.c */
typedef struct {
    const ucs_rcache_pred_cpus_t     *cpus;
    const ucs_rcache_pred_cpu_user_t *users;
    ucs_rcache_pred_cpu_seat_t       *seats;
    turn_t                           *turns; /* One for each user */
    unsigned                         num_users;
    cpu_set_t                        left;   /* Idle processors without a helper */
    cpu_set_t                        whole;  /* Idle processors whose siblings
                                                are idle, too */
    unsigned                         helpers[CPU_SETSIZE]; /* Number of helpers
                                                              on each processor */
    double                           parts[CPU_SETSIZE]; /* Part of each
                                                            processor for one
                                                            process: 1 divided
                                                            by the number of
                                                            processes that may
                                                            run there */
} division_t;


/* The processors of a set as bits, so that a walk through the set skips empty
 * words: a node has many processes, and most of their sets are small */
typedef struct {
    uint64_t word[CPU_SETSIZE / 64];
} bits_t;

#define for_each_cpu(_cpu, _i, _bits) \
    for ((_i) = 0; (_i) < CPU_SETSIZE / 64; ++(_i)) \
        for (; ((_bits)->word[_i] != 0) && \
               ((_cpu) = ((_i) * 64) + ucs_ffs64((_bits)->word[_i]), 1); \
             (_bits)->word[_i] &= (_bits)->word[_i] - 1)

static bits_t bits_of(const cpu_set_t *cpus)
{
    bits_t bits;

    UCS_STATIC_ASSERT(sizeof(bits) == sizeof(*cpus));
    memcpy(&bits, cpus, sizeof(bits));
    return bits;
}


void ucs_rcache_pred_cpus_own(const cpu_set_t *affinity, const cpu_set_t *usable,
                              cpu_set_t *own)
{
    if (CPU_COUNT(affinity) == 0) {
        *own = *usable;
        return;
    }

    /* A process bound in another cpuset has no usable processor */
    CPU_AND(own, affinity, usable);
    if (CPU_COUNT(own) == 0) {
        *own = *affinity;
    }
}

/* @return the first processor of a set; -1 if the set is empty */
static int first_cpu(const cpu_set_t *cpus)
{
    bits_t bits = bits_of(cpus);
    unsigned cpu, i;

    for_each_cpu(cpu, i, &bits) {
        return cpu;
    }

    return -1;
}

/* Find the idle processors on whose core no processor is known to be busy */
static void find_whole(const ucs_rcache_pred_cpus_t *cpus,
                       const ucs_rcache_pred_cpu_user_t *users, unsigned num_users,
                       cpu_set_t *whole)
{
    cpu_set_t known, busy; /* Busy cores by their numbers */
    unsigned i;
    int cpu;

    CPU_ZERO(&busy);
    CPU_ZERO(&known);
    for (i = 0; i < num_users; ++i) {
        CPU_OR(&known, &known, &users[i].usable);
    }

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &known) && !CPU_ISSET(cpu, &cpus->idle)) {
            CPU_SET(cpus->core[cpu], &busy);
        }
    }

    CPU_ZERO(whole);
    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &cpus->idle) && !CPU_ISSET(cpus->core[cpu], &busy)) {
            CPU_SET(cpu, whole);
        }
    }
}

/* @return whether the last look has found the processor idle that the helper of
 * a process has for itself */
static int has_idle(const division_t *division, unsigned index)
{
    const ucs_rcache_pred_cpu_user_t *user = &division->users[index];

    return (user->cpu >= 0) && CPU_ISSET(user->cpu, &division->cpus->idle) &&
           CPU_ISSET(user->cpu, &user->usable);
}

static int turn_compare(const void *a, const void *b)
{
    const turn_t *first = a, *second = b;

    if (first->demand != second->demand) {
        return (first->demand < second->demand) ? 1 : -1;
    }

    return (first->index > second->index) - (first->index < second->index);
}

static void sort_turns(division_t *division)
{
    uint64_t demand, more;
    unsigned i;

    for (i = 0; i < division->num_users; ++i) {
        demand             = division->users[i].demand;
        more               = has_idle(division, i) ? (demand / HOLDER_SHARE) : 0;
        division->turns[i] = (turn_t){
            .demand = demand + ucs_min(more, UINT64_MAX - demand),
            .index  = i
        };
    }

    qsort(division->turns, division->num_users, sizeof(*division->turns),
          turn_compare);
}

/* Give an idle processor to the helper of a process, for itself */
static void give(division_t *division, unsigned index, int cpu)
{
    ucs_rcache_pred_cpu_seat_t *seat = &division->seats[index];

    seat->cpu  = cpu;
    seat->idle = CPU_ISSET(cpu, &division->whole) ? 1 :
                                                    UCS_RCACHE_PRED_SIBLING_PART;
    CPU_CLR(cpu, &division->left);
    ++division->helpers[cpu];
}

/* Choose a processor for the helper of a process among the idle ones that are left, see
 * ucs_rcache_pred_cpus_seats(). @return -1 if the process can use none of them */
static int choose(const division_t *division, unsigned index)
{
    const ucs_rcache_pred_cpu_user_t *user = &division->users[index];
    cpu_set_t usable, whole, own;
    const cpu_set_t *sets[] = {&own, &whole, &usable};
    unsigned i;
    int cpu;

    CPU_AND(&usable, &division->left, &user->usable);
    if (CPU_COUNT(&usable) == 0) {
        return -1;
    }

    CPU_AND(&whole, &usable, &division->whole);
    ucs_rcache_pred_cpus_own(&user->affinity, &user->usable, &own);
    CPU_AND(&own, &own, (CPU_COUNT(&whole) > 0) ? &whole : &usable);
    for (i = 0; i < ucs_static_array_size(sets); ++i) {
        cpu = first_cpu(sets[i]);
        if (cpu >= 0) {
            return cpu;
        }
    }

    return -1;
}

/* @return whether the helper of a process shall stay on its idle processor. It
 * moves if a sibling of that processor is busy and another processor has idle
 * siblings */
static int stays(const division_t *division, unsigned index)
{
    int cpu = division->users[index].cpu;
    cpu_set_t better;

    if (!has_idle(division, index) || !CPU_ISSET(cpu, &division->left)) {
        return 0;
    }

    CPU_AND(&better, &division->left, &division->whole);
    CPU_AND(&better, &better, &division->users[index].usable);
    return CPU_ISSET(cpu, &division->whole) || (CPU_COUNT(&better) == 0);
}

/* Give each idle processor to one helper, in the order of the turns. Helpers that keep
 * their processor are served before helpers that choose a new one */
static void give_all(division_t *division)
{
    unsigned winners = ucs_min(division->num_users,
                               (unsigned)CPU_COUNT(&division->left));
    unsigned i, index;
    int cpu;

    for (i = 0; i < winners; ++i) {
        index = division->turns[i].index;
        if (stays(division, index)) {
            give(division, index, division->users[index].cpu);
        }
    }

    for (i = 0; i < division->num_users; ++i) {
        index = division->turns[i].index;
        if (division->seats[index].cpu < 0) {
            cpu = choose(division, index);
            if (cpu >= 0) {
                give(division, index, cpu);
            }
        }
    }
}

/* Let the helper of a process share the idle processor with the fewest helpers,
 * among usable ones */
static void share_idle(division_t *division, unsigned index)
{
    const ucs_rcache_pred_cpu_user_t *user = &division->users[index];
    int best = -1;
    cpu_set_t idle;
    unsigned cpu, i;
    bits_t bits;

    CPU_AND(&idle, &division->cpus->idle, &user->usable);
    bits = bits_of(&idle);
    for_each_cpu(cpu, i, &bits) {
        if ((best < 0) || (division->helpers[cpu] < division->helpers[best])) {
            best = cpu;
        }
    }

    if (best >= 0) {
        division->seats[index].cpu = best;
        ++division->helpers[best];
    }
}

/* @return whether a process has the same processors as the process before it: then
 * the caller need not walk through them again. Where no process is bound, all
 * processes have the same processors */
static int has_same_cpus(const ucs_rcache_pred_cpu_user_t *users, unsigned index)
{
    return (index > 0) &&
           CPU_EQUAL(&users[index].affinity, &users[index - 1].affinity) &&
           CPU_EQUAL(&users[index].usable, &users[index - 1].usable);
}

/* Find the processors of each process, and the part of a process in each processor */
static void count_users(division_t *division)
{
    const ucs_rcache_pred_cpu_user_t *users = division->users;
    unsigned i, same, cpu, word;
    cpu_set_t own;
    bits_t bits;

    for (i = 0; i < division->num_users; i += same) {
        for (same = 1; (i + same < division->num_users) &&
                       has_same_cpus(users, i + same); ++same) {
        }

        ucs_rcache_pred_cpus_own(&users[i].affinity, &users[i].usable, &own);
        bits = bits_of(&own);
        for_each_cpu(cpu, word, &bits) {
            division->parts[cpu] += same;
        }
    }

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        division->parts[cpu] = 1 / division->parts[cpu]; /* Infinite for a
                                                            processor without a
                                                            process; nobody
                                                            reads it then */
    }
}

/* @return the sum of a process's parts of its processors, at most 1; 1 also if its
 *         processors are unknown */
static double sum_shares(const division_t *division, unsigned index)
{
    const ucs_rcache_pred_cpu_user_t *user = &division->users[index];
    double sum = 0;
    cpu_set_t own;
    unsigned cpu, i;
    bits_t bits;

    ucs_rcache_pred_cpus_own(&user->affinity, &user->usable, &own);
    bits = bits_of(&own);
    for_each_cpu(cpu, i, &bits) {
        sum += division->parts[cpu];
    }
    return (sum > 0) ? ucs_min(sum, 1) : 1;
}

/* Write the share, the sharers and the rank into each seat */
static void finish_seats(division_t *division)
{
    unsigned rank = 0;
    ucs_rcache_pred_cpu_seat_t *seat;
    unsigned i;

    count_users(division);
    for (i = 0; i < division->num_users; ++i) {
        division->seats[i].share = has_same_cpus(division->users, i) ?
                                   division->seats[i - 1].share :
                                   sum_shares(division, i);
    }

    for (i = 0; i < division->num_users; ++i) {
        seat          = &division->seats[division->turns[i].index];
        seat->sharers = (seat->cpu >= 0) ? division->helpers[seat->cpu] :
                                           ceil(1 / seat->share);
        seat->rank    = rank;
        rank         += (seat->idle > 0);
    }
}

int ucs_rcache_pred_cpus_seats(const ucs_rcache_pred_cpus_t *cpus,
                               const ucs_rcache_pred_cpu_user_t *users,
                               unsigned num_users,
                               ucs_rcache_pred_cpu_seat_t *seats)
{
    division_t *division = calloc(1, sizeof(*division));
    unsigned i;

    if (division == NULL) {
        return 0;
    }

    division->cpus      = cpus;
    division->users     = users;
    division->seats     = seats;
    division->num_users = num_users;
    division->left      = cpus->idle;
    division->turns     = malloc(num_users * sizeof(*division->turns));
    if (division->turns == NULL) {
        free(division);
        return 0;
    }

    for (i = 0; i < num_users; ++i) {
        seats[i] = (ucs_rcache_pred_cpu_seat_t){.cpu = -1};
    }

    find_whole(cpus, users, num_users, &division->whole);
    sort_turns(division);
    give_all(division);
    for (i = 0; i < num_users; ++i) {
        if (seats[division->turns[i].index].cpu < 0) {
            share_idle(division, division->turns[i].index);
        }
    }
    finish_seats(division);
    free(division->turns);
    free(division);
    return 1;
}

/* Ask the kernel to bind this thread to all processors. The kernel binds the
 * thread to the usable ones, and then tells which they are. On a kernel with
 * longer sets the call fails, and the usable processors are unknown. */
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
    pthread_t thread;
    int ret;

    CPU_ZERO(usable);
    /* The new thread inherits the blocked signals, so no handler of the program runs in
     * the thread */
    ucs_hook_enter();
    ret = pthread_create(&thread, NULL, usable_func, usable);
    ucs_hook_leave();
    if (ret == 0) {
        pthread_join(thread, NULL);
    }
}
