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
 * The counters in UCX's virtual file system, as predreg/NAME: a tree of names
 * in libucs, which its FUSE module, where there is one, mounts for the user to
 * read (UCX 1.13, ucs/vfs). Nothing is formatted before somebody reads it.
 */

#define UCS_RCACHE_PRED_VFS_DIR "predreg"

/** The folder. Has to outlive its removal. */
typedef struct ucs_rcache_pred_vfs {
    void  (*snapshot)(ucs_rcache_pred_snapshot_t *snapshot); /**< What to show.
                                   Called by any thread; may block */
    pid_t pid; /**< That has added it; 0: none */
} ucs_rcache_pred_vfs_t;

/**
 * Show the process; those counters that are known now. A forked child that
 * inherited the folder, which then is about the child, may do it again.
 */
void ucs_rcache_pred_vfs_add(ucs_rcache_pred_vfs_t *vfs,
                             void (*snapshot)(ucs_rcache_pred_snapshot_t*));

/** No-op in a process that has not added it: in a forked child the file system
 *  may be locked for good. */
void ucs_rcache_pred_vfs_remove(ucs_rcache_pred_vfs_t *vfs);

END_C_DECLS

#endif
