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
    const char *limits[3];  /* Files of limits on memory in the folder of a group, up to a
                               NULL */
    const char *swap[2];    /* Files of what a group has in swap, and of the
                               limit on that; version 1 counts memory in both */
    const char *used;       /* File of the memory that a group uses */
    const char *unified;    /* Where the groups of version 2 are beside these */
    const char *quota[3];   /* Files of the quota, up to a NULL:
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
    {"/sys/fs/cgroup", NULL, .limits = {"/memory.max", "/memory.high"},
     .swap = {"/memory.swap.current", "/memory.swap.max"},
     .used = "/memory.current", .unified = "/sys/fs/cgroup"},
    {"/sys/fs/cgroup/memory", "memory", .limits = {"/memory.limit_in_bytes"},
     .swap = {"/memory.memsw.usage_in_bytes", "/memory.memsw.limit_in_bytes"},
     .used = "/memory.usage_in_bytes", .unified = "/sys/fs/cgroup/unified"}
};

static const version_t cpu_versions[] = {
    {"/sys/fs/cgroup", NULL, .quota = {"/cpu.max"},
     .usage = "/sys/fs/cgroup%s/cpu.stat", .usage_nsec = 1000},
    {"/sys/fs/cgroup/cpu", "cpu",
     .quota = {"/cpu.cfs_quota_us", "/cpu.cfs_period_us"}, .accounting = "cpuacct",
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

/* @return the number in a file of a folder; UINT64_MAX if there is no file, or no number in
 * it ("max") */
static uint64_t read_number(const char *folder, const char *name)
{
    uint64_t number;

    return (ucs_scan_file(folder, name, "%" SCNu64, &number) == 1) ? number : UINT64_MAX;
}

/* @return the limit on memory of the group with a folder; UINT64_MAX: none */
static uint64_t limit_of(const version_t *version, const char *folder)
{
    uint64_t limit = UINT64_MAX;
    const char *const *name;
    uint64_t value;

    for (name = version->limits; *name != NULL; ++name) {
        value = read_number(folder, *name);
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

/* A walk through the groups of this process: of each version, from the process's own group
 * to the one at the top */
typedef struct {
    const char      *root;
    const version_t *next, *end; /* The versions that are still to come */
    const version_t *version;    /* NULL: before the first group */
    char            group[PATH_MAX];
    char            folder[PATH_MAX]; /* Of the group; empty: the path is too long */
} walk_t;

#define WALK(_root, _versions) \
    { \
        .root = _root, \
        .next = _versions, \
        .end  = (_versions) + ucs_static_array_size(_versions) \
    }

/* @return whether there is one more group */
static int next_group(walk_t *walk)
{
    int is_found = (walk->version != NULL) && go_up(walk->group);

    while (!is_found && (walk->next < walk->end)) {
        walk->version = walk->next++;
        is_found      = find_group(walk->root, walk->version->controller, walk->group);
    }

    if (is_found) {
        concatenate(walk->folder, walk->root, walk->version->folder, walk->group, "");
    }
    return is_found;
}

uint64_t ucs_rcache_pred_cgroup_limit(const char *root)
{
    walk_t walk    = WALK(root, memory_versions);
    uint64_t limit = UINT64_MAX;
    uint64_t value;

    while (next_group(&walk)) {
        value = limit_of(walk.version, walk.folder);
        limit = ucs_min(limit, value);
    }
    return limit;
}

/* @return how many processors the group with a folder may use on average, by its quota;
 *         INFINITY if the group has no quota ("max", or -1) */
static double quota_of(const version_t *version, const char *folder)
{
    double values[2] = {-1, -1}; /* Time and period */
    unsigned count   = 0;
    const char *const *name;

    for (name = version->quota; (*name != NULL) && (count < 2); ++name) {
        count += ucs_scan_file(folder, *name, "%lf %lf", &values[count], &values[1]);
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
    walk_t walk = WALK(root, cpu_versions);
    double cpus;

    *quota = (ucs_rcache_pred_cgroup_quota_t){.cpus = INFINITY};
    while (next_group(&walk)) {
        cpus = quota_of(walk.version, walk.folder);
        if (cpus < quota->cpus) {
            quota->cpus       = cpus;
            quota->usage_nsec = walk.version->usage_nsec;
            find_usage(root, walk.version, walk.group, quota->usage);
        }
    }
}

uint64_t ucs_rcache_pred_cgroup_usage(const ucs_rcache_pred_cgroup_quota_t *quota)
{
    uint64_t value;

    /* The file of version 1 has a number alone */
    return ((ucs_scan_file(quota->usage, "", "usage_usec %" SCNu64, &value) == 1) ||
            (ucs_scan_file(quota->usage, "", "%" SCNu64, &value) == 1)) ?
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

/* Fill in the version and the paths of the group that the walk has reached. The group has a
 * limit on memory */
static void set_memory(const walk_t *walk, ucs_rcache_pred_cgroup_memory_t *memory)
{
    const version_t *version = walk->version;
    const char *waiting      = walk->group;
    char other[PATH_MAX];

    /* Only version 2 tells waits: where the process's group of version 2 is not within the
     * path of this group, take the waits of the former */
    if ((version->controller != NULL) && find_group(walk->root, NULL, other) &&
        !is_within(other, walk->group)) {
        waiting = other;
    }

    memory->version = (version->controller == NULL) ? 2 : 1;
    strcpy(memory->folder, walk->folder);
    concatenate(memory->waits, walk->root, version->unified, waiting, "/memory.pressure");
}

unsigned ucs_rcache_pred_cgroup_find_memory(const char *root,
                                            ucs_rcache_pred_cgroup_memory_t *groups,
                                            unsigned max)
{
    walk_t walk    = WALK(root, memory_versions);
    unsigned count = 0;

    while ((count < max) && next_group(&walk)) {
        if (limit_of(walk.version, walk.folder) < NO_LIMIT) {
            set_memory(&walk, &groups[count++]);
        }
    }
    return count;
}

int ucs_rcache_pred_cgroup_is_full(const ucs_rcache_pred_cgroup_memory_t *group)
{
    const version_t *version = &memory_versions[2 - group->version];
    uint64_t used            = read_number(group->folder, version->used);
    uint64_t limit           = limit_of(version, group->folder);

    return (limit < NO_LIMIT) && (used != UINT64_MAX) &&
           (used >= limit - (limit / FULL_SHARE));
}

int ucs_rcache_pred_cgroup_can_swap(const ucs_rcache_pred_cgroup_memory_t *group)
{
    const version_t *version = &memory_versions[2 - group->version];
    uint64_t used            = read_number(group->folder, version->swap[0]);
    uint64_t limit           = read_number(group->folder, version->swap[1]);

    if ((group->version == 1) && (limit <= limit_of(version, group->folder))) {
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
