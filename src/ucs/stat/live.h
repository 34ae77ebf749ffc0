/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_LIVE_H_
#define UCS_RCACHE_PRED_LIVE_H_

#include "stats.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

BEGIN_C_DECLS

/** @file live.h
 *
 * The live counters of a running process, which other processes read without
 * disturbing the process. They are in a page of anonymous memory with a
 * descriptor (memfd); others open the page as /proc/PID/fd/N. The kernel
 * decides who may open the page (ptrace(2), "Ptrace access mode checking",
 * PTRACE_MODE_READ_FSCREDS), and nothing is left of the page after the end of
 * the process.
 *
 * Reading needs no help of the process, which may even be stopped, and does not
 * delay the process.
 *
 * The core of uct/ib/predreg writes the page,
 * "ucx_predreg stat" reads it.
 */

/** The target of the page's link in /proc/PID/fd. */
#define UCS_RCACHE_PRED_LIVE_NAME "ucx_predreg"
#define UCS_RCACHE_PRED_LIVE_LINK "/memfd:" UCS_RCACHE_PRED_LIVE_NAME \
                                  " (deleted)"

#define UCS_RCACHE_PRED_LIVE_COMMAND 32


/** The state of a process in its page, a multiple of 64 bits. */
typedef struct ucs_rcache_pred_live_state {
    ucs_rcache_pred_snapshot_t snapshot;
    uint64_t                   time;     /**< When the snapshot was taken:
                                              CLOCK_MONOTONIC, ns */
    uint64_t                   counting; /**< Not 0: the process has memory
                                              domains, and so the duration in the
                                              statistics grows with time */
    uint64_t                   node_bytes;     /**< Registered or reserved by
                                                    all processes that share the
                                                    bound of the node */
    uint64_t                   node_max_bytes; /**< The bound of the node on
                                                    bytes. UINT64_MAX: there is
                                                    none, and node_bytes is 0 */
    uint64_t                   node_keys; /**< Keys that the cache of all processes of
                                               the job on the node has, of the device with
                                               the limit snapshot.keys_limit; 0 if there
                                               is no limit */
    char                       command[UCS_RCACHE_PRED_LIVE_COMMAND];
} ucs_rcache_pred_live_state_t;

/** Version of the page; a reader refuses a page of another version. A counter that is
 *  added, or taken away, changes the number of words; for any other change of the page
 *  we raise the first number. */
#define UCS_RCACHE_PRED_LIVE_VERSION \
    ((uint32_t)((10 * 1000) + UCS_RCACHE_PRED_LIVE_WORDS))


/** The first word of each page, by which a reader knows that a file is one: "\1predreg" in
 *  little endian. */
#define UCS_RCACHE_PRED_LIVE_MAGIC 0x6765726465727001ul

/** Words of the state in the page, which writer and reader copy one by one. */
#define UCS_RCACHE_PRED_LIVE_WORDS \
    (sizeof(ucs_rcache_pred_live_state_t) / sizeof(uint64_t))

/** The page, which other processes map, too. Only live.c and its reader, tools/predreg/
 *  stat/page.c, use the fields. */
typedef struct ucs_rcache_pred_live_page {
    /* Constant once magic is written. Magic, version and size have the same sizes
     * and places in all versions of the page. */
    _Atomic(uint64_t) magic;  /* Written, with release, once version and size are;
                               * read, with acquire, before them */
    uint32_t         version;
    uint32_t         size;    /* Size of this structure, bytes */

    /* Uses under leave-pinned. Any thread adds to the number; relaxed, since
     * nothing else depends on it */
    _Atomic(uint64_t) uses;

    /* The state, and its sequence number: odd during a write, so that a reader
     * notices; 0: nothing has been written yet. Only the thread that has set busy
     * writes */
    _Atomic(uint64_t) seq;
    _Atomic(uint64_t) word[UCS_RCACHE_PRED_LIVE_WORDS];
} ucs_rcache_pred_live_page_t;


/** The page, as its owner has it. */
typedef struct ucs_rcache_pred_live ucs_rcache_pred_live_t;

/**
 * Make the page of this process, without a state.
 *
 * @return UCS_ERR_UNSUPPORTED if the system has no memory with a descriptor, or
 *         refuses it; UCS_ERR_NO_MEMORY. errno says more.
 */
ucs_status_t ucs_rcache_pred_live_create(ucs_rcache_pred_live_t **live_p);

/** Remove the page. No thread may use it any more. */
void ucs_rcache_pred_live_destroy(ucs_rcache_pred_live_t *live);

/** In a forked child: close the descriptor of the parent's page. Neither
 *  changes the page nor calls the allocator. */
void ucs_rcache_pred_live_abandon(ucs_rcache_pred_live_t *live);

/** Fills in a whole state. Called by one thread at a time, without any lock. */
typedef void (*ucs_rcache_pred_live_collect_t)(
        void *arg, ucs_rcache_pred_live_state_t *state);

/**
 * Bring the page up to date after a change. Any thread may call the function, and
 * waits for no other: if another thread is updating the page already, the call
 * returns at once, and the other thread collects again. So the page has the last
 * state in the end.
 */
void ucs_rcache_pred_live_update(ucs_rcache_pred_live_t *live,
                                 ucs_rcache_pred_live_collect_t collect,
                                 void *arg);

/**
 * Count a use of registered memory under the policy leave-pinned, where a use changes
 * nothing else. The function adds to the count in the page itself, without an update;
 * the reader of the page puts the count into the statistics. Any thread;
 * wait-free.
 */
void ucs_rcache_pred_live_count_use(ucs_rcache_pred_live_t *live);

/** @return how many uses ucs_rcache_pred_live_count_use() has counted. Any thread;
 *          wait-free. */
uint64_t ucs_rcache_pred_live_get_uses(const ucs_rcache_pred_live_t *live);

/** @return the descriptor of the page, for tests. */
int ucs_rcache_pred_live_get_fd(const ucs_rcache_pred_live_t *live);


/* The counters in UCX's virtual file system, as predreg/NAME. libucs keeps that file system
 * as a tree of names; its FUSE module, where it is installed, mounts it for the user to
 * read (UCX 1.13, ucs/vfs). A counter is formatted only when somebody reads it. */

#define UCS_RCACHE_PRED_VFS_DIR "predreg"

/** The folder of the counters. The caller keeps the structure until
 *  ucs_rcache_pred_vfs_remove(). */
typedef struct ucs_rcache_pred_vfs {
    void  (*snapshot)(void *arg, ucs_rcache_pred_snapshot_t *snapshot);
                     /**< Fills in the snapshot to show. Any thread may call
                          this function, and it may block */
    void  *arg; /**< Argument that snapshot is called with */
    pid_t pid;  /**< The process that has added the folder; 0: none has */
} ucs_rcache_pred_vfs_t;

/**
 * Add a folder with the counters known now. A forked child inherits the folder,
 * in which the child's counters appear then, and may add the folder again.
 */
void ucs_rcache_pred_vfs_add(ucs_rcache_pred_vfs_t *vfs,
                             void (*snapshot)(void *arg,
                                              ucs_rcache_pred_snapshot_t*),
                             void *arg);

/** Remove the folder, if this process has added it. A forked child does not
 *  touch the file system that it has from its parent: if another thread of the
 *  parent had the lock of the file system at the fork, the child's copy of the
 *  lock stays locked for ever. */
void ucs_rcache_pred_vfs_remove(ucs_rcache_pred_vfs_t *vfs);

END_C_DECLS

#endif
