/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_OWN_FD_H_
#define UCS_RCACHE_PRED_OWN_FD_H_

#include <ucs/sys/compiler_def.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

BEGIN_C_DECLS

/** @file own_fd.h
 *
 * A descriptor that stays open in a program that does not know of it. Programs
 * that close all descriptors they find, as daemons do, close it too, and a file
 * they open later may get its number: that one is theirs, and is neither
 * written nor closed.
 */

/** Above what programs get that open few files and those that close what they
 *  have not opened up to some small number; below the usual limit of 1024. */
#define UCS_RCACHE_PRED_OWN_FD_MIN 768

/** A descriptor and the file it was. */
typedef struct ucs_rcache_pred_own_fd {
    int   fd;
    dev_t device;
    ino_t inode;
} ucs_rcache_pred_own_fd_t;


/**
 * Give a new descriptor a number that is not the next one the program gets
 * when it has closed it (open(2): the lowest that is free), so that it is
 * unlikely to be taken. Not inherited by other programs.
 *
 * @return the descriptor with its new number, or @a fd if there is none
 *         (RLIMIT_NOFILE).
 */
static inline int ucs_rcache_pred_own_fd_move(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, UCS_RCACHE_PRED_OWN_FD_MIN);

    if (moved < 0) {
        return fd;
    }

    close(fd);
    return moved;
}

/** Remember which file it is. @return -1 and errno if it is none. */
static inline int ucs_rcache_pred_own_fd_init(ucs_rcache_pred_own_fd_t *own,
                                              int fd)
{
    struct stat st;

    own->fd = fd;
    if (fstat(fd, &st) != 0) {
        return -1;
    }

    own->device = st.st_dev;
    own->inode  = st.st_ino;
    return 0;
}

/** @return whether it still is that file. One system call; keeps errno. */
static inline int
ucs_rcache_pred_own_fd_is_ours(const ucs_rcache_pred_own_fd_t *own)
{
    int error = errno;
    struct stat st;
    int is_ours;

    is_ours = (fstat(own->fd, &st) == 0) && (st.st_dev == own->device) &&
              (st.st_ino == own->inode);
    errno   = error;
    return is_ours;
}

/** Close it, if it still is that file. @return -1 and errno if what was written
 *  may be lost, see close(2). */
static inline int
ucs_rcache_pred_own_fd_close(const ucs_rcache_pred_own_fd_t *own)
{
    return ucs_rcache_pred_own_fd_is_ours(own) ? close(own->fd) : 0;
}

END_C_DECLS

#endif
