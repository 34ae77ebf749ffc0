/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/run/run.h>
#include <ucs/base/clock.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** @file proc.c
 *
 * A process with the library has its live counters in an anonymous file, which others
 * find among its descriptors in /proc/PID/fd. Each step that may fail explains to the
 * user why there are no counters.
 */

#define CORE_LIBRARY "libuct_predreg_core.so"


/* Contents of /proc/PID/status, see proc(5). Anybody may read this file, unless /proc
 * hides the processes of other users. */
typedef struct {
    char          state;   /* A letter, as ps(1) shows it */
    pid_t         tgid;    /* The process, if this is a thread */
    pid_t         own_pid; /* Pid of the process in its own name space */
    uid_t         euid;    /* Effective user */
    unsigned long pinned;  /* Pinned memory as the kernel counts it, KiB */
} status_t;


/* Explain a failed look: set *why_p to a string, to be freed by the caller.
 * @param [out] why_p  NULL: no explanation is wanted.
 * @return the look. */
static predreg_look_t __attribute__((format(printf, 3, 4)))
explain(predreg_look_t look, char **why_p, const char *format, ...)
{
    va_list args;

    if (why_p != NULL) {
        va_start(args, format);
        *why_p = predreg_vformat(format, args);
        va_end(args);
    }
    return look;
}

static int open_file(const char *path)
{
    /* O_NONBLOCK: meanwhile a pipe may have replaced the file, and opening a pipe would
     * wait for its writer */
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

const predreg_system_t predreg_system = {
    .proc   = "/proc",
    .user   = geteuid,
    .signal = kill,
    .open   = open_file
};


static void parse_line(const char *line, status_t *status)
{
    const char *last;

    sscanf(line, "State: %c", &status->state);
    sscanf(line, "Tgid: %d", &status->tgid);
    sscanf(line, "Uid: %*u %u", &status->euid);
    sscanf(line, "VmPin: %lu", &status->pinned);

    /* The line has a pid for each name space, the innermost last */
    if (!strncmp(line, "NSpid:", 6)) {
        last            = strrchr(line, '\t');
        status->own_pid = (last == NULL) ? 0 : atoi(last);
    }
}

/* @return 0, or -1 if the process has no status */
static int read_status(const predreg_system_t *system, pid_t pid,
                       status_t *status)
{
    char *path = predreg_format("%s/%d/status", system->proc, (int)pid);
    char line[256];
    FILE *file;

    file = fopen(path, "re");
    free(path);
    if (file == NULL) {
        return -1;
    }

    memset(status, 0, sizeof(*status));
    status->own_pid = pid;
    while (fgets(line, sizeof(line), file) != NULL) {
        parse_line(line, status);
    }
    fclose(file);

    /* If the state is missing, the process ended while its status was read */
    return (status->state == '\0') ? -1 : 0;
}

static char *user_name(uid_t uid)
{
    struct passwd *user = getpwuid(uid);

    return (user == NULL) ? predreg_format("uid %u", (unsigned)uid) :
                            predreg_format("%s (uid %u)", user->pw_name,
                                           (unsigned)uid);
}

static char *why_foreign(pid_t pid, uid_t owner, uid_t user)
{
    char *theirs = user_name(owner);
    char *ours   = user_name(user);
    char *why    = predreg_format("process %d belongs to user %s; accepted are "
                                  "processes of %s, and for root all",
                                  (int)pid, theirs, ours);

    free(theirs);
    free(ours);
    return why;
}

/* Find out why the status of a process cannot be read */
static predreg_look_t
look_without_status(const predreg_system_t *system, pid_t pid, char **why_p)
{
    if ((system->signal(pid, 0) == 0) || (errno == EPERM)) {
        return explain(PREDREG_LOOK_FOREIGN, why_p,
                       "process %d is hidden, as those of other users are where /proc is "
                       "mounted with hidepid; accepted are processes of the own user, "
                       "and for root all", (int)pid);
    }

    return explain(PREDREG_LOOK_GONE, why_p,
                   "process %d: there is no such process", (int)pid);
}

/* Read the status of a process, and find out whether this user may look into it */
static predreg_look_t look_status(const predreg_system_t *system, pid_t pid,
                                  status_t *status, char **why_p)
{
    uid_t user = system->user();

    if (read_status(system, pid, status) != 0) {
        return look_without_status(system, pid, why_p);
    }

    if (status->tgid != pid) {
        return explain(PREDREG_LOOK_GONE, why_p,
                       "%d is a thread of process %d; accepted are processes",
                       (int)pid, (int)status->tgid);
    }

    if ((user != 0) && (status->euid != user)) {
        if (why_p != NULL) {
            *why_p = why_foreign(pid, status->euid, user);
        }
        return PREDREG_LOOK_FOREIGN;
    }

    if ((status->state == 'Z') || (status->state == 'X')) {
        return explain(PREDREG_LOOK_GONE, why_p,
                       "process %d has ended", (int)pid);
    }

    return PREDREG_LOOK_OK;
}

static predreg_look_t look_denied(pid_t pid, char **why_p)
{
    if ((errno == ENOENT) || (errno == ESRCH)) {
        return explain(PREDREG_LOOK_GONE, why_p,
                       "process %d has ended", (int)pid);
    }

    return explain(PREDREG_LOOK_DENIED, why_p,
                   "process %d cannot be looked into (%s): the kernel protects set-uid "
                   "programs, programs with capabilities, those that asked for it (prctl "
                   "PR_SET_DUMPABLE), and other name spaces; accepted is to be root there",
                   (int)pid, strerror(errno));
}

/* Read the counters in a file with the name of such files */
static predreg_look_t
look_page(pid_t pid, const status_t *status, int fd,
          predreg_stat_proc_t *proc, char **why_p)
{
    ucs_rcache_pred_live_state_t *state = &proc->state;
    unsigned version                      = 0;

    switch (ucs_rcache_pred_live_read(fd, state, &version)) {
    case UCS_OK:
        break;
    case UCS_ERR_UNSUPPORTED:
        return explain(PREDREG_LOOK_BAD, why_p,
                       "process %d has counters of version %u; accepted is version %u: "
                       "use the ucx_predreg that belongs to its library",
                       (int)pid, version, UCS_RCACHE_PRED_LIVE_VERSION);
    case UCS_ERR_BUSY:
        return explain(PREDREG_LOOK_BAD, why_p,
                       "process %d is just writing its counters, and does not get on "
                       "with it: it starts, or was stopped", (int)pid);
    default:
        return explain(PREDREG_LOOK_BAD, why_p,
                       "process %d: what should be its counters is damaged, or none",
                       (int)pid);
    }

    if (state->snapshot.pid != status->own_pid) {
        return explain(PREDREG_LOOK_HEIR, why_p,
                       "process %d shows no counters but those of process %d, from which "
                       "it was forked: it has not opened an RDMA device itself",
                       (int)pid, state->snapshot.pid);
    }

    proc->pid    = pid;
    proc->looked = ucs_monotonic_ns();
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
        const status_t *status, const char *path,
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

/* Look at the files of all descriptors of a process, until one has the counters */
static predreg_look_t
look_fds(const predreg_system_t *system, pid_t pid,
         const status_t *status, predreg_stat_proc_t *proc,
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

/* The libraries of this project in a process */
typedef struct {
    int library; /* libuct_predreg.so, preloaded */
    int core;    /* libuct_predreg_core.so, loaded by the other library when the process
                    uses UCX */
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
    status_t status;
    predreg_look_t look;

    look = look_status(system, pid, &status, why_p);
    if (look != PREDREG_LOOK_OK) {
        return look;
    }

    look = look_fds(system, pid, &status, proc, why_p);
    if ((look == PREDREG_LOOK_NONE) && (why_p != NULL)) {
        *why_p = why_none(system, pid);
    }
    return look;
}
