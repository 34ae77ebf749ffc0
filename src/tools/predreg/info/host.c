/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "host.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/launch/launcher.h>
#include <tools/predreg/run/find.h>
#include <tools/predreg/stat/view.h>

#include <ucs/node/cpus.h>
#include <uct/ib/predreg/md/memlock.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define RDMA_DEVICES "/sys/class/infiniband"


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
    char *line, *saveptr;

    version[0] = '\0';
    for (line = strtok_r(text, "\n", &saveptr); line != NULL;
         line = strtok_r(NULL, "\n", &saveptr)) {
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
    predreg_child_params_t params = {
        .argv    = argv,
        .timeout = PREDREG_VERSION_TIMEOUT
    };
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

    ucs_rcache_pred_cpus_usable(&usable);
    host->processors = CPU_COUNT(&usable);

    predreg_view_take(&view, &predreg_system, NULL, 0);
    host->managed = view.num_procs;
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
    find_processors(host);
}
