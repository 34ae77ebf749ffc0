/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/command.h>
#include <tools/predreg/run/run.h>
#include <tools/predreg/stat/stat.h>
#include <ucs/node/cpus.h>
#include <uct/ib/predreg/md/memlock.h>

#include <ucs/sys/math.h>

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

/** @file target.c
 *
 * The dynamic loader of a command lists the libraries that the command would load, and
 * does not run the command. The machine is described by files of the kernel and of the
 * distribution.
 */

#define RDMA_DEVICES "/sys/class/infiniband"

/* Time limit of the dynamic loader, ms. It may read libraries from a slow file system */
#define LIST_TIMEOUT 30000

const char *const predreg_ucx_libraries[PREDREG_NUM_LIBRARIES] = {
    "libucm.so.0", "libucs.so.0", "libuct.so.0", "libucp.so.0"
};

typedef enum { ELF_NONE, ELF_STATIC, ELF_DYNAMIC } elf_kind_t;


/* Whether a program is for the same processor and word size as this program, by the
 * header of its file: only then can the file be read with ElfW() */
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

/* Read the path of the program's dynamic loader. @return NULL if the program has none */
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
    int fd          = open(path, O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;

    *loader_p = NULL;
    if (fd < 0) {
        return kind;
    }

    if ((pread(fd, &header, sizeof(header), 0) == sizeof(header)) &&
        !memcmp(header.e_ident, ELFMAG, SELFMAG) && is_native(&header)) {
        *loader_p = read_loader(fd, &header);
        kind      = (*loader_p == NULL) ? ELF_STATIC : ELF_DYNAMIC;
    }

    close(fd);
    return kind;
}

/* @return whether the system gives a program more rights than its user has */
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

/* Take the library that a plug-in of MPI asks for */
static void take_default(predreg_target_t *target)
{
    target->libraries[0] = predreg_format("%s", predreg_ucx_libraries[PREDREG_NUM_LIBRARIES - 1]);
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
    char *found[PREDREG_NUM_LIBRARIES] = {NULL};
    unsigned count                  = 0;
    char *path;
    unsigned i;

    predreg_for_each_word(line, list, "\n") {
        for (i = 0; i < PREDREG_NUM_LIBRARIES; ++i) {
            path = read_line(line, predreg_ucx_libraries[i]);
            if (path == NULL) {
                continue;
            }

            if (*path == '\0') {
                free(target->missing);
                target->missing = predreg_format("%s", predreg_ucx_libraries[i]);
            } else {
                free(found[i]);
                found[i] = path;
            }
        }
    }

    /* A program uses UCX if it is linked with UCT or UCP, the last two libraries */
    target->kind = ((found[2] != NULL) || (found[3] != NULL) ||
                    (target->missing != NULL)) ?
                   PREDREG_TARGET_LINKED : PREDREG_TARGET_PLUGIN;
    for (i = 0; i < PREDREG_NUM_LIBRARIES; ++i) {
        if (target->kind == PREDREG_TARGET_PLUGIN) {
            free(found[i]);
        } else if (found[i] != NULL) {
            target->libraries[count++] = found[i];
        }
    }

    if (target->kind == PREDREG_TARGET_PLUGIN) {
        take_default(target);
    }
}

/* Ask the program's own dynamic loader, which reads the program and its libraries without
 * running them */
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

    for (i = 0; i < PREDREG_NUM_LIBRARIES; ++i) {
        free(target->libraries[i]);
    }
    free(target->path);
    free(target->missing);
}

static void find_kernel(predreg_host_t *host)
{
    struct utsname name;

    if (uname(&name) == 0) {
        snprintf(host->kernel, sizeof(host->kernel), "%.64s %.64s %.64s",
                 name.sysname, name.release, name.machine);
    }
}

/* os-release(5) has variables as a shell reads them */
static void find_distribution(predreg_host_t *host)
{
    FILE *file = fopen("/etc/os-release", "r");
    char line[PREDREG_HOST_TEXT];

    if (file == NULL) {
        file = fopen("/usr/lib/os-release", "r");
    }

    while ((file != NULL) && (fgets(line, sizeof(line), file) != NULL)) {
        if (sscanf(line, "PRETTY_NAME=\"%255[^\"\n]",
                   host->distribution) == 1) {
            break;
        }
    }

    if (file != NULL) {
        fclose(file);
    }
}

static int has_digit(const char *text)
{
    return strpbrk(text, "0123456789") != NULL;
}

void predreg_host_read_version(char *text, char *version, unsigned max)
{
    char *title = NULL;

    version[0] = '\0';
    predreg_for_each_word(line, text, "\n") {
        line += strspn(line, " \t");
        if (has_digit(line)) {
            snprintf(version, max, "%s%s%s", (title == NULL) ? "" : title,
                     (title == NULL) ? "" : " ", line);
            return;
        }

        if (title == NULL) {
            title = line;
        }
    }
}

static void find_mpi(const char *launcher, predreg_host_t *host)
{
    char *path                    = predreg_find_command(
            (launcher == NULL) ? "mpirun" : launcher);
    const char *argv[]            = {path, "--version", NULL};
    predreg_child_params_t params = {.argv = argv, .timeout = PREDREG_VERSION_TIMEOUT};
    predreg_child_t child;

    if (path == NULL) {
        return;
    }

    predreg_child_run(&params, &child);
    snprintf(host->launcher, sizeof(host->launcher), "%s", path);
    predreg_host_read_version(child.printed, host->mpi, sizeof(host->mpi));
    if (host->mpi[0] == '\0') {
        snprintf(host->mpi, sizeof(host->mpi), "of unknown version%s%s",
                 child.is_good ? "" : ": it ", child.end);
    }
    predreg_child_cleanup(&child);
    free(path);
}

static void find_devices(predreg_host_t *host)
{
    DIR *folder   = opendir(RDMA_DEVICES);
    size_t length = 0;
    const struct dirent *entry;

    while ((folder != NULL) && ((entry = readdir(folder)) != NULL)) {
        if ((entry->d_name[0] != '.') && (length < sizeof(host->devices))) {
            length += snprintf(host->devices + length,
                               sizeof(host->devices) - length, "%s%s",
                               (length == 0) ? "" : " ", entry->d_name);
        }
    }

    if (folder != NULL) {
        closedir(folder);
    }
}

static void find_limit(predreg_host_t *host)
{
    const uct_predreg_memlock_sys_t *sys = &uct_predreg_memlock_linux;
    struct rlimit limit;

    host->is_unlimited = sys->may_lock_anything();
    host->memlock      = UINT64_MAX;
    if ((sys->get_limit(&limit) == 0) && (limit.rlim_cur != RLIM_INFINITY)) {
        host->memlock = limit.rlim_cur;
    }
}

static void find_processors(predreg_host_t *host)
{
    predreg_view_t view;
    cpu_set_t usable;
    unsigned i;

    ucs_rcache_pred_cpus_usable(&usable);
    host->processors = CPU_COUNT(&usable);

    predreg_view_take(&view, &predreg_system, NULL, 0);
    host->managed = view.num_procs;
    for (i = 0; i < view.num_procs; ++i) {
        host->mappings = ucs_max(host->mappings,
                                 predreg_host_mappings("", view.procs[i].pid));
    }
    predreg_view_cleanup(&view);
}

void predreg_host_find(const char *launcher, predreg_host_t *host)
{
    memset(host, 0, sizeof(*host));
    find_kernel(host);
    find_distribution(host);
    find_mpi(launcher, host);
    find_devices(host);
    find_limit(host);
    predreg_host_find_limits("", host);
    find_processors(host);
}
