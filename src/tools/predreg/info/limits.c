/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/command.h>
#include <ucs/base/number.h>
#include <ucs/host/cgroup.h>
#include <ucs/host/pressure.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/** @file limits.c
 *
 * What the kernel allows a process besides locked memory: mappings, objects of RDMA, swap.
 */

/* How many levels of control groups are looked at */
#define MAX_LEVELS 16


/* @return the limit of the nearest group that has one, from a line such as "mlx5_0
 * hca_handle=2 hca_object=2000"; 0: there is none, and the files have "max" in place of
 * the number */
static unsigned long find_objects(const char *root)
{
    unsigned long objects = 0;
    char group[PATH_MAX];
    char *folder, *file;
    unsigned i;

    ucs_rcache_pred_cgroup_find(root, "", group);
    folder = predreg_format("%s", group);
    for (i = 0; (i < MAX_LEVELS) && (objects == 0); ++i) {
        file = predreg_format("%s/rdma.max", folder);
        ucs_scan_file(file, "%*s hca_handle=%*s hca_object=%lu", &objects);
        folder = predreg_append(folder, "/..");
        free(file);
    }

    free(folder);
    return objects;
}

void predreg_host_find_limits(const char *root, predreg_host_t *host)
{
    char *maps     = predreg_format("%s/proc/sys/vm/max_map_count", root);
    char *pressure = predreg_format("%s/proc/pressure/memory", root);
    ucs_rcache_pred_pressure_t memory;

    ucs_scan_file(maps, "%lu", &host->max_mappings);
    ucs_rcache_pred_pressure_init(&memory, root, 0);
    host->no_swap     = !ucs_rcache_pred_pressure_can_gain(&memory);
    host->no_pressure = (access(pressure, R_OK) != 0);
    host->max_objects = find_objects(root);
    free(pressure);
    free(maps);
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
