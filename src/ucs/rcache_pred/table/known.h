/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_KNOWN_H_
#define UCS_RCACHE_PRED_KNOWN_H_

#include "region.h"

/** @file known.h
 *
 * * Which memory an extent stands for: its registered range; its known range, any part of
 * which may be registered later (extent.h); and the range to register ahead of the next
 * use of its region. And a search for extents that share memory with a range. The caller
 * holds the lock of the cache, unless a comment says otherwise.
 */

/** Make an IDLE extent REGISTERING, for a range and an access, see @ref
 *  ucs_rcache_pred_extent_set_range. */
void ucs_rcache_pred_extent_claim(ucs_rcache_pred_table_t *table,
                                  ucs_rcache_pred_extent_t *extent,
                                  const ucs_rcache_pred_range_t *range,
                                  unsigned access);

/** Make a REGISTERING extent IDLE: it was not registered. */
void ucs_rcache_pred_extent_unclaim(ucs_rcache_pred_table_t *table,
                                    ucs_rcache_pred_extent_t *extent);

/** Set the range that is to be registered of a REGISTERING extent. The known range grows
 *  to have all of @a range. But if other memory lies between the two, the known range
 *  becomes
 *  @a range alone, since nobody knows whether the memory in between exists. */
void ucs_rcache_pred_extent_set_range(ucs_rcache_pred_table_t *table,
                                      ucs_rcache_pred_extent_t *extent,
                                      const ucs_rcache_pred_range_t *range);

/** Let an extent stand for all slices in a range: a use of any of them is a use of the
 *  extent's region. The known range grows to have all of the range. */
void ucs_rcache_pred_extent_join(ucs_rcache_pred_table_t *table,
                                 ucs_rcache_pred_extent_t *extent,
                                 const ucs_rcache_pred_range_t *range);

/** Memory beside the registered range of an extent was unmapped: let the known range end,
 *  or begin, at that memory.
 *  @param [in] unmapped  Has no bytes in common with the registered range. */
void ucs_rcache_pred_extent_cut(ucs_rcache_pred_table_t *table,
                                ucs_rcache_pred_extent_t *extent,
                                const ucs_rcache_pred_range_t *unmapped);

/** Remember what memory and what access a use has needed. Only the helper calls this; it
 *  needs no lock.
 *  @param [in] renewed  Whether the region was registered since the helper last called
 *                       this for it. */
void ucs_rcache_pred_region_add_recent(ucs_rcache_pred_region_t *region,
                                       const ucs_rcache_pred_range_t *range,
                                       unsigned access, int renewed);

/** @return what to register of the region ahead of its next use: all that was
 *          used recently, as far as it is known. Never empty. Only the helper
 *          calls this. */
ucs_rcache_pred_range_t
ucs_rcache_pred_region_expected(const ucs_rcache_pred_region_t *region);

/**
 * Find the extents that have bytes in common with a range.
 *
 * A call takes O(log n) steps, whatever lengths extents have. A search of registered
 * ranges takes as many steps again for each extent that it passes by: one that is
 * registered only behind @a range, although its known range begins before the end of @a
 * range.
 *
 * @param [in] extent  The extent that was found last; NULL: find the first one.
 * @param [in] kind    Which of the extents' ranges is looked at.
 * @return the next one in the order of the table's tree, or NULL.
 */
ucs_rcache_pred_extent_t *
ucs_rcache_pred_table_overlap(const ucs_rcache_pred_table_t *table,
                              ucs_rcache_pred_extent_t *extent,
                              const ucs_rcache_pred_range_t *range,
                              ucs_rcache_pred_range_kind_t kind);

#endif
