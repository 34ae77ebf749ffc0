/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "target.h"
#include "elf_file.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/launcher.h>
#include <tools/predreg/run/find_command.h>

#include <stdlib.h>
#include <string.h>

/* The loader reads libraries, perhaps from a slow file system, ms */
#define LIST_TIMEOUT 30000

/* From the bottom up, so that each finds those before it loaded */
static const char *const names[PREDREG_TARGET_MAX] = {
    "libucm.so.0", "libucs.so.0", "libuct.so.0", "libucp.so.0"
};


/* Without knowing better: what a plug-in finds that asks for UCP */
static void take_default(predreg_target_t *target)
{
    target->libraries[0] = predreg_format("%s", names[PREDREG_TARGET_MAX - 1]);
}

/* Read a line such as "libucp.so.0 => /lib/libucp.so.0 (0x...)".
 * @return the path; it is NULL if the line is about another library, and empty
 * if the library is not found */
static char *read_line(char *line, const char *name)
{
    size_t length = strlen(name);
    char *path, *end;

    line += strspn(line, " \t");
    if (strncmp(line, name, length) || strncmp(line + length, " => ", 4)) {
        return NULL;
    }

    path = line + length + 4;
    if (*path != '/') {
        return "";
    }

    end = strrchr(path, '(');
    return predreg_format("%.*s",
                          (int)((end == NULL) ? strlen(path) :
                                                (size_t)(end - path - 1)),
                          path);
}

void predreg_target_read_list(char *list, predreg_target_t *target)
{
    char *found[PREDREG_TARGET_MAX] = {NULL};
    unsigned count                  = 0;
    char *line, *path, *saveptr;
    unsigned i;

    for (line = strtok_r(list, "\n", &saveptr); line != NULL;
         line = strtok_r(NULL, "\n", &saveptr)) {
        for (i = 0; i < PREDREG_TARGET_MAX; ++i) {
            path = read_line(line, names[i]);
            if (path == NULL) {
                continue;
            }

            if (*path == '\0') {
                free(target->missing);
                target->missing = predreg_format("%s", names[i]);
            } else {
                free(found[i]);
                found[i] = path;
            }
        }
    }

    for (i = 0; i < PREDREG_TARGET_MAX; ++i) {
        if (found[i] != NULL) {
            target->libraries[count++] = found[i];
        }
    }

    /* UCM and UCS alone are no UCX that a program communicates with */
    target->kind = ((found[2] != NULL) || (found[3] != NULL) ||
                    (target->missing != NULL)) ?
                   PREDREG_TARGET_LINKED : PREDREG_TARGET_PLUGIN;
    if (target->kind == PREDREG_TARGET_PLUGIN) {
        while (count > 0) {
            free(target->libraries[--count]);
            target->libraries[count] = NULL;
        }
        take_default(target);
    }
}

/* Ask the program's own dynamic loader, which reads the program and its
 * libraries, and runs nothing of them */
static void list_libraries(const char *loader, predreg_target_t *target)
{
    const char *argv[]            = {loader, "--list", target->path, NULL};
    predreg_child_params_t params = {.argv = argv, .timeout = LIST_TIMEOUT};
    predreg_child_t child;

    predreg_child_run(&params, &child);
    predreg_target_read_list(child.printed, target);
    predreg_child_cleanup(&child);
}

int predreg_target_find(const char *name, predreg_target_t *target)
{
    char *loader = NULL;

    memset(target, 0, sizeof(*target));
    if (name == NULL) {
        take_default(target);
        return 0;
    }

    target->path = predreg_find_command(name);
    if (target->path == NULL) {
        return -1;
    }

    target->is_privileged = predreg_file_is_privileged(target->path);
    if (predreg_launcher_by_name(name) != PREDREG_LAUNCHER_NONE) {
        target->kind = PREDREG_TARGET_LAUNCHER;
        take_default(target);
        return 0;
    }

    switch (predreg_elf_loader(target->path, &loader)) {
    case PREDREG_ELF_DYNAMIC:
        list_libraries(loader, target);
        break;
    case PREDREG_ELF_STATIC:
        target->kind = PREDREG_TARGET_STATIC;
        break;
    default:
        target->kind = PREDREG_TARGET_SCRIPT;
        take_default(target);
        break;
    }

    free(loader);
    return 0;
}

void predreg_target_cleanup(predreg_target_t *target)
{
    unsigned i;

    for (i = 0; i < PREDREG_TARGET_MAX; ++i) {
        free(target->libraries[i]);
    }
    free(target->path);
    free(target->missing);
}
