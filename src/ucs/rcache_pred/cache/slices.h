/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SLICES_H_
#define UCS_RCACHE_PRED_SLICES_H_

#include "cache.h"

/** @file slices.h
 *
 * Regions that share memory. Programs use slices of arrays: a use inside of
 * what is registered needs no registration of its own, and the same byte is not
 * pinned twice, except while uses are under way that need it in two
 * registrations. Any thread calls these functions, under the lock.
 */

/**
 * @return the next extent of a domain that is registered, or about to be, and has bytes
 *         of a range, but for those whose memory was unmapped; NULL: there are no more.
 *
 * @param [in] extent  The one before; NULL: begin.
 */
ucs_rcache_pred_extent_t *
pred_next_registered(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_extent_t *extent,
                     const ucs_rcache_pred_range_t *range);

/**
 * @return likewise, those included that touch the range within a page.
 *
 * UCX's own cache rounds what it registers out to a multiple of 16 bytes, and merges what
 * overlaps then (UCS_RCACHE_MIN_ALIGNMENT, UCX 1.13). Slices that touch, but at no such
 * multiple, have the page in common where they do.
 */
ucs_rcache_pred_extent_t *
pred_next_touching(const ucs_rcache_pred_domain_t *domain,
                   ucs_rcache_pred_extent_t *extent,
                   const ucs_rcache_pred_range_t *range);

/**
 * Find an extent for a use, which begins at a time, ns, among those that share memory with
 * it. That is one which serves it; or else one that is being registered, which the use
 * waits for so that it can serve the use or be merged, unless it was claimed after so
 * many claims as there were when the use began to look; or else one without uses which
 * stands for slices, see pred_stands_for(), or most likely is the same buffer.
 *
 * @return NULL if there is none of these.
 */
ucs_rcache_pred_extent_t *
pred_find_slice(ucs_rcache_pred_domain_t *domain,
                const ucs_rcache_pred_range_t *range, unsigned access,
                ucs_rcache_pred_time_t time, uint64_t claims);

/** @return whether an extent stands for slices, of which a use that begins at a time, ns, is
 *          one: they were joined, or merged and just given up, see helper/merge.c. */
int pred_stands_for(const ucs_rcache_pred_extent_t *extent,
                    const ucs_rcache_pred_range_t *range,
                    ucs_rcache_pred_time_t time);

/** @return whether an extent knows all of a range: some registration had it, as
 *          leave-pinned would still have. */
int pred_is_slice_known(const ucs_rcache_pred_domain_t *domain,
                        const ucs_rcache_pred_range_t *range);

/**
 * @return whether the memory that is expected to be used next of a region should
 *         not be registered ahead, since others have it: one that has all of it
 *         is registered, or one that cannot be merged, since it is in use, is
 *         being registered, or is too much for a bound together with it, has a
 *         part of it. The helper calls this.
 */
int pred_is_slice_taken(const ucs_rcache_pred_region_t *region);

/**
 * @return whether another extent has all of this one's registered memory
 *         registered, or about to be, so that this registration is of no use to
 *         anybody any more: that one serves the next use.
 */
int pred_is_slice_spare(const ucs_rcache_pred_extent_t *extent);

/**
 * Before a claimed region is registered, deregister all extents without uses
 * that are registered and share memory with it, and extend it to what they had
 * registered. Otherwise two such extents that are used in turns would either
 * pin memory twice, or take it from each other with each use. UCX's own cache
 * does the same (ucs_rcache_check_overlap() in UCX 1.13). For a use, it is also
 * extended to extents in use that most likely are the same buffer, if there is
 * room. These are spare then, as are all that are inside of it: the end of their
 * last use deregisters them. Of extents that touch it within a page, that is noted
 * (extent->touches). Does nothing if the extent can never be registered under the
 * bounds. The lock is released meanwhile.
 */
void pred_merge_slices(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_extent_t *extent,
                       ucs_rcache_pred_by_t by);

#endif
