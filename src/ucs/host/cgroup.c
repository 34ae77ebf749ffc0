/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cgroup.h"

#include <ucs/base/number.h>
#include <ucs/sys/math.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From here on a limit on memory is none, bytes: version 1 says the largest number of pages
 * that it counts where there is no limit */
#define NO_LIMIT (1ull << 62)

/* A group has nearly reached its limit on memory if less than this part of the limit, 1/10,
 * is left */
#define FULL_SHARE 10


/* Where the groups of one version and controller are, and the files of their
 * limits */
typedef struct {
    const char *folder;
    const char *controller; /* NULL: version 2, whose groups have all
                               controllers */
    const char *limits[3];  /* Names of files of limits on memory, up to a NULL */
    const char *swap[2];    /* Names of the files of what a group has in swap, and of the
                               limit on that; version 1 counts memory in both */
    const char *used;       /* Name of the file that has the used memory of a group */
    const char *unified;    /* Where the groups of version 2 are beside these */
    const char *quota[3];   /* Names of the files of the quota, up to a NULL:
                               one file with time and period, us, or a file
                               for the time and another one for the period */
    const char *accounting; /* Controller whose groups count processor time;
                               NULL: the groups with the quota do */
    const char *usage;      /* Path of the file of the used processor time; %s:
                               the group */
    unsigned   usage_nsec;  /* Unit of that time, ns */
} version_t;

static const version_t memory_versions[] = {
    /* Above "high" the kernel takes memory away from a group, which hardly runs
     * then */
    {"/sys/fs/cgroup", NULL, .limits = {"memory.max", "memory.high"},
     .swap = {"memory.swap.current", "memory.swap.max"},
     .used = "memory.current", .unified = "/sys/fs/cgroup"},
    {"/sys/fs/cgroup/memory", "memory", .limits = {"memory.limit_in_bytes"},
     .swap = {"memory.memsw.usage_in_bytes", "memory.memsw.limit_in_bytes"},
     .used = "memory.usage_in_bytes", .unified = "/sys/fs/cgroup/unified"}
};

static const version_t cpu_versions[] = {
    {"/sys/fs/cgroup", NULL, .quota = {"cpu.max"},
     .usage = "/sys/fs/cgroup%s/cpu.stat", .usage_nsec = 1000},
    {"/sys/fs/cgroup/cpu", "cpu",
     .quota = {"cpu.cfs_quota_us", "cpu.cfs_period_us"}, .accounting = "cpuacct",
     .usage = "/sys/fs/cgroup/cpuacct%s/cpuacct.usage", .usage_nsec = 1}
};

/* @return whether a list with commas, which is cut into words, has a word */
static int has_word(char *list, const char *word)
{
    const char *first;

    while ((first = strsep(&list, ",")) != NULL) {
        if (!strcmp(first, word)) {
            return 1;
        }
    }
    return 0;
}

/* Take a line of /proc/self/cgroup apart: "number:controllers:path". @return
 * the path, if the line is of the controller, or of version 2 where the
 * controller is NULL; else NULL */
static const char *get_path(char *line, const char *controller)
{
    char *list = strchr(line, ':');
    char *path = (list == NULL) ? NULL : strchr(list + 1, ':');

    if (path == NULL) {
        return NULL;
    }

    *list++                   = '\0';
    *path++                   = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (controller == NULL) {
        return (!strcmp(line, "0") && (list[0] == '\0')) ? path : NULL;
    }
    return has_word(list, controller) ? path : NULL;
}

/* Find this process's group of a controller, or of version 2 if the controller
 * is NULL. @return 0 if there is no such group */
static int find_group(const char *root, const char *controller,
                      char group[PATH_MAX])
{
    char line[PATH_MAX];
    const char *path = NULL;
    FILE *stream;

    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    stream = fopen(line, "re");
    if (stream == NULL) {
        return 0;
    }

    while ((path == NULL) && (fgets(line, sizeof(line), stream) != NULL)) {
        path = get_path(line, controller);
    }
    if (path != NULL) {
        strcpy(group, path); /* Shorter than the line */
    }
    fclose(stream);
    return path != NULL;
}

/* @return whether a path is that of a group, or of a group below */
static int is_within(const char *path, const char *group)
{
    size_t length = strlen(group);

    return !strncmp(path, group, length) &&
           ((path[length] == '/') || (path[length] == '\0'));
}

/* Put a path together. A path that is too long becomes empty: there is no such file */
static void concatenate(char path[PATH_MAX], const char *first, const char *second,
                        const char *third, const char *fourth)
{
    if (snprintf(path, PATH_MAX, "%s%s%s%s", first, second, third, fourth) >= PATH_MAX) {
        path[0] = '\0';
    }
}

/* @return the limit in a file; UINT64_MAX if there is no file, or no number in
 * it ("max") */
static uint64_t read_limit(const char *file)
{
    uint64_t limit;

    return (ucs_scan_file(file, "%" SCNu64, &limit) == 1) ? limit : UINT64_MAX;
}

static uint64_t limit_of(const char *root, const version_t *version,
                         const char *group)
{
    uint64_t limit = UINT64_MAX;
    char file[2 * PATH_MAX];
    const char *const *name;
    uint64_t value;

    for (name = version->limits; *name != NULL; ++name) {
        snprintf(file, sizeof(file), "%s%s%s/%s", root, version->folder, group,
                 *name);
        value = read_limit(file);
        limit = ucs_min(limit, value);
    }
    return limit;
}

/* Replace a group by the group above; the last one is the group at the top, with
 * an empty path, which is worth a look, too: in a container the path may be the
 * host's while the container's own group is mounted at the top. @return 0 if there
 * is no group above */
static int go_up(char *group)
{
    char *end = strrchr(group, '/');

    if (end == NULL) {
        return 0;
    }

    *end = '\0';
    return 1;
}

uint64_t ucs_rcache_pred_cgroup_limit(const char *root)
{
    uint64_t limit = UINT64_MAX;
    char group[PATH_MAX];
    uint64_t value;
    size_t i;

    for (i = 0; i < ucs_static_array_size(memory_versions); ++i) {
        if (!find_group(root, memory_versions[i].controller, group)) {
            continue;
        }

        do {
            value = limit_of(root, &memory_versions[i], group);
            limit = ucs_min(limit, value);
        } while (go_up(group));
    }
    return limit;
}

/* @return how many processors a group may use on average, by its quota;
 *         INFINITY if the group has no quota ("max", or -1) */
static double quota_of(const char *root, const version_t *version, const char *group)
{
    double values[2] = {-1, -1}; /* Time and period */
    unsigned count   = 0;
    char file[2 * PATH_MAX];
    const char *const *name;

    for (name = version->quota; (*name != NULL) && (count < 2); ++name) {
        snprintf(file, sizeof(file), "%s%s%s/%s", root, version->folder, group,
                 *name);
        count += ucs_scan_file(file, "%lf %lf", &values[count], &values[1]);
    }

    return ((values[0] > 0) && (values[1] > 0)) ? (values[0] / values[1]) : INFINITY;
}

/* Find the file with the processor time of the processes that share a quota.
 * Another hierarchy of groups may count that time. If the group of this process
 * in that hierarchy has the same path as the group with the quota, or is below
 * that path, the file is the one of that path; else the file is the one of this
 * process's group there, since nothing better is known. */
static void find_usage(const char *root, const version_t *version, const char *group,
                       char file[PATH_MAX])
{
    size_t length = strlen(group);
    char counted[PATH_MAX];
    int used;

    file[0] = '\0';
    if ((version->accounting == NULL) || (length == 0)) {
        strcpy(counted, group);
    } else if (!find_group(root, version->accounting, counted)) {
        return;
    } else if (is_within(counted, group)) {
        counted[length] = '\0';
    }

    used = snprintf(file, PATH_MAX, "%s", root);
    snprintf(file + used, PATH_MAX - used, version->usage, counted);
}

void ucs_rcache_pred_cgroup_quota(const char *root, ucs_rcache_pred_cgroup_quota_t *quota)
{
    const version_t *version;
    char group[PATH_MAX];
    double cpus;
    size_t i;

    *quota = (ucs_rcache_pred_cgroup_quota_t){.cpus = INFINITY};
    for (i = 0; i < ucs_static_array_size(cpu_versions); ++i) {
        version = &cpu_versions[i];
        if (!find_group(root, version->controller, group)) {
            continue;
        }

        do {
            cpus = quota_of(root, version, group);
            if (cpus >= quota->cpus) {
                continue;
            }

            quota->cpus       = cpus;
            quota->usage_nsec = version->usage_nsec;
            find_usage(root, version, group, quota->usage);
        } while (go_up(group));
    }
}

uint64_t ucs_rcache_pred_cgroup_usage(const ucs_rcache_pred_cgroup_quota_t *quota)
{
    uint64_t value;

    /* The file of version 1 has a number alone */
    return ((ucs_scan_file(quota->usage, "usage_usec %" SCNu64, &value) == 1) ||
            (ucs_scan_file(quota->usage, "%" SCNu64, &value) == 1)) ?
           (value * quota->usage_nsec) : UINT64_MAX;
}

void ucs_rcache_pred_cgroup_find(const char *root, const char *name,
                                 char file[PATH_MAX])
{
    const version_t *version = &memory_versions[0];
    char group[PATH_MAX];

    if (!find_group(root, version->controller, group) ||
        (snprintf(file, PATH_MAX, "%s%s%s/%s", root, version->folder, group,
                  name) >= PATH_MAX)) {
        file[0] = '\0';
    }
}

/* Fill in a group with a limit on memory */
static void set_memory(const char *root, const version_t *version, const char *group,
                       ucs_rcache_pred_cgroup_memory_t *memory)
{
    const char *waiting = group;
    char other[PATH_MAX];

    /* The group of version 2 in which this process is, unless that is this group, or below */
    if ((version->controller != NULL) && find_group(root, NULL, other) &&
        !is_within(other, group)) {
        waiting = other;
    }

    memory->version = (version->controller == NULL) ? 2 : 1;
    concatenate(memory->folder, root, version->folder, group, "");
    concatenate(memory->waits, root, version->unified, waiting, "/memory.pressure");
}

unsigned ucs_rcache_pred_cgroup_find_memory(const char *root,
                                            ucs_rcache_pred_cgroup_memory_t *groups,
                                            unsigned max)
{
    unsigned count = 0;
    char group[PATH_MAX];
    size_t i;

    for (i = 0; i < ucs_static_array_size(memory_versions); ++i) {
        if (!find_group(root, memory_versions[i].controller, group)) {
            continue;
        }

        do {
            if ((count < max) &&
                (limit_of(root, &memory_versions[i], group) < NO_LIMIT)) {
                set_memory(root, &memory_versions[i], group, &groups[count++]);
            }
        } while (go_up(group));
    }
    return count;
}

/* @return the number in a file of a group, see read_limit() */
static uint64_t read_of(const ucs_rcache_pred_cgroup_memory_t *group, const char *name)
{
    char file[PATH_MAX];

    concatenate(file, group->folder, "/", name, "");
    return read_limit(file);
}

int ucs_rcache_pred_cgroup_is_full(const ucs_rcache_pred_cgroup_memory_t *group)
{
    const version_t *version = &memory_versions[2 - group->version];
    uint64_t used            = read_of(group, version->used);
    uint64_t limit           = UINT64_MAX;
    const char *const *name;
    uint64_t value;

    for (name = version->limits; *name != NULL; ++name) {
        value = read_of(group, *name);
        limit = ucs_min(limit, value);
    }
    return (limit < NO_LIMIT) && (used != UINT64_MAX) &&
           (used >= limit - (limit / FULL_SHARE));
}

int ucs_rcache_pred_cgroup_can_swap(const ucs_rcache_pred_cgroup_memory_t *group)
{
    const version_t *version = &memory_versions[2 - group->version];
    uint64_t used            = read_of(group, version->swap[0]);
    uint64_t limit           = read_of(group, version->swap[1]);

    if ((group->version == 1) && (limit <= read_of(group, version->limits[0]))) {
        return 0; /* The limit on memory and swap together leaves nothing to swap */
    }

    return (limit >= NO_LIMIT) || (used == UINT64_MAX) || (used < limit);
}


/* Processor time that all threads of the group but the helper's have used so far, ns;
 * UINT64_MAX if the system does not tell */
static uint64_t used_by_others(const ucs_rcache_pred_quota_t *quota, uint64_t busy)
{
    uint64_t used = ucs_rcache_pred_cgroup_usage(&quota->group);

    return ((used == UINT64_MAX) || (used < busy)) ? UINT64_MAX : (used - busy);
}

void ucs_rcache_pred_quota_init(ucs_rcache_pred_quota_t *quota, const char *root,
                                uint64_t now)
{
    ucs_rcache_pred_cgroup_quota(root, &quota->group);
    quota->time = now;
    quota->used = isinf(quota->group.cpus) ? UINT64_MAX : used_by_others(quota, 0);
}

double ucs_rcache_pred_quota_look(ucs_rcache_pred_quota_t *quota, uint64_t busy,
                                  uint64_t now)
{
    double left = 0;
    uint64_t used;

    if (isinf(quota->group.cpus)) {
        return INFINITY;
    }

    used = used_by_others(quota, busy);
    if ((used != UINT64_MAX) && (quota->used != UINT64_MAX) && (now > quota->time) &&
        (used >= quota->used)) {
        left = quota->group.cpus -
               ((double)(used - quota->used) / (now - quota->time));
    }
    quota->time = now;
    quota->used = used;
    return left;
}
