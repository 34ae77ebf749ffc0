/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "idle.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000ull

/* Room for the line of a processor in /proc/stat, and for the file's name: short, since
 * threads with small stacks read it */
#define LINE_SIZE 512

/* The kernel counts idle time in ticks of USER_HZ, 100 a second: a reading may be wrong by
 * one tick, ns */
#define TICK (NSEC_PER_SEC / 100)


/* Read a line of /proc/stat, "cpu0 user nice system idle iowait ...". @return whether
 * it is that of a processor with such a number */
static int parse_line(const char *line, unsigned *cpu_p, uint64_t *ticks_p)
{
    uint64_t idle, wait;

    /* The sum of all has blanks in place of a number */
    if (!isdigit((unsigned char)line[3]) ||
        (sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, cpu_p, &idle,
                &wait) != 3) ||
        (*cpu_p >= CPU_SETSIZE)) {
        return 0;
    }

    /* While all that is to be run waits for a disk, there is nothing to be run */
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

    /* Other lines come after those of the processors */
    while ((fgets(line, sizeof(line), stream) != NULL) &&
           !strncmp(line, "cpu", 3)) {
        if (parse_line(line, &cpu, &ticks)) {
            times[cpu] = ticks * (NSEC_PER_SEC / ticks_per_sec);
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
    FILE *stream;

    for (cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        cores[cpu] = cpu;
        if (!CPU_ISSET(cpu, cpus)) {
            continue;
        }

        snprintf(path, sizeof(path),
                 "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
                 root, cpu);
        stream = fopen(path, "re");
        if (stream == NULL) {
            continue;
        }

        /* The list, such as "0,64" or "0-1", begins with the first thread of the core */
        if ((fscanf(stream, "%u", &first) == 1) && (first < CPU_SETSIZE)) {
            cores[cpu] = first;
        }
        fclose(stream);
    }
}
