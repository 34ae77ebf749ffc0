/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "own_fd.h"

#include <stdlib.h>
#include <string.h>

/* The entry of the size of the table of descriptors, see proc(5) */
#define SIZE_KEY "\nFDSize:"


/* @return the size of the process's table of descriptors, or its minimum where the
 * kernel does not tell. */
static int table_size(void)
{
    int size = 0;
    char text[1024];
    const char *entry;
    ssize_t length;
    int fd;

    fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, text, sizeof(text) - 1);
        close(fd);
        text[(length < 0) ? 0 : length] = '\0';
        entry = strstr(text, SIZE_KEY);
        size  = (entry == NULL) ? 0 : atoi(entry + strlen(SIZE_KEY));
    }

    return (size < UCS_RCACHE_PRED_OWN_FD_MIN_TABLE) ?
           UCS_RCACHE_PRED_OWN_FD_MIN_TABLE : size;
}

int ucs_rcache_pred_own_fd_move(int fd)
{
    int moved;

    moved = fcntl(fd, F_DUPFD_CLOEXEC,
                  ucs_rcache_pred_own_fd_lowest(table_size()));
    if (moved < 0) {
        return fd;
    }

    close(fd);
    return moved;
}
