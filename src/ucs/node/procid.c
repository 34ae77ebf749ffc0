/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "procid.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD_STATE       3
#define FIELD_NUM_THREADS 20
#define FIELD_START_TIME  22


ucs_status_t ucs_rcache_pred_procstat_parse(const char *line,
                                            ucs_rcache_pred_procstat_t *stat)
{
    uint64_t value = 0;
    const char *pos;
    unsigned field;
    char *end;

    /* The second field is the program's name in parentheses, which may itself
     * contain any of them; those after it are numbers */
    pos = strrchr(line, ')');
    if ((pos == NULL) || (pos[1] != ' ') || (pos[2] == '\0')) {
        return UCS_ERR_INVALID_PARAM;
    }

    stat->state = pos[2];
    pos        += 3;
    for (field = FIELD_STATE + 1; field <= FIELD_START_TIME; ++field) {
        value = strtoull(pos, &end, 10);
        if (end == pos) {
            return UCS_ERR_INVALID_PARAM;
        }

        if (field == FIELD_NUM_THREADS) {
            stat->num_threads = value;
        }
        pos = end;
    }

    stat->start_time = value;
    return UCS_OK;
}

int ucs_rcache_pred_procstat_is_dead(const ucs_rcache_pred_procstat_t *stat,
                                     uint64_t start_time)
{
    if (stat->start_time != start_time) {
        return 1; /* Another process has got the same pid */
    }

    /* A zombie has released its memory and closed its files. But if it has
     * other threads, only the first thread has ended, and the process has
     * not. */
    return (stat->state == 'X') || (stat->state == 'x') ||
           ((stat->state == 'Z') && (stat->num_threads <= 1));
}

static ucs_status_t procstat_read(pid_t pid, ucs_rcache_pred_procstat_t *stat)
{
    char line[1024]; /* 52 fields, most of them small */
    ssize_t length;
    int fd;

    snprintf(line, sizeof(line), "/proc/%d/stat", (int)pid);
    fd = open(line, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return UCS_ERR_NO_ELEM;
    }

    length = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (length < 0) {
        return UCS_ERR_IO_ERROR;
    }

    line[length] = '\0';
    return ucs_rcache_pred_procstat_parse(line, stat);
}

ucs_rcache_pred_procid_t ucs_rcache_pred_procid_self(void)
{
    ucs_rcache_pred_procstat_t stat;

    if (procstat_read(getpid(), &stat) != UCS_OK) {
        return 0;
    }

    return ucs_rcache_pred_procid(getpid(), stat.start_time);
}

int ucs_rcache_pred_procid_is_dead(ucs_rcache_pred_procid_t id)
{
    pid_t pid       = ucs_rcache_pred_procid_pid(id);
    int saved_errno = errno;
    ucs_rcache_pred_procstat_t stat;
    int dead;

    if ((kill(pid, 0) != 0) && (errno == ESRCH)) {
        dead = 1;
    } else {
        dead = (procstat_read(pid, &stat) == UCS_OK) &&
               ucs_rcache_pred_procstat_is_dead(
                       &stat, id >> UCS_RCACHE_PRED_PROCID_PID_BITS);
    }

    errno = saved_errno;
    return dead;
}
