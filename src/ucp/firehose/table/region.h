/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_REGION_H_
#define UCP_FH_REGION_H_

#include "local.h"

/** @file region.h
 *
 * The regions of the local table and their buckets: where they are found, who
 * is counted on them, and which lists a region is in. Under the lock of the
 * table. */

/** @return where all regions' pages of a bucket are, among others. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucp_fh_pages(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket)
{
    return ucs_rcache_pred_bucket(&table->pages, bucket);
}

/** @return what a region has of a bucket, whose region covers all that a span
 *          has of it, or NULL. Of several the one of the oldest region: while
 *          that is in use, it is always the same. */
ucp_fh_page_t *ucp_fh_page_find(const ucp_fh_local_t *table,
                                ucp_fh_bucket_t bucket,
                                const ucp_fh_span_t *span);

/** @return how many buckets a region of at most so many may have now, such that
 *          not too many can ever be stranded. */
uint64_t ucp_fh_region_room(const ucp_fh_local_t *table, uint64_t num);

/** @return memory for a region that is in no table yet, or NULL. */
ucp_fh_region_t *
ucp_fh_region_alloc(const ucp_fh_run_t *run, const ucp_fh_span_t *span);

/** A region is to be pinned: its buckets can be found, without a count. */
void ucp_fh_region_add(ucp_fh_local_t *table, ucp_fh_region_t *region);

/** Remove and free a region that is in no list and has no count. */
void ucp_fh_region_destroy(ucp_fh_local_t *table, ucp_fh_region_t *region);

/** Put a pinned region that nobody uses where it belongs. */
void ucp_fh_region_idle(ucp_fh_local_t *table, ucp_fh_region_t *region);

/** A victim is one no longer. */
void ucp_fh_region_revive(ucp_fh_local_t *table, ucp_fh_region_t *region);

/** @return a withdrawal that has buckets of a run: the next one, or the first
 *          if @a withdraw is NULL; or NULL. */
static inline ucp_fh_withdraw_t *
ucp_fh_withdraw_next(const ucp_fh_local_t *table,
                     const ucp_fh_withdraw_t *withdraw, const ucp_fh_run_t *run)
{
    ucp_fh_place_t *place = (withdraw == NULL) ?
                                    ucp_fh_places_first(&table->withdraws,
                                                        run) :
                                    ucp_fh_places_next(&withdraw->place, run);

    return (place == NULL) ?
                   NULL : ucs_container_of(place, ucp_fh_withdraw_t, place);
}

/** A region was unpinned, or cannot be: what was withdrawn learns of that. */
void ucp_fh_region_gone(ucp_fh_local_t *table, const ucp_fh_region_t *region,
                        ucs_status_t status);

/** Count a local use of a bucket. */
void ucp_fh_page_use(ucp_fh_local_t *table, ucp_fh_page_t *page);
void ucp_fh_page_unuse(ucp_fh_local_t *table, ucp_fh_page_t *page);

/** Count a firehose on a bucket. */
void ucp_fh_page_grant(ucp_fh_local_t *table, ucp_fh_page_t *page);
void ucp_fh_page_ungrant(ucp_fh_local_t *table, ucp_fh_page_t *page);

#endif
