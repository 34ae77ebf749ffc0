/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "own_fd.h"

#include <ucs/base/number.h>
#include <ucs/sys/math.h>

#include <signal.h>
#include <time.h>


int ucs_rcache_pred_own_fd_move(int fd)
{
    int size = 0;
    int moved;

    /* The size of the table of descriptors, see proc(5). Where the kernel does not tell
     * the size, the table has its least size */
    (void)ucs_scan_file("", "/proc/self/status", "FDSize: %d", &size);
    size  = ucs_max(size, UCS_RCACHE_PRED_OWN_FD_MIN_TABLE);
    moved = fcntl(fd, F_DUPFD_CLOEXEC, ucs_rcache_pred_own_fd_lowest(size));
    if (moved < 0) {
        return fd;
    }

    close(fd);
    return moved;
}

ssize_t ucs_rcache_pred_own_fd_write(int fd, const void *data, size_t size, int signal)
{
    const struct timespec at_once = {};
    sigset_t blocked, before, pending;
    ssize_t count;
    int error;

    sigemptyset(&blocked);
    sigaddset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    sigpending(&pending);
    count = write(fd, data, size);
    error = errno;
    if ((count < 0) && !sigismember(&pending, signal)) {
        while ((sigtimedwait(&blocked, NULL, &at_once) < 0) && (errno == EINTR)) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return count;
}
