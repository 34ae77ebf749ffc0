/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cgroup.h"

#include <ucs/sys/math.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>


/* Where groups of a version are, and what limits their memory */
typedef struct {
    const char *folder;
    const char *controller; /* NULL: of version 2, which has no list of them */
    const char *limits[3];  /* Names of files, up to a NULL */
} version_t;

static const version_t versions[] = {
    /* Above "high" a group has its memory taken away, and hardly runs */
    {"/sys/fs/cgroup", NULL, {"memory.max", "memory.high"}},
    {"/sys/fs/cgroup/memory", "memory", {"memory.limit_in_bytes"}}
};


/* Whether a word is in a list that has commas between its words */
static int has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    const char *end;

    for (;; list = end + 1) {
        end = list + strcspn(list, ",");
        if (((size_t)(end - list) == length) &&
            !strncmp(list, word, length)) {
            return 1;
        }
        if (*end == '\0') {
            return 0;
        }
    }
}

/* Take a line of /proc/self/cgroup apart: "number:controllers:path".
 * @return the path, if it is that of a group of this version */
static const char *get_path(char *line, const version_t *version)
{
    char *list = strchr(line, ':');
    char *path = (list == NULL) ? NULL : strchr(list + 1, ':');

    if (path == NULL) {
        return NULL;
    }

    *list++                   = '\0';
    *path++                   = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (version->controller == NULL) {
        return (!strcmp(line, "0") && (list[0] == '\0')) ? path : NULL;
    }
    return has_word(list, version->controller) ? path : NULL;
}

/* Find this process's group of a version. @return 0 if there is none */
static int find_group(const char *root, const version_t *version,
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
        path = get_path(line, version);
    }
    if (path != NULL) {
        strcpy(group, path); /* Shorter than the line */
    }
    fclose(stream);
    return path != NULL;
}

/* @return UINT64_MAX if there is no file, or no number in it ("max") */
static uint64_t read_limit(const char *file)
{
    uint64_t limit = UINT64_MAX;
    uint64_t value;
    FILE *stream;

    stream = fopen(file, "re");
    if (stream == NULL) {
        return limit;
    }

    if (fscanf(stream, "%" SCNu64, &value) == 1) {
        limit = value;
    }
    fclose(stream);
    return limit;
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

uint64_t ucs_rcache_pred_cgroup_limit(const char *root)
{
    uint64_t limit = UINT64_MAX;
    char group[PATH_MAX];
    uint64_t value;
    char *end;
    size_t i;

    for (i = 0; i < ucs_static_array_size(versions); ++i) {
        if (!find_group(root, &versions[i], group)) {
            continue;
        }

        /* In a container the path may be that of the host, while what is
         * mounted is the container's own group: the one at the top is looked
         * at, too */
        do {
            value = limit_of(root, &versions[i], group);
            limit = ucs_min(limit, value);
            end   = strrchr(group, '/');
            if (end != NULL) {
                *end = '\0';
            }
        } while (end != NULL);
    }
    return limit;
}

void ucs_rcache_pred_cgroup_find(const char *root, const char *name,
                                 char file[PATH_MAX])
{
    char group[PATH_MAX];

    if (!find_group(root, &versions[0], group) ||
        (snprintf(file, PATH_MAX, "%s%s%s/%s", root, versions[0].folder, group,
                  name) >= PATH_MAX)) {
        file[0] = '\0';
    }
}
