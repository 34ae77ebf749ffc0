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
 * Notices when the program unmaps or replaces exposed memory. UCX's memory hooks (UCM)
 * call the handlers of this file; where the hooks are off, nothing is noticed.
 *
 * munmap() of exposed memory returns at once, but the memory stays mapped until
 * ucp_fh_watch_release(). If the program maps something else in the place of the memory,
 * moves the memory away, or cuts it off the heap, the memory is gone at once.
 *
 * Any thread may call the functions, with ucp_fh::lock or without it; but
 * ucp_fh_watch_release() and ucp_fh_watch_remove(), which unmap, only without that lock.
 */

/** What handlers need to wake the library's thread: one for each ucp_fh_t. */
typedef struct ucp_fh_watcher {
    atomic_int has_news; /**< Whether ucp_fh_watch_next() may find something. Set by handlers
                              after they have noted the pages (release), cleared by the
                              library's thread before it looks (acquire) */
    int        wake_fd;  /**< Handlers write to this eventfd, and so do other threads that
                              wake the library's thread. Does not change */
} ucp_fh_watcher_t;


/** Exposed memory. Protected by the lock of watch.c. */
typedef struct ucp_fh_watched {
    ucs_list_link_t  link;
    ucp_fh_mapping_t mapping;
    ucp_fh_watcher_t *watcher;
    atomic_int       has_news; /**< As ucp_fh_watcher_t::has_news, for this memory. Written
                                    under the lock of watch.c. Read without lock as well,
                                    relaxed: a reader that misses news here looks again when
                                    it finds ucp_fh_watcher_t::has_news set */
} ucp_fh_watched_t;


/** Ask UCM for events, once in a process.
 *
 *  @return UCS_OK, or an error: then the library will not notice that the program unmaps
 *          memory. */
ucs_status_t ucp_fh_watch_start(void);

/** Begin to watch memory.
 *
 *  @return UCS_OK, or UCS_ERR_NO_MEMORY. */
ucs_status_t ucp_fh_watch_add(ucp_fh_watched_t *watched,
                              ucp_fh_watcher_t *watcher, uint64_t start,
                              uint64_t end);

/** End the watch of memory, all of which was withdrawn, and unmap the pages that are
 *  mapped for peers alone. */
void ucp_fh_watch_remove(ucp_fh_watched_t *watched);

/** Find the next pages that the program has unmapped.
 *
 *  @return whether there are any. */
int ucp_fh_watch_next(ucp_fh_watched_t *watched, uint64_t *start_p,
                      uint64_t *end_p);

/** Note that the caller withdraws the unmapped pages of a range: ucp_fh_watch_next() does
 *  not find these pages any more. */
void ucp_fh_watch_take(ucp_fh_watched_t *watched, uint64_t start, uint64_t end);

/** A range was withdrawn: unmap its pages that are mapped for peers alone. */
void ucp_fh_watch_release(ucp_fh_watched_t *watched, uint64_t start,
                          uint64_t end);

END_C_DECLS

#endif
