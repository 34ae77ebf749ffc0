/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_WATCH_H_
#define UCP_FH_WATCH_H_

#include "mapping.h"

#include <ucs/datastruct/list.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file watch.h
 *
 * What the program does to exposed memory behind the library's back. UCX's
 * memory hooks (UCM) tell; where they are off, it is not noticed.
 *
 * munmap() of exposed memory returns at once and leaves the memory mapped,
 * until ucp_fh_watch_release(). What is mapped in its place, moved away or cut
 * off the heap is gone at once.
 *
 * All functions may be called by any thread, with ucp_fh::lock or without it;
 * those that unmap, ucp_fh_watch_release() and ucp_fh_watch_remove(), without.
 */

/** Who is told. */
typedef struct ucp_fh_watcher {
    atomic_int has_news; /**< Whether ucp_fh_watch_next() may find something.
                              Set by handlers (release: what was noted comes
                              first), cleared by the library's thread
                              (acquire) */
    int        wake_fd;  /**< An eventfd that is written to then. Does not
                              change */
} ucp_fh_watcher_t;


/** Exposed memory. Protected by a lock of the module. */
typedef struct ucp_fh_watched {
    ucs_list_link_t  link;
    ucp_fh_mapping_t mapping;
    ucp_fh_watcher_t *watcher;
    atomic_int       has_news; /**< As ucp_fh_watcher_t::has_news, for this
                                    memory. Written under the lock; read without
                                    as well (relaxed: news that is missed is
                                    followed by that of the watcher) */
} ucp_fh_watched_t;


/** Ask UCM for events, once in a process.
 *
 *  @return an error if nothing of what is unmapped will be noticed. */
ucs_status_t ucp_fh_watch_start(void);

/** Begin to watch memory.
 *
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucp_fh_watch_add(ucp_fh_watched_t *watched,
                              ucp_fh_watcher_t *watcher, uint64_t start,
                              uint64_t end);

/** All of the memory was withdrawn: unmap what is mapped for peers alone, and watch it no
 *  longer. */
void ucp_fh_watch_remove(ucp_fh_watched_t *watched);

/** Find the next memory that the program has unmapped.
 *
 *  @return whether there is any. */
int ucp_fh_watch_next(ucp_fh_watched_t *watched, uint64_t *start_p,
                      uint64_t *end_p);

/** It is being withdrawn. */
void ucp_fh_watch_take(ucp_fh_watched_t *watched, uint64_t start, uint64_t end);

/** Some of it was withdrawn: unmap what is mapped of it for peers alone. */
void ucp_fh_watch_release(ucp_fh_watched_t *watched, uint64_t start,
                          uint64_t end);

END_C_DECLS

#endif
