/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "own_fd.h"

#include <ucs/base/number.h>
#include <ucs/sys/math.h>


int ucs_rcache_pred_own_fd_move(int fd)
{
    int size = 0;
    int moved;

    /* The size of the table of descriptors, see proc(5). Where the kernel does not tell
     * the size, the table has its least size */
    (void)ucs_scan_file("/proc/self/status", "FDSize: %d", &size);
    size  = ucs_max(size, UCS_RCACHE_PRED_OWN_FD_MIN_TABLE);
    moved = fcntl(fd, F_DUPFD_CLOEXEC, ucs_rcache_pred_own_fd_lowest(size));
    if (moved < 0) {
        return fd;
    }

    close(fd);
    return moved;
}
