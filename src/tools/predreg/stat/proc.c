/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "proc.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/preload.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORE_LIBRARY "libuct_predreg_core.so"


static predreg_look_t look_denied(pid_t pid, char **why_p)
{
    if ((errno == ENOENT) || (errno == ESRCH)) {
        PREDREG_WHY(why_p, "process %d has ended", (int)pid);
        return PREDREG_LOOK_GONE;
    }

    PREDREG_WHY(why_p, "process %d cannot be looked into (%s): the kernel "
                "protects set-uid programs, programs with capabilities, those "
                "that asked for it (prctl PR_SET_DUMPABLE), and other name "
                "spaces; accepted is to be root there", (int)pid,
                strerror(errno));
    return PREDREG_LOOK_DENIED;
}

/* Read the counters in a file that was found to have some */
static predreg_look_t
look_page(pid_t pid, const predreg_status_t *status, int fd,
          predreg_stat_proc_t *proc, char **why_p)
{
    ucs_rcache_pred_live_state_t *state = &proc->state;
    unsigned version                      = 0;

    switch (ucs_rcache_pred_live_read(fd, state, &version)) {
    case UCS_OK:
        break;
    case UCS_ERR_UNSUPPORTED:
        PREDREG_WHY(why_p, "process %d has counters of version %u; accepted is "
                    "version %d: use the ucx_predreg that belongs to its "
                    "library", (int)pid, version, UCS_RCACHE_PRED_LIVE_VERSION);
        return PREDREG_LOOK_BAD;
    case UCS_ERR_BUSY:
        PREDREG_WHY(why_p, "process %d is just writing its counters, and does "
                    "not get on with it: it starts, or was stopped", (int)pid);
        return PREDREG_LOOK_BAD;
    default:
        PREDREG_WHY(why_p, "process %d: what should be its counters is "
                    "damaged, or none", (int)pid);
        return PREDREG_LOOK_BAD;
    }

    if (state->snapshot.pid != status->own_pid) {
        PREDREG_WHY(why_p, "process %d shows no counters but those of process "
                    "%d, from which it was forked: it has not opened an RDMA "
                    "device itself", (int)pid, state->snapshot.pid);
        return PREDREG_LOOK_HEIR;
    }

    proc->pid    = pid;
    proc->looked = ucs_rcache_pred_live_now();
    proc->age    = (proc->looked > state->time) ?
                   (proc->looked - state->time) : 0;
    ucs_rcache_pred_live_advance(state, proc->looked);
    state->snapshot.pid           = pid;
    state->snapshot.kernel_pinned = status->pinned * 1024;
    return PREDREG_LOOK_OK;
}

/* Read the counters in the file of a descriptor, if it has any */
static predreg_look_t
look_fd(const predreg_system_t *system, pid_t pid,
        const predreg_status_t *status, const char *path,
        predreg_stat_proc_t *proc, char **why_p)
{
    char link[sizeof(UCS_RCACHE_PRED_LIVE_LINK) + 1];
    predreg_look_t look;
    ssize_t length;
    int fd;

    length = readlink(path, link, sizeof(link) - 1);
    if (length < 0) {
        return PREDREG_LOOK_NONE; /* The process has closed it meanwhile */
    }

    link[length] = '\0';
    if (strcmp(link, UCS_RCACHE_PRED_LIVE_LINK)) {
        return PREDREG_LOOK_NONE;
    }

    fd = system->open(path);
    if (fd < 0) {
        return (errno == ENOENT) ? PREDREG_LOOK_NONE :
                                   look_denied(pid, why_p);
    }

    look = look_page(pid, status, fd, proc, why_p);
    close(fd);
    return look;
}

/* Look at the files of all descriptors of a process, until one has the
 * counters */
static predreg_look_t
look_fds(const predreg_system_t *system, pid_t pid,
         const predreg_status_t *status, predreg_stat_proc_t *proc,
         char **why_p)
{
    predreg_look_t look = PREDREG_LOOK_NONE;
    char *folder        = predreg_format("%s/%d/fd", system->proc, (int)pid);
    struct dirent *entry;
    char *path;
    DIR *dir;

    dir = opendir(folder);
    if (dir == NULL) {
        look = look_denied(pid, why_p);
        goto out;
    }

    while ((look == PREDREG_LOOK_NONE) && ((entry = readdir(dir)) != NULL)) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            path = predreg_format("%s/%s", folder, entry->d_name);
            look = look_fd(system, pid, status, path, proc, why_p);
            free(path);
        }
    }

    closedir(dir);
out:
    free(folder);
    return look;
}

/* Which libraries a process has mapped that matter here */
typedef struct {
    int library; /* libuct_predreg.so, which was preloaded */
    int core;    /* libuct_predreg_core.so, which the other library loads when
                    the process uses UCX */
    int counters;
} mapped_t;

static mapped_t read_maps(const predreg_system_t *system, pid_t pid)
{
    char *path      = predreg_format("%s/%d/maps", system->proc, (int)pid);
    mapped_t mapped = {0};
    char line[1024];
    FILE *file;

    file = fopen(path, "re");
    free(path);
    if (file == NULL) {
        return mapped;
    }

    while (fgets(line, sizeof(line), file) != NULL) {
        mapped.library  |= (strstr(line, "/" PREDREG_LIBRARY) != NULL);
        mapped.core     |= (strstr(line, "/" CORE_LIBRARY) != NULL);
        mapped.counters |= (strstr(line, UCS_RCACHE_PRED_LIVE_LINK) != NULL);
    }
    fclose(file);
    return mapped;
}

/* Find out why a process shows no counters */
static char *why_none(const predreg_system_t *system, pid_t pid)
{
    mapped_t mapped = read_maps(system, pid);

    if (mapped.counters) {
        return predreg_format("process %d shows no counters: the program has "
                              "closed a descriptor that is the library's, or "
                              "was forked from one that shows them", (int)pid);
    } else if (mapped.core) {
        return predreg_format("process %d shows no counters: the library is "
                              "loaded, but the program has not opened an RDMA "
                              "device by UCX, or the library has stepped aside "
                              "and has said why", (int)pid);
    } else if (mapped.library) {
        return predreg_format("process %d shows no counters: %s is loaded, but "
                              "the program does not use UCX, so far", (int)pid,
                              PREDREG_LIBRARY);
    }

    return predreg_format("process %d does not have %s loaded; accepted are "
                          "processes that were started with it, as by "
                          "ucx_predreg run", (int)pid, PREDREG_LIBRARY);
}

predreg_look_t predreg_stat_look(const predreg_system_t *system, pid_t pid,
                                 predreg_stat_proc_t *proc, char **why_p)
{
    predreg_status_t status;
    predreg_look_t look;

    look = predreg_look_status(system, pid, &status, why_p);
    if (look != PREDREG_LOOK_OK) {
        return look;
    }

    look = look_fds(system, pid, &status, proc, why_p);
    if ((look == PREDREG_LOOK_NONE) && (why_p != NULL)) {
        *why_p = why_none(system, pid);
    }
    return look;
}
