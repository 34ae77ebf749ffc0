/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cgroup.h"
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

/* How long it takes to read a page back from swap, ns: a read of 4 KiB from a solid-state
 * disk. Compressed memory takes a tenth of that, a rotating disk 50 times as long */
#define PAGE_TIME 100000

/* The node has little memory left if less than this part of it, 1/10, is available */
#define LITTLE_SHARE 10


/* Find out how long processes have waited so far. @return 0 if the source does not tell */
static int read_waited(const ucs_rcache_pred_pressure_source_t *source, uint64_t *waited_p)
{
    uint64_t count;

    if (ucs_scan_file(source->file, source->format, &count) != 1) {
        return 0;
    }

    *waited_p = count * source->unit;
    return 1;
}

/* @return whether the source tells how long processes have waited */
static int use_waits(ucs_rcache_pred_pressure_source_t *source)
{
    source->format = WAITED;
    source->unit   = NSEC_PER_USEC;
    return read_waited(source, &source->waited);
}

/* Count pages read back from swap: the kernel does not tell how long processes wait */
static void use_pages(ucs_rcache_pred_pressure_source_t *source, const char *format)
{
    source->format = format;
    source->unit   = PAGE_TIME;
    source->waited = 0;
    (void)read_waited(source, &source->waited);
}

void ucs_rcache_pred_pressure_init(ucs_rcache_pred_pressure_t *pressure,
                                   const char *root, uint64_t now)
{
    ucs_rcache_pred_pressure_source_t *group =
        &pressure->sources[UCS_RCACHE_PRED_PRESSURE_GROUP];
    ucs_rcache_pred_pressure_source_t *node  =
        &pressure->sources[UCS_RCACHE_PRED_PRESSURE_NODE];
    char stat[PATH_MAX];
    int version;

    pressure->root = root;
    pressure->time = now;
    version        = ucs_rcache_pred_cgroup_pressure(root, group->file, stat);
    if (!use_waits(group)) {
        strcpy(group->file, stat);
        use_pages(group, (version == 1) ? "total_pgmajfault %" SCNu64 :
                                          "pgmajfault %" SCNu64);
    }

    snprintf(node->file, PATH_MAX, "%s/proc/pressure/memory", root);
    if (!use_waits(node)) {
        snprintf(node->file, PATH_MAX, "%s/proc/vmstat", root);
        use_pages(node, "pswpin %" SCNu64);
    }
}

/* @return whether the node has little memory left */
static int is_little_left(const char *root)
{
    char file[PATH_MAX];
    uint64_t total, available;

    snprintf(file, sizeof(file), "%s/proc/meminfo", root);
    return (ucs_scan_file(file, "MemTotal: %" SCNu64, &total) == 1) &&
           (ucs_scan_file(file, "MemAvailable: %" SCNu64, &available) == 1) &&
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

    for (i = 0; i < UCS_RCACHE_PRED_PRESSURE_LAST; ++i) {
        source = &pressure->sources[i];
        if (!read_waited(source, &waited)) {
            continue;
        }

        more           = (waited > source->waited) ? (waited - source->waited) : 0;
        source->waited = waited;
        if ((more > 0) && ((i == UCS_RCACHE_PRED_PRESSURE_GROUP) ||
                           is_little_left(pressure->root))) {
            part = ucs_max(part, more / elapsed);
        }
    }
    pressure->time = now;
    return ucs_min(part, 1.);
}

int ucs_rcache_pred_pressure_can_gain(const char *root)
{
    char file[PATH_MAX];
    uint64_t left;

    snprintf(file, sizeof(file), "%s/proc/meminfo", root);
    return (ucs_scan_file(file, "SwapFree: %" SCNu64, &left) == 1) && (left > 0) &&
           ucs_rcache_pred_cgroup_can_swap(root);
}

uint64_t ucs_rcache_pred_pressure_faults(void)
{
    struct rusage usage;

    return (getrusage(RUSAGE_THREAD, &usage) == 0) ? usage.ru_majflt : 0;
}
