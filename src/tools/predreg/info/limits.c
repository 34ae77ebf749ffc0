/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/command.h>
#include <ucs/base/number.h>
#include <ucs/host/cgroup.h>
#include <ucs/host/lack.h>
#include <ucs/host/pressure.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** @file limits.c
 *
 * What the kernel allows a process besides locked memory: mappings, objects of RDMA, swap.
 */

/* @return how many objects of an RDMA device the process's control groups allow; 0: any
 * number */
static unsigned long find_objects(const char *root)
{
    ucs_rcache_pred_lack_t lack;
    char group[PATH_MAX];

    ucs_rcache_pred_cgroup_find(root, "", group);
    ucs_rcache_pred_lack_objects(group, NULL, &lack);
    return (lack.max == UINT64_MAX) ? 0 : lack.max;
}

void predreg_host_find_limits(const char *root, predreg_host_t *host)
{
    char *pressure = predreg_format("%s/proc/pressure/memory", root);
    ucs_rcache_pred_pressure_t memory;

    ucs_scan_file(root, "/proc/sys/vm/max_map_count", "%lu", &host->max_mappings);
    ucs_rcache_pred_pressure_init(&memory, root, 0);
    host->no_swap     = !ucs_rcache_pred_pressure_can_gain(&memory);
    host->no_pressure = (access(pressure, R_OK) != 0);
    host->max_objects = find_objects(root);
    free(pressure);
}

unsigned long predreg_host_mappings(const char *root, pid_t pid)
{
    char *path          = predreg_format("%s/proc/%d/maps", root, (int)pid);
    FILE *stream        = fopen(path, "re");
    unsigned long count = 0;
    int c;

    while ((stream != NULL) && ((c = getc(stream)) != EOF)) {
        count += (c == '\n');
    }

    if (stream != NULL) {
        fclose(stream);
    }
    free(path);
    return count;
}
