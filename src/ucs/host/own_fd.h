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
 * A descriptor of this library in a program that does not know of it. Some
 * programs close all descriptors, as daemons do, and so the one of the library
 * as well; a later file of the program may get the same number. That file is
 * the program's: the library must neither write to the file nor close it.
 * live.c, the summary and the writers of traces call these functions. All but
 * ucs_rcache_pred_own_fd_move() and ucs_rcache_pred_own_fd_write() use system calls only,
 * and are inline, for programs without the core.
 *
 * Threads: functions on a descriptor must not run at the same time as its closing.
 */

/** A descriptor, and its first file. */
typedef struct ucs_rcache_pred_own_fd {
    int   fd;
    dev_t device;
    ino_t inode;
} ucs_rcache_pred_own_fd_t;


/** The smallest table of descriptors that Linux gives a process (fs/file.c,
 *  NR_OPEN_DEFAULT on 64-bit machines). */
#define UCS_RCACHE_PRED_OWN_FD_MIN_TABLE 64

/** @return the lowest number for moved descriptors, in a process whose table has
 *  room for @a size descriptors. */
static inline int ucs_rcache_pred_own_fd_lowest(int size)
{
    return size - (size / 4);
}

/**
 * Give a new descriptor a high number, in the last quarter of the process's table
 * of descriptors. The program gets the lowest free numbers for its files (open(2)),
 * and so hardly gets this number even after closing the descriptor. A number beyond
 * the table would let the table grow, and in a process with threads Linux waits for
 * an RCU grace period then (fs/file.c, expand_fdtable()): 15 to 25 ms on busy
 * processors. Programs run by the process do not inherit the descriptor.
 *
 * @return the descriptor with its new number, or @a fd if the system gives no such
 *         number (RLIMIT_NOFILE).
 */
int ucs_rcache_pred_own_fd_move(int fd);

/** Remember which file is behind @a fd. @return 0, or -1 and errno if no file is
 *  behind it. */
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

/** @return whether the same file is still behind the descriptor. Makes one
 *          system call, and does not change errno. */
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

/** Close the descriptor, if its file is still the same. @return 0, or -1 and errno
 *  if written data may be lost, see close(2). */
static inline int
ucs_rcache_pred_own_fd_close(const ucs_rcache_pred_own_fd_t *own)
{
    return ucs_rcache_pred_own_fd_is_ours(own) ? close(own->fd) : 0;
}

/** Write to a descriptor without a signal to the program: the process would end by a
 *  SIGPIPE if nobody reads any more, and by a SIGXFSZ if the file may not grow
 *  (RLIMIT_FSIZE). After a write that fails the function takes @a signal, the one that the
 *  caller expects, back, unless it was pending before. Any thread. @return as write(2). */
ssize_t ucs_rcache_pred_own_fd_write(int fd, const void *data, size_t size, int signal);

END_C_DECLS

#endif
