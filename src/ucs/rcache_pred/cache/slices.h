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
 * Extents that share memory. Programs use slices of arrays. A use of a slice inside of
 * a registered extent needs no registration of its own. No byte is in two registrations,
 * unless uses of both extents are under way or the helper has yet to merge them. Any
 * thread calls these functions, under the lock.
 */

/**
 * Find the next extent of a domain that is registered, or about to be, and has bytes of a
 * range. Stale extents are left out.
 *
 * @param [in] extent  The extent that was found last; NULL: find the first one.
 * @return NULL if there are no more.
 */
ucs_rcache_pred_extent_t *
pred_next_registered(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_extent_t *extent,
                     const ucs_rcache_pred_range_t *range);

/**
 * Find the next extent as @ref pred_next_registered does, and also those that only touch
 * the range, at an address that is no multiple of 16: they have the page of that address
 * in common with the range. UCX's own cache merges such slices, since it rounds what it
 * registers out to multiples of 16 bytes (UCS_RCACHE_MIN_ALIGNMENT, UCX 1.13).
 */
ucs_rcache_pred_extent_t *
pred_next_touching(const ucs_rcache_pred_domain_t *domain,
                   ucs_rcache_pred_extent_t *extent,
                   const ucs_rcache_pred_range_t *range);

/**
 * Find an extent for a use among the extents that share memory with the use. The first of
 * these kinds that there is, in this order:
 *
 *   1. an extent that serves the use;
 *   2. an extent that another thread is registering, which the use waits for, since the
 *      extent will serve the use or be merged with what the use registers;
 *   3. an idle extent that stands for slices, see pred_stands_for();
 *   4. @a same;
 *   5. an idle extent with half of its bytes in common with the use, most likely of the
 *      same buffer.
 *
 * @param [in] time    When the use began, ns.
 * @param [in] claims  Value of table->claims when the use began to look. Of the second
 *                     kind, only extents count that were claimed by then.
 * @param [in] same    An idle extent whose region starts where the use does; NULL: there
 *                     is none.
 * @return NULL if there is none of these.
 */
ucs_rcache_pred_extent_t *
pred_find_slice(ucs_rcache_pred_domain_t *domain,
                const ucs_rcache_pred_range_t *range, unsigned access,
                ucs_rcache_pred_time_t time, uint64_t claims,
                ucs_rcache_pred_extent_t *same);

/** Where keys are scarce, extend the range of a buffer to memory beside the range that was
 *  used before, as long as a registration of all takes up to four times as long as that of
 *  the buffer. No page lies in between that nobody has used. Under lock.
 *  @param [in,out] access  Access that the buffer needs; then that of all. */
void pred_extend(const ucs_rcache_pred_domain_t *domain,
                 ucs_rcache_pred_range_t *range, unsigned *access);

/** @return whether a use of this range, which begins at @a time, ns, is a use of a slice
 *          for which the extent stands: the extent was joined with the slice
 *          (helper/join.c), or merged with it and just given up (helper/merge.c). */
int pred_stands_for(const ucs_rcache_pred_extent_t *extent,
                    const ucs_rcache_pred_range_t *range,
                    ucs_rcache_pred_time_t time);

/** If a region stands for a burst of slices, let each slice stand for itself again, and
 *  let none of them be joined any more. The region becomes stale, and the helper clears it
 *  away. Under lock. */
void pred_part_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** @return whether some extent was ever registered with all of a range, and the range was
 *          not unmapped since: leave-pinned would still have it registered. */
int pred_is_slice_known(const ucs_rcache_pred_domain_t *domain,
                        const ucs_rcache_pred_range_t *range);

/**
 * @return whether the helper should not register a region ahead, since other extents have
 *         the memory that the next use is expected to need: one of them has all of it
 *         registered, or one has a part of it and cannot be merged with the rest. An
 *         extent cannot be merged while it is in use or being registered, or if both
 *         together are too much for a bound.
 */
int pred_is_slice_taken(const ucs_rcache_pred_region_t *region);

/**
 * @return whether another extent has all of this extent's memory registered, or is being
 *         registered with it. Then the caller deregisters this extent: the other one
 *         serves the next use.
 */
int pred_is_slice_spare(const ucs_rcache_pred_extent_t *extent);

/**
 * Before a claimed extent is registered, deregister the idle extents that share memory
 * with it, and extend the claimed extent to their ranges. Otherwise two extents that are
 * used in turns would pin memory twice, or take the memory from each other with each use.
 * UCX's own cache does the same (ucs_rcache_check_overlap() in UCX 1.13).
 *
 * For a use, the claimed extent is also extended to extents in use that most likely are
 * of the same buffer, if there is room. If the claimed extent has all bytes of an extent
 * in use, the latter is spare: the end of its last use deregisters it. An extent that
 * touches the claimed one within a page stays as it is, and both note that (field
 * touches). If the bounds never have room for the claimed extent, the call does nothing.
 * The lock is released during deregistrations.
 *
 * @param [in] by  For whom the extent is registered: a use, or the helper.
 */
void pred_merge_slices(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_extent_t *extent,
                       ucs_rcache_pred_by_t by);

#endif
