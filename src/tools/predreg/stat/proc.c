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
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREDREG_CORE_LIBRARY "libuct_predreg_core.so"


/* What /proc/PID/status tells, see proc(5). Anybody may read it, unless /proc
 * hides the processes of others */
typedef struct {
    char          state;
    pid_t         tgid;
    pid_t         own_pid; /* As it is called in its own name space */
    uid_t         euid;
    unsigned long pinned;  /* By the kernel's count, KiB */
} predreg_status_t;


static void predreg_status_line(const char *line, predreg_status_t *status)
{
    const char *last;

    sscanf(line, "State: %c", &status->state);
    sscanf(line, "Tgid: %d", &status->tgid);
    sscanf(line, "Uid: %*u %u", &status->euid);
    sscanf(line, "VmPin: %lu", &status->pinned);

    /* One for each name space, the innermost last */
    if (!strncmp(line, "NSpid:", 6)) {
        last            = strrchr(line, '\t');
        status->own_pid = (last == NULL) ? 0 : atoi(last);
    }
}

/* @return 0, or -1 and errno */
static int predreg_read_status(pid_t pid, predreg_status_t *status)
{
    char line[256];
    FILE *file;

    snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
    file = fopen(line, "re");
    if (file == NULL) {
        return -1;
    }

    memset(status, 0, sizeof(*status));
    status->own_pid = pid;
    errno           = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        predreg_status_line(line, status);
    }
    fclose(file);

    if (status->state == '\0') {
        errno = ESRCH; /* Went while it was read */
        return -1;
    }

    return 0;
}

static char *predreg_user(uid_t uid)
{
    struct passwd *user = getpwuid(uid);

    return (user == NULL) ? predreg_format("uid %u", (unsigned)uid) :
                            predreg_format("%s (uid %u)", user->pw_name,
                                           (unsigned)uid);
}

static void predreg_why_foreign(pid_t pid, uid_t owner, char **why_p)
{
    char *theirs, *ours;

    if (why_p != NULL) {
        theirs = predreg_user(owner);
        ours   = predreg_user(geteuid());
        *why_p = predreg_format("process %d belongs to user %s; accepted are "
                                "processes of %s, or to be root", (int)pid,
                                theirs, ours);
        free(theirs);
        free(ours);
    }
}

#define PREDREG_WHY(_why_p, _format, ...) \
    do { \
        if ((_why_p) != NULL) { \
            *(_why_p) = predreg_format(_format, ##__VA_ARGS__); \
        } \
    } while (0)

/* Whether it is a process we may look at */
static predreg_look_t
predreg_look_status(pid_t pid, predreg_status_t *status, char **why_p)
{
    if (predreg_read_status(pid, status) != 0) {
        if ((kill(pid, 0) == 0) || (errno == EPERM)) {
            PREDREG_WHY(why_p, "process %d is hidden, as those of other users "
                        "are where /proc is mounted with hidepid; accepted are "
                        "processes of the own user, or to be root", (int)pid);
            return PREDREG_LOOK_FOREIGN;
        }

        PREDREG_WHY(why_p, "process %d: there is no such process", (int)pid);
        return PREDREG_LOOK_GONE;
    }

    if (status->tgid != pid) {
        PREDREG_WHY(why_p, "%d is a thread of process %d; accepted are "
                    "processes", (int)pid, (int)status->tgid);
        return PREDREG_LOOK_GONE;
    }

    if ((geteuid() != 0) && (status->euid != geteuid())) {
        predreg_why_foreign(pid, status->euid, why_p);
        return PREDREG_LOOK_FOREIGN;
    }

    if ((status->state == 'Z') || (status->state == 'X')) {
        PREDREG_WHY(why_p, "process %d has ended", (int)pid);
        return PREDREG_LOOK_GONE;
    }

    return PREDREG_LOOK_OK;
}

static predreg_look_t predreg_look_denied(pid_t pid, char **why_p)
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

/* Read counters that were found */
static predreg_look_t
predreg_look_page(pid_t pid, const predreg_status_t *status, int fd,
                  predreg_stat_proc_t *proc, char **why_p)
{
    ucs_rcache_pred_live_record_t *record = &proc->record;
    unsigned version                      = 0;

    switch (ucs_rcache_pred_live_read(fd, record, &version)) {
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

    if (record->snapshot.pid != status->own_pid) {
        PREDREG_WHY(why_p, "process %d shows no counters but those of process "
                    "%d, from which it was forked: it has not opened an RDMA "
                    "device itself", (int)pid, record->snapshot.pid);
        return PREDREG_LOOK_HEIR;
    }

    proc->pid    = pid;
    proc->looked = ucs_rcache_pred_live_now();
    proc->age    = (proc->looked > record->time) ?
                   (proc->looked - record->time) : 0;
    ucs_rcache_pred_live_advance(record, proc->looked);
    record->snapshot.pid           = pid;
    record->snapshot.kernel_pinned = status->pinned * 1024;
    return PREDREG_LOOK_OK;
}

static predreg_look_t
predreg_look_fd(pid_t pid, const predreg_status_t *status, const char *path,
                predreg_stat_proc_t *proc, char **why_p)
{
    char link[sizeof(UCS_RCACHE_PRED_LIVE_LINK) + 1];
    predreg_look_t look;
    ssize_t length;
    int fd;

    length = readlink(path, link, sizeof(link) - 1);
    if (length < 0) {
        return PREDREG_LOOK_NONE; /* Was closed meanwhile */
    }

    link[length] = '\0';
    if (strcmp(link, UCS_RCACHE_PRED_LIVE_LINK)) {
        return PREDREG_LOOK_NONE;
    }

    /* It may be another file by now, and opening a pipe waits for a writer */
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return (errno == ENOENT) ? PREDREG_LOOK_NONE :
                                   predreg_look_denied(pid, why_p);
    }

    look = predreg_look_page(pid, status, fd, proc, why_p);
    close(fd);
    return look;
}

/* All descriptors, until one has its counters */
static predreg_look_t
predreg_look_fds(pid_t pid, const predreg_status_t *status,
                 predreg_stat_proc_t *proc, char **why_p)
{
    predreg_look_t look = PREDREG_LOOK_NONE;
    struct dirent *entry;
    char path[300];
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    if (dir == NULL) {
        return predreg_look_denied(pid, why_p);
    }

    while ((look == PREDREG_LOOK_NONE) && ((entry = readdir(dir)) != NULL)) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid,
                     entry->d_name);
            look = predreg_look_fd(pid, status, path, proc, why_p);
        }
    }

    closedir(dir);
    return look;
}

/* Why a process shows no counters: by what it has mapped */
static char *predreg_why_none(pid_t pid)
{
    int preloaded = 0, core = 0, page = 0;
    char line[1024];
    FILE *maps;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    maps = fopen(line, "re");
    while ((maps != NULL) && (fgets(line, sizeof(line), maps) != NULL)) {
        preloaded |= (strstr(line, "/" PREDREG_LIBRARY) != NULL);
        core      |= (strstr(line, "/" PREDREG_CORE_LIBRARY) != NULL);
        page      |= (strstr(line, UCS_RCACHE_PRED_LIVE_LINK) != NULL);
    }
    if (maps != NULL) {
        fclose(maps);
    }

    if (page) {
        return predreg_format("process %d shows no counters: the program has "
                              "closed a descriptor that is the library's, or "
                              "was forked from one that shows them", (int)pid);
    } else if (core) {
        return predreg_format("process %d shows no counters: the library is "
                              "loaded, but the program has not opened an RDMA "
                              "device by UCX, or the library has stepped aside "
                              "and has said why", (int)pid);
    } else if (preloaded) {
        return predreg_format("process %d shows no counters: %s is loaded, but "
                              "the program does not use UCX, so far", (int)pid,
                              PREDREG_LIBRARY);
    }

    return predreg_format("process %d does not have %s loaded; accepted are "
                          "processes that were started with it, as by "
                          "ucx_predreg run", (int)pid, PREDREG_LIBRARY);
}

predreg_look_t predreg_stat_look(pid_t pid, predreg_stat_proc_t *proc,
                                 char **why_p)
{
    predreg_status_t status;
    predreg_look_t look;

    look = predreg_look_status(pid, &status, why_p);
    if (look != PREDREG_LOOK_OK) {
        return look;
    }

    look = predreg_look_fds(pid, &status, proc, why_p);
    if ((look == PREDREG_LOOK_NONE) && (why_p != NULL)) {
        *why_p = predreg_why_none(pid);
    }
    return look;
}
