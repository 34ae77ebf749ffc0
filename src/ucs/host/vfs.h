/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_VFS_H_
#define UCS_RCACHE_PRED_VFS_H_

#include <ucs/rcache_pred/stats.h>

#include <ucs/sys/compiler_def.h>

#include <sys/types.h>

BEGIN_C_DECLS

/** @file vfs.h
 *
 * The counters in UCX's virtual file system, as predreg/NAME. libucs keeps that
 * file system as a tree of names; its FUSE module, where it is installed,
 * mounts it for the user to read (UCX 1.13, ucs/vfs). A counter is formatted
 * only when somebody reads it. Uses stats.h; the core of uct/ib/predreg calls
 * it.
 */

#define UCS_RCACHE_PRED_VFS_DIR "predreg"

/** The folder of the counters. Must be valid until it was removed. */
typedef struct ucs_rcache_pred_vfs {
    void  (*snapshot)(void *arg, ucs_rcache_pred_snapshot_t *snapshot);
                     /**< Fills in the snapshot to show. Any thread may call
                          this function, and it may block */
    void  *arg; /**< Argument that snapshot is called with */
    pid_t pid;  /**< The process that has added the folder; 0: none has */
} ucs_rcache_pred_vfs_t;

/**
 * Add a folder with the counters that are known now. A forked child inherits
 * the folder, which then shows the child, and may add it again.
 */
void ucs_rcache_pred_vfs_add(ucs_rcache_pred_vfs_t *vfs,
                             void (*snapshot)(void *arg,
                                              ucs_rcache_pred_snapshot_t*),
                             void *arg);

/** Remove the folder, if this process has added it. A forked child does not
 *  touch the file system of its parent, which may have been locked for good
 *  when the child was forked. */
void ucs_rcache_pred_vfs_remove(ucs_rcache_pred_vfs_t *vfs);

END_C_DECLS

#endif
