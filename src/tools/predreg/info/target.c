/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "target.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/launcher.h>
#include <tools/predreg/run/find.h>

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The loader reads libraries, perhaps from a slow file system, ms */
#define LIST_TIMEOUT 30000

/* From the bottom up, so that each finds those before it loaded */
static const char *const names[PREDREG_TARGET_MAX] = {
    "libucm.so.0", "libucs.so.0", "libuct.so.0", "libucp.so.0"
};

typedef enum { ELF_NONE, ELF_STATIC, ELF_DYNAMIC } elf_kind_t;


/* Whether a program is for the same kind of processor and word as this one, by
 * the header of its file: the headers of others cannot be read as ElfW() */
static int is_native(const ElfW(Ehdr) *header)
{
    ElfW(Ehdr) own;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int is = (fd >= 0) && (pread(fd, &own, sizeof(own), 0) == sizeof(own)) &&
             !memcmp(header->e_ident, own.e_ident, EI_DATA + 1) &&
             (header->e_machine == own.e_machine) &&
             (header->e_phentsize == sizeof(ElfW(Phdr)));

    if (fd >= 0) {
        close(fd);
    }
    return is;
}

/* Read the path of the loader. @return NULL if there is none */
static char *read_loader(int fd, const ElfW(Ehdr) *header)
{
    char path[PATH_MAX] = "";
    ElfW(Phdr) segment;
    unsigned i;

    for (i = 0; i < header->e_phnum; ++i) {
        if (pread(fd, &segment, sizeof(segment),
                  header->e_phoff + (i * sizeof(segment))) !=
            sizeof(segment)) {
            return NULL;
        }

        if ((segment.p_type == PT_INTERP) &&
            (segment.p_filesz < sizeof(path)) &&
            (pread(fd, path, segment.p_filesz, segment.p_offset) > 0)) {
            return predreg_format("%s", path);
        }
    }

    return NULL;
}

/* Look at a file. @param [out] loader_p  Its dynamic loader; NULL: it has none */
static elf_kind_t find_loader(const char *path, char **loader_p)
{
    elf_kind_t kind = ELF_NONE;
    int fd                  = open(path, O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;

    *loader_p = NULL;
    if (fd < 0) {
        return kind;
    }

    if ((pread(fd, &header, sizeof(header), 0) == sizeof(header)) &&
        !memcmp(header.e_ident, ELFMAG, SELFMAG) && is_native(&header)) {
        *loader_p = read_loader(fd, &header);
        kind      = (*loader_p == NULL) ? ELF_STATIC :
                                          ELF_DYNAMIC;
    }

    close(fd);
    return kind;
}

/* Whether a program gets rights that its user lacks */
static int is_privileged(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return 0;
    }

    return ((st.st_mode & S_ISUID) && (st.st_uid != geteuid())) ||
           ((st.st_mode & S_ISGID) && (st.st_gid != getegid())) ||
           ((geteuid() != 0) &&
            (getxattr(path, "security.capability", NULL, 0) > 0));
}

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

    target->is_privileged = is_privileged(target->path);
    if (predreg_launcher_by_name(name) != PREDREG_LAUNCHER_NONE) {
        target->kind = PREDREG_TARGET_LAUNCHER;
        take_default(target);
        return 0;
    }

    switch (find_loader(target->path, &loader)) {
    case ELF_DYNAMIC:
        list_libraries(loader, target);
        break;
    case ELF_STATIC:
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
