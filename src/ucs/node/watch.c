/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cpus.h"
#include "node_int.h"

#include <ucs/base/clock.h>
#include <ucs/base/number.h>
#include <ucs/sys/math.h>

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The least time from one look to the next, ns; and the least time during the first
 * second of a process, which has to know soon whether its helper has a processor */
#define WATCH_INTERVAL       200000000
#define WATCH_INTERVAL_YOUNG 50000000

/* Looks take at most 1 / WATCH_COST_SHARE of a processor. But a look is due
 * WATCH_INTERVAL_MAX ns after the last one at the latest: a single long look, as in
 * a virtual machine that was stopped, says little about how long the next one takes */
#define WATCH_COST_SHARE   200
#define WATCH_INTERVAL_MAX 5000000000ull

/* All processes, during a look. The structure is too large for the stack: the program's
 * threads look, too, and some have stacks of 16 KiB */
typedef struct {
    ucs_rcache_pred_cpus_t      cpus;
    unsigned                    num_users;
    ucs_rcache_pred_cpu_user_t  *users;
    ucs_rcache_pred_cpu_seat_t  *seats;
    ucs_rcache_pred_node_slot_t **slots;
    uint64_t                    busy[CPU_SETSIZE]; /* Time of helpers on each processor
                                                      since the last look, ns */
    uint64_t                    before[CPU_SETSIZE]; /* Idle times at the last look, ns */
    uint64_t                    after[CPU_SETSIZE];  /* Idle times at this look, ns */
} look_t;

/* Room for the line of a processor in /proc/stat, and for the file's name: short, since
 * threads with small stacks read the file */
#define LINE_SIZE 512

/* The kernel counts idle time in ticks of USER_HZ, 100 a second: a reading may be wrong by
 * one tick, ns */
#define TICK (UCS_NSEC_PER_SEC / 100)


/* Read a line of /proc/stat, "cpu0 user nice system idle iowait ...". @return whether
 * it is the line of a processor */
static int parse_line(const char *line, unsigned *cpu_p, uint64_t *ticks_p)
{
    uint64_t idle, wait;

    /* The line with the sum of all processors has a blank in place of the
     * number */
    if (!isdigit((unsigned char)line[3]) ||
        (sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, cpu_p, &idle,
                &wait) != 3) ||
        (*cpu_p >= CPU_SETSIZE)) {
        return 0;
    }

    /* A processor whose threads all wait for a disk ("iowait") runs none of
     * them: it is idle as well */
    *ticks_p = idle + wait;
    return 1;
}

unsigned ucs_rcache_pred_idle_read(const char *root, uint64_t times[CPU_SETSIZE])
{
    long ticks_per_sec = sysconf(_SC_CLK_TCK);
    unsigned count     = 0;
    char line[LINE_SIZE];
    uint64_t ticks;
    FILE *stream;
    unsigned cpu;

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        times[cpu] = UCS_RCACHE_PRED_IDLE_UNKNOWN;
    }

    snprintf(line, sizeof(line), "%s/proc/stat", root);
    stream = fopen(line, "re");
    if (stream == NULL) {
        return 0;
    }

    /* Other lines come after the processors */
    while ((fgets(line, sizeof(line), stream) != NULL) &&
           !strncmp(line, "cpu", 3)) {
        if (parse_line(line, &cpu, &ticks)) {
            times[cpu] = ticks * (UCS_NSEC_PER_SEC / ticks_per_sec);
            ++count;
        }
    }
    fclose(stream);
    return count;
}

void ucs_rcache_pred_idle_find(const uint64_t before[CPU_SETSIZE],
                               const uint64_t after[CPU_SETSIZE], uint64_t elapsed,
                               const uint64_t helpers[CPU_SETSIZE], cpu_set_t *idle)
{
    double least = (elapsed * (1 - UCS_RCACHE_PRED_IDLE_BUSY_PART)) - TICK;
    unsigned cpu;

    CPU_ZERO(idle);
    for (cpu = 0; (least > 2 * TICK) && (cpu < CPU_SETSIZE); ++cpu) {
        if ((before[cpu] != UCS_RCACHE_PRED_IDLE_UNKNOWN) &&
            (after[cpu] != UCS_RCACHE_PRED_IDLE_UNKNOWN) &&
            (after[cpu] >= before[cpu]) &&
            ((double)(after[cpu] - before[cpu]) + helpers[cpu] >= least)) {
            CPU_SET(cpu, idle);
        }
    }
}

void ucs_rcache_pred_idle_read_cores(const char *root, const cpu_set_t *cpus,
                                     uint16_t cores[CPU_SETSIZE])
{
    char path[PATH_MAX];
    unsigned cpu, first;

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        cores[cpu] = cpu;
        if (!CPU_ISSET(cpu, cpus)) {
            continue;
        }

        snprintf(path, sizeof(path),
                 "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
        /* The list, such as "0,64" or "0-1", begins with the first thread of the core */
        if ((ucs_scan_file(root, path, "%u", &first) == 1) && (first < CPU_SETSIZE)) {
            cores[cpu] = first;
        }
    }
}


pred_node_word_t pred_node_get_seat(const ucs_rcache_pred_node_t *node)
{
    return (pred_node_word_t){.word = ucs_relaxed_load(&node->slot->seat)};
}

/* Become the one process that looks, if a look is due. @return whether this process is
 * to look.
 * @param [out] last_p  The time of the last look; 0 if there was none. */
static int begin_look(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t *last_p)
{
    pred_node_watch_t *watch = &node->shm->watch;
    uint64_t last            = atomic_load_explicit(&watch->time,
                                                    memory_order_acquire);
    uint64_t interval;

    interval = (now - node->joined < UCS_NSEC_PER_SEC) ? WATCH_INTERVAL_YOUNG :
                                                     WATCH_INTERVAL;
    interval = ucs_max(interval, WATCH_COST_SHARE * ucs_relaxed_load(&watch->cost));
    interval = ucs_min(interval, WATCH_INTERVAL_MAX);
    *last_p  = last;
    /* A last look in the future was taken in another time name space */
    return ((last == 0) || (now < last) || (now - last >= interval)) &&
           atomic_compare_exchange_strong(&watch->time, &last, now);
}

/* Add the processor time of a process's helper since the last look, on the
 * processor that the last look gave to the helper */
static void add_helper(look_t *look, const ucs_rcache_pred_node_slot_t *slot)
{
    pred_node_helper_t seen, now;

    now.word  = ucs_relaxed_load(&slot->helper);
    seen.word = ucs_relaxed_load(&slot->helper_seen);
    if ((now.cpu == seen.cpu) && (now.cpu > 0) && (now.usec >= seen.usec)) {
        look->busy[now.cpu - 1] += (now.usec - seen.usec) * 1000;
    }
}

/* Collect the facts of a process */
static void add_user(look_t *look, ucs_rcache_pred_node_slot_t *slot)
{
    ucs_rcache_pred_cpu_user_t *user = &look->users[look->num_users];
    pred_node_word_t seat;

    add_helper(look, slot);
    seat.word = ucs_relaxed_load(&slot->seat);
    pred_slot_get_cpus(slot->affinity, &user->affinity);
    pred_slot_get_cpus(slot->usable, &user->usable);
    user->demand = ucs_relaxed_load(&slot->demand);
    user->cpu    = seat.has_cpu ? ((int)seat.cpu - 1) : -1;
    look->slots[look->num_users++] = slot;
}

static void collect_users(ucs_rcache_pred_node_t *node, unsigned max_users,
                          look_t *look)
{
    ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    for (i = 0; i < max_users; ++i) {
        slot = &node->shm->slots[i];
        if (ucs_relaxed_load(&slot->owner) != 0) {
            add_user(look, slot);
        }
    }
}

/* Find the processors that nobody but helpers has used since the last look: none, if
 * there was no look */
static void find_idle(ucs_rcache_pred_node_t *node, uint64_t elapsed, look_t *look)
{
    pred_node_watch_t *watch = &node->shm->watch;
    unsigned cpu;

    ucs_rcache_pred_idle_read(node->params.root, look->after);
    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        look->before[cpu] = atomic_exchange_explicit(&watch->idle[cpu],
                                                     look->after[cpu],
                                                     memory_order_relaxed);
    }
    ucs_rcache_pred_idle_find(look->before, look->after, elapsed, look->busy,
                              &look->cpus.idle);
}

static void tell_seats(const look_t *look)
{
    const ucs_rcache_pred_cpu_seat_t *seat;
    pred_node_helper_t helper;
    pred_node_word_t word;
    unsigned i;

    for (i = 0; i < look->num_users; ++i) {
        seat = &look->seats[i];
        word = (pred_node_word_t){
            .cpu     = seat->cpu + 1,
            .has_cpu = (seat->idle > 0),
            .is_half = (seat->idle < 1),
            .sharers = seat->sharers,
            .rank    = seat->rank,
            .procs   = look->num_users,
            .share   = ucs_max(seat->share * UCS_RCACHE_PRED_NODE_SHARE_ONE, 1)
        };
        ucs_relaxed_store(&look->slots[i]->seat, word.word);

        /* The helper will soon run on the new processor */
        helper.word = ucs_relaxed_load(&look->slots[i]->helper);
        helper.cpu  = seat->cpu + 1;
        ucs_relaxed_store(&look->slots[i]->helper_seen, helper.word);
    }
}

/* Write the seats of all processes anew. Without memory, each process keeps its
 * seat */
static void look_at_all(ucs_rcache_pred_node_t *node, uint64_t elapsed)
{
    unsigned max_users = pred_node_num_used(node);
    look_t *look       = calloc(1, sizeof(*look));

    if (look == NULL) {
        return;
    }

    look->users = malloc(max_users * sizeof(*look->users));
    look->seats = malloc(max_users * sizeof(*look->seats));
    look->slots = malloc(max_users * sizeof(*look->slots));
    if ((look->users != NULL) && (look->seats != NULL) && (look->slots != NULL)) {
        collect_users(node, max_users, look);
        find_idle(node, elapsed, look);
        memcpy(look->cpus.core, node->cores, sizeof(look->cpus.core));
        if (ucs_rcache_pred_cpus_seats(&look->cpus, look->users, look->num_users,
                                       look->seats)) {
            tell_seats(look);
        }
    }
    free(look->slots);
    free(look->seats);
    free(look->users);
    free(look);
}

void pred_node_watch(ucs_rcache_pred_node_t *node, uint64_t now)
{
    uint64_t begin, last;

    if (!begin_look(node, now, &last)) {
        return;
    }

    begin = ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pred_node_reap(node, UCS_RCACHE_PRED_NODE_SLOTS);
    look_at_all(node, ((last == 0) || (now < last)) ? 0 : (now - last));
    ucs_relaxed_store(&node->shm->watch.cost,
                  ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}
