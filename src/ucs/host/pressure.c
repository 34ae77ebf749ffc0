/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pressure.h"

#include <ucs/base/number.h>
#include <ucs/sys/math.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define NSEC_PER_USEC 1000

/* What the kernel writes of how long processes have waited, microseconds. The averages are
 * skipped as words: a number would follow the decimal point of the program's locale */
#define WAITED "some avg10=%*s avg60=%*s avg300=%*s total=%" SCNu64

/* What the node has of memory and swap */
#define MEMINFO "/proc/meminfo"

/* How long it takes to read a page back from swap, ns: a read of 4 KiB from a solid-state
 * disk. Compressed memory takes a tenth of that, a rotating disk 50 times as long */
#define PAGE_TIME 100000

/* The node has little memory left if less than this part of it, 1/10, is available */
#define LITTLE_SHARE 10


/* Read from the file of a source how long processes have waited for memory since the system
 * started, ns. @return whether the file has such a number */
static int read_waited(const ucs_rcache_pred_pressure_source_t *source, uint64_t *waited_p)
{
    uint64_t count;

    if (ucs_scan_file(source->file, "", source->format, &count) != 1) {
        return 0;
    }

    *waited_p = count * source->unit;
    return 1;
}

/* Have a source read this file. @return whether the file has such a line */
static int use(ucs_rcache_pred_pressure_source_t *source, const char *folder,
               const char *name, const char *format, uint64_t unit)
{
    source->format = format;
    source->unit   = unit;
    source->waited = 0;
    if (strlen(folder) + strlen(name) >= PATH_MAX) {
        source->file[0] = '\0';
        return 0;
    }

    strcpy(source->file, folder);
    strcat(source->file, name);
    return read_waited(source, &source->waited);
}

/* Watch a group. Without PSI its pages count that were read back from swap; or, before
 * Linux 5.9, from anywhere */
static void watch_group(ucs_rcache_pred_pressure_source_t *source,
                        const ucs_rcache_pred_cgroup_memory_t *group)
{
    static const char *const formats[] = {
        "total_workingset_refault_anon %" SCNu64, "workingset_refault_anon %" SCNu64,
        "total_pgmajfault %" SCNu64, "pgmajfault %" SCNu64
    };
    int is_found = use(source, group->waits, "", WAITED, NSEC_PER_USEC);
    unsigned i;

    for (i = 0; !is_found && (i < ucs_static_array_size(formats)); ++i) {
        is_found = use(source, group->folder, "/memory.stat", formats[i], PAGE_TIME);
    }
}

void ucs_rcache_pred_pressure_init(ucs_rcache_pred_pressure_t *pressure,
                                   const char *root, uint64_t now)
{
    ucs_rcache_pred_pressure_source_t *node;
    unsigned i;

    pressure->root       = root;
    pressure->time       = now;
    pressure->num_groups =
            ucs_rcache_pred_cgroup_find_memory(root, pressure->groups,
                                               UCS_RCACHE_PRED_PRESSURE_GROUPS);
    for (i = 0; i < pressure->num_groups; ++i) {
        watch_group(&pressure->sources[i], &pressure->groups[i]);
    }

    node = &pressure->sources[pressure->num_groups];
    if (!use(node, root, "/proc/pressure/memory", WAITED, NSEC_PER_USEC)) {
        (void)use(node, root, "/proc/vmstat", "pswpin %" SCNu64, PAGE_TIME);
    }
}

/* @return whether the node has little memory left */
static int is_little_left(const char *root)
{
    uint64_t total, available;

    return (ucs_scan_file(root, MEMINFO, "MemTotal: %" SCNu64, &total) == 1) &&
           (ucs_scan_file(root, MEMINFO, "MemAvailable: %" SCNu64, &available) == 1) &&
           (available < total / LITTLE_SHARE);
}

double ucs_rcache_pred_pressure_look(ucs_rcache_pred_pressure_t *pressure,
                                     uint64_t now)
{
    double elapsed = (now > pressure->time) ? (now - pressure->time) : INFINITY;
    double part    = 0;
    ucs_rcache_pred_pressure_source_t *source;
    uint64_t waited, more;
    unsigned i;

    for (i = 0; i <= pressure->num_groups; ++i) {
        source = &pressure->sources[i];
        if (!read_waited(source, &waited)) {
            continue;
        }

        more           = (waited > source->waited) ? (waited - source->waited) : 0;
        source->waited = waited;
        if ((more > 0) && ((i < pressure->num_groups) ?
                           ucs_rcache_pred_cgroup_is_full(&pressure->groups[i]) :
                           is_little_left(pressure->root))) {
            part = ucs_max(part, more / elapsed);
        }
    }
    pressure->time = now;
    return ucs_min(part, 1.);
}

int ucs_rcache_pred_pressure_can_gain(const ucs_rcache_pred_pressure_t *pressure)
{
    uint64_t left;
    unsigned i;

    for (i = 0; i < pressure->num_groups; ++i) {
        if (!ucs_rcache_pred_cgroup_can_swap(&pressure->groups[i])) {
            return 0;
        }
    }

    return (ucs_scan_file(pressure->root, MEMINFO, "SwapFree: %" SCNu64, &left) == 1) &&
           (left > 0);
}

uint64_t ucs_rcache_pred_pressure_faults(void *unused)
{
    struct rusage usage;

    return (getrusage(RUSAGE_THREAD, &usage) == 0) ? usage.ru_majflt : 0;
}
