/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_LIVE_H_
#define UCS_RCACHE_PRED_LIVE_H_

#include <ucs/rcache_pred/stats.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file live.h
 *
 * What a living process tells of itself, for others to see without disturbing
 * it: a page of anonymous memory with a descriptor (memfd), which others reach
 * as /proc/PID/fd/N. The kernel decides who may open it (ptrace(2), "Ptrace
 * access mode checking", PTRACE_MODE_READ_FSCREDS), and nothing is left of it
 * when the process is gone, however that ended.
 *
 * Whether the process takes notice, or is stopped, makes no difference to those
 * who read, and they make none to it.
 */

/** What links to it in /proc/PID/fd look like. */
#define UCS_RCACHE_PRED_LIVE_NAME "ucx_predreg"
#define UCS_RCACHE_PRED_LIVE_LINK "/memfd:" UCS_RCACHE_PRED_LIVE_NAME \
                                  " (deleted)"

/** Version of what is in the page. A reader reads this one only. */
#define UCS_RCACHE_PRED_LIVE_VERSION 2

#define UCS_RCACHE_PRED_LIVE_COMMAND 32


/** What the page says. Whole 64-bit words. */
typedef struct ucs_rcache_pred_live_record {
    ucs_rcache_pred_snapshot_t snapshot;
    uint64_t                   time;     /**< At which the snapshot was taken:
                                              CLOCK_MONOTONIC, ns */
    uint64_t                   counting; /**< The duration goes on: there are
                                              domains */
    uint64_t                   node_bytes;     /**< Registered or reserved by
                                                    all processes that keep a
                                                    bound together */
    uint64_t                   node_max_bytes; /**< That bound; UINT64_MAX:
                                                    none, node_bytes is 0 */
    char                       command[UCS_RCACHE_PRED_LIVE_COMMAND];
} ucs_rcache_pred_live_record_t;


/** The page, as its owner has it. */
typedef struct ucs_rcache_pred_live ucs_rcache_pred_live_t;

/**
 * @return UCS_ERR_UNSUPPORTED if the system has no such memory, or refuses it;
 *         UCS_ERR_NO_MEMORY. errno says more.
 */
ucs_status_t ucs_rcache_pred_live_create(ucs_rcache_pred_live_t **live_p);

/** Nobody may be writing to it any more. */
void ucs_rcache_pred_live_destroy(ucs_rcache_pred_live_t *live);

/** In a forked child: let go of the parent's page, without touching it and
 *  without calling the allocator. */
void ucs_rcache_pred_live_abandon(ucs_rcache_pred_live_t *live);

/** Fills in a record, all of it. Called without any lock, by one thread at a
 *  time. */
typedef void (*ucs_rcache_pred_live_collect_t)(
        void *arg, ucs_rcache_pred_live_record_t *record);

/**
 * Something has changed: bring the page up to date. Any thread. If another one
 * is at it, that one starts over, and this one goes on: it waits for nobody,
 * and what is in the page in the end is what there was in the end.
 */
void ucs_rcache_pred_live_update(ucs_rcache_pred_live_t *live,
                                 ucs_rcache_pred_live_collect_t collect,
                                 void *arg);

/**
 * One more use, under leave-pinned, where there is nothing else that changes:
 * counted in the page itself, and part of the record that is read. Any thread;
 * wait-free.
 */
void ucs_rcache_pred_live_count_use(ucs_rcache_pred_live_t *live);
uint64_t ucs_rcache_pred_live_get_uses(const ucs_rcache_pred_live_t *live);

/** For tests. */
int ucs_rcache_pred_live_get_fd(const ucs_rcache_pred_live_t *live);


/**
 * Read the page of another process, which may be none, or contain anything.
 *
 * @param [in]  fd         Open for reading.
 * @param [out] record     Numbers that name something (policy, mode) are in
 *                         range and the command is printable.
 * @param [out] version_p  The page's, if it is one.
 * @return UCS_ERR_UNSUPPORTED if it is of another version; UCS_ERR_BUSY if it
 *         was being written whenever it was looked at, for 50 ms, or nothing
 *         has been written yet; UCS_ERR_INVALID_PARAM if it is no such page, or
 *         damaged; UCS_ERR_IO_ERROR if it cannot be mapped.
 */
ucs_status_t ucs_rcache_pred_live_read(int fd,
                                       ucs_rcache_pred_live_record_t *record,
                                       unsigned *version_p);

/** Time as in records. */
uint64_t ucs_rcache_pred_live_now(void);

/** What the record would say at a later time, if nothing else has happened:
 *  duration and average go on. */
void ucs_rcache_pred_live_advance(ucs_rcache_pred_live_record_t *record,
                                  uint64_t now);

END_C_DECLS

#endif
