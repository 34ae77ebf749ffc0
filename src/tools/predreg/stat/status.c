/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "status.h"

#include <tools/predreg/common/message.h>

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static int open_file(const char *path)
{
    /* O_NONBLOCK: since it was found, the file may have been replaced by a
     * pipe, and opening a pipe would wait for its writer */
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

const predreg_system_t predreg_system = {
    .proc   = "/proc",
    .user   = geteuid,
    .signal = kill,
    .open   = open_file
};


static void parse_line(const char *line, predreg_status_t *status)
{
    const char *last;

    sscanf(line, "State: %c", &status->state);
    sscanf(line, "Tgid: %d", &status->tgid);
    sscanf(line, "Uid: %*u %u", &status->euid);
    sscanf(line, "VmPin: %lu", &status->pinned);

    /* The line has a pid for each name space; that of the innermost comes
     * last */
    if (!strncmp(line, "NSpid:", 6)) {
        last            = strrchr(line, '\t');
        status->own_pid = (last == NULL) ? 0 : atoi(last);
    }
}

/* @return 0, or -1 if the process has no status */
static int read_status(const predreg_system_t *system, pid_t pid,
                       predreg_status_t *status)
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
        PREDREG_WHY(why_p, "process %d is hidden, as those of other users are "
                    "where /proc is mounted with hidepid; accepted are "
                    "processes of the own user, and for root all", (int)pid);
        return PREDREG_LOOK_FOREIGN;
    }

    PREDREG_WHY(why_p, "process %d: there is no such process", (int)pid);
    return PREDREG_LOOK_GONE;
}

predreg_look_t predreg_look_status(const predreg_system_t *system, pid_t pid,
                                   predreg_status_t *status, char **why_p)
{
    uid_t user = system->user();

    if (read_status(system, pid, status) != 0) {
        return look_without_status(system, pid, why_p);
    }

    if (status->tgid != pid) {
        PREDREG_WHY(why_p, "%d is a thread of process %d; accepted are "
                    "processes", (int)pid, (int)status->tgid);
        return PREDREG_LOOK_GONE;
    }

    if ((user != 0) && (status->euid != user)) {
        if (why_p != NULL) {
            *why_p = why_foreign(pid, status->euid, user);
        }
        return PREDREG_LOOK_FOREIGN;
    }

    if ((status->state == 'Z') || (status->state == 'X')) {
        PREDREG_WHY(why_p, "process %d has ended", (int)pid);
        return PREDREG_LOOK_GONE;
    }

    return PREDREG_LOOK_OK;
}
