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
    pid_t         tgid;    /* Pid of the process to which this thread belongs */
    pid_t         own_pid; /* Pid of the process in its own name space */
    uid_t         euid;    /* Effective user */
    unsigned long pinned;  /* Pinned memory as the kernel counts it, KiB */
} status_t;


/* A look at a process while it lasts */
typedef struct {
    const predreg_system_t *system;
    pid_t                  pid;
    status_t               status;
    predreg_stat_proc_t    *proc;  /* Gets the counters */
    char                   **why_p; /* Gets the explanation of a failed look, a string to
                                       be freed by the caller; NULL: none is wanted */
} look_t;


/* Store the explanation of a failed look. @return the result of the look */
static predreg_look_t __attribute__((format(printf, 3, 4)))
explain(const look_t *look, predreg_look_t result, const char *format, ...)
{
    va_list args;

    if (look->why_p != NULL) {
        va_start(args, format);
        *look->why_p = predreg_vformat(format, args);
        va_end(args);
    }
    return result;
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


/* Call a function for each line of a file of the process. @return 0 if there is no such
 * file */
static int
read_lines(const look_t *look, const char *name, void (*cb)(const char *line, void *arg),
           void *arg)
{
    char *path = predreg_format("%s/%d/%s", look->system->proc, look->pid, name);
    FILE *file = fopen(path, "re");
    char line[1024];

    free(path);
    if (file == NULL) {
        return 0;
    }

    while (fgets(line, sizeof(line), file) != NULL) {
        cb(line, arg);
    }
    fclose(file);
    return 1;
}

static void parse_status(const char *line, void *arg)
{
    status_t *status = arg;
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
static int read_status(look_t *look)
{
    look->status = (status_t){.own_pid = look->pid};

    /* If the state is missing, the process ended while its status was read */
    return (read_lines(look, "status", parse_status, &look->status) &&
            (look->status.state != '\0')) ? 0 : -1;
}

static char *user_name(uid_t uid)
{
    struct passwd *user = getpwuid(uid);

    return (user == NULL) ? predreg_format("uid %u", (unsigned)uid) :
                            predreg_format("%s (uid %u)", user->pw_name,
                                           (unsigned)uid);
}

static predreg_look_t look_foreign(const look_t *look, uid_t user)
{
    char *theirs          = user_name(look->status.euid);
    char *ours            = user_name(user);
    predreg_look_t result = explain(look, PREDREG_LOOK_FOREIGN,
                                    "process %d belongs to user %s; accepted are "
                                    "processes of %s, and for root all", look->pid,
                                    theirs, ours);

    free(theirs);
    free(ours);
    return result;
}

/* Find out why the status of a process cannot be read */
static predreg_look_t look_without_status(const look_t *look)
{
    if ((look->system->signal(look->pid, 0) == 0) || (errno == EPERM)) {
        return explain(look, PREDREG_LOOK_FOREIGN,
                       "process %d is hidden, as those of other users are where /proc is "
                       "mounted with hidepid; accepted are processes of the own user, "
                       "and for root all", look->pid);
    }

    return explain(look, PREDREG_LOOK_GONE, "process %d: there is no such process",
                   look->pid);
}

/* Read the status of a process, and find out whether this user may look into it */
static predreg_look_t look_status(look_t *look)
{
    const status_t *status = &look->status;
    uid_t user             = look->system->user();

    if (read_status(look) != 0) {
        return look_without_status(look);
    }

    if (status->tgid != look->pid) {
        return explain(look, PREDREG_LOOK_GONE,
                       "%d is a thread of process %d; accepted are processes",
                       look->pid, status->tgid);
    }

    if ((user != 0) && (status->euid != user)) {
        return (look->why_p == NULL) ? PREDREG_LOOK_FOREIGN : look_foreign(look, user);
    }

    if ((status->state == 'Z') || (status->state == 'X')) {
        return explain(look, PREDREG_LOOK_GONE, "process %d has ended", look->pid);
    }

    return PREDREG_LOOK_OK;
}

static predreg_look_t look_denied(const look_t *look)
{
    if ((errno == ENOENT) || (errno == ESRCH)) {
        return explain(look, PREDREG_LOOK_GONE, "process %d has ended", look->pid);
    }

    return explain(look, PREDREG_LOOK_DENIED,
                   "process %d cannot be looked into (%s): the kernel protects set-uid "
                   "programs, programs with capabilities, those that asked for it (prctl "
                   "PR_SET_DUMPABLE), and other name spaces; accepted is to be root there",
                   look->pid, strerror(errno));
}

/* Read the live counters of a process from an open file with the name of such counters */
static predreg_look_t look_page(const look_t *look, int fd)
{
    predreg_stat_proc_t *proc           = look->proc;
    ucs_rcache_pred_live_state_t *state = &proc->state;
    pid_t pid                           = look->pid;
    unsigned version                    = 0;

    switch (predreg_stat_read(fd, state, &version)) {
    case UCS_OK:
        break;
    case UCS_ERR_UNSUPPORTED:
        return explain(look, PREDREG_LOOK_BAD,
                       "process %d has counters of version %u; accepted is version %u: "
                       "use the ucx_predreg that belongs to its library",
                       pid, version, UCS_RCACHE_PRED_LIVE_VERSION);
    case UCS_ERR_BUSY:
        return explain(look, PREDREG_LOOK_BAD,
                       "process %d is just writing its counters, and does not get on "
                       "with it: it starts, or was stopped", pid);
    default:
        return explain(look, PREDREG_LOOK_BAD,
                       "process %d: what should be its counters is damaged, or none",
                       pid);
    }

    if (state->snapshot.pid != look->status.own_pid) {
        return explain(look, PREDREG_LOOK_HEIR,
                       "process %d shows no counters but those of process %d, from which "
                       "it was forked: it has not opened an RDMA device itself",
                       pid, state->snapshot.pid);
    }

    proc->pid    = pid;
    proc->looked = ucs_monotonic_ns();
    proc->age    = (proc->looked > state->time) ?
                   (proc->looked - state->time) : 0;
    predreg_stat_advance(state, proc->looked);
    state->snapshot.pid           = pid;
    state->snapshot.kernel_pinned = look->status.pinned * 1024;
    return PREDREG_LOOK_OK;
}

/* Read the counters behind a descriptor of the process, if its file has any */
static predreg_look_t look_fd(const look_t *look, const char *path)
{
    char link[sizeof(UCS_RCACHE_PRED_LIVE_LINK) + 1];
    predreg_look_t result;
    ssize_t length;
    int fd;

    length = readlink(path, link, sizeof(link) - 1);
    if (length < 0) {
        return PREDREG_LOOK_NONE; /* The process has closed the descriptor meanwhile */
    }

    link[length] = '\0';
    if (strcmp(link, UCS_RCACHE_PRED_LIVE_LINK)) {
        return PREDREG_LOOK_NONE;
    }

    fd = look->system->open(path);
    if (fd < 0) {
        return (errno == ENOENT) ? PREDREG_LOOK_NONE : look_denied(look);
    }

    result = look_page(look, fd);
    close(fd);
    return result;
}

/* Look at the files of all descriptors of a process, until one has the counters */
static predreg_look_t look_fds(const look_t *look)
{
    predreg_look_t result = PREDREG_LOOK_NONE;
    char *folder          = predreg_format("%s/%d/fd", look->system->proc, look->pid);
    struct dirent *entry;
    char *path;
    DIR *dir;

    dir = opendir(folder);
    if (dir == NULL) {
        result = look_denied(look);
        goto out;
    }

    while ((result == PREDREG_LOOK_NONE) && ((entry = readdir(dir)) != NULL)) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            path   = predreg_format("%s/%s", folder, entry->d_name);
            result = look_fd(look, path);
            free(path);
        }
    }

    closedir(dir);
out:
    free(folder);
    return result;
}

/* The libraries of this project in a process */
typedef struct {
    int library; /* libuct_predreg.so, preloaded */
    int core;    /* libuct_predreg_core.so, loaded by the other library when the process
                    uses UCX */
    int counters;
} mapped_t;

static void parse_mapping(const char *line, void *arg)
{
    mapped_t *mapped = arg;

    mapped->library  |= (strstr(line, "/" PREDREG_LIBRARY) != NULL);
    mapped->core     |= (strstr(line, "/" CORE_LIBRARY) != NULL);
    mapped->counters |= (strstr(line, UCS_RCACHE_PRED_LIVE_LINK) != NULL);
}

/* Find out why a process shows no counters */
static predreg_look_t look_in_vain(const look_t *look)
{
    mapped_t mapped  = {0};
    const char *name = PREDREG_LIBRARY;
    int pid          = look->pid;

    (void)read_lines(look, "maps", parse_mapping, &mapped);
    return mapped.counters ?
           explain(look, PREDREG_LOOK_NONE, "process %d shows no counters: the program has "
                   "closed a descriptor that is the library's, or was forked from one that "
                   "shows them", pid) :
           mapped.core ?
           explain(look, PREDREG_LOOK_NONE, "process %d shows no counters: the library is "
                   "loaded, but the program has not opened an RDMA device by UCX, or the "
                   "library has stepped aside and has said why", pid) :
           mapped.library ?
           explain(look, PREDREG_LOOK_NONE, "process %d shows no counters: %s is loaded, "
                   "but the program does not use UCX, so far", pid, name) :
           explain(look, PREDREG_LOOK_NONE, "process %d does not have %s loaded; accepted "
                   "are processes that were started with it, as by ucx_predreg run", pid,
                   name);
}

predreg_look_t predreg_stat_look(const predreg_system_t *system, pid_t pid,
                                 predreg_stat_proc_t *proc, char **why_p)
{
    look_t look = {.system = system, .pid = pid, .proc = proc, .why_p = why_p};
    predreg_look_t result;

    result = look_status(&look);
    if (result == PREDREG_LOOK_OK) {
        result = look_fds(&look);
    }
    return ((result == PREDREG_LOOK_NONE) && (why_p != NULL)) ? look_in_vain(&look) :
                                                                result;
}
