/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "slices.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

/* A merge takes this many handles of regions under the lock, then releases the
 * lock and deregisters them. The handles are on the stack: 2 KB */
#define MAX_HANDLES 32

/* The most extents that a use looks at which share memory with it, registered or not. So
 * the use holds the lock for about 2 us, however many slices of the same memory a program
 * uses */
#define MAX_LOOKS 128

/* A use of a part of merged slices registers all of them again if that takes at most this
 * many times as long as to register the part. If the use needs a few pages of thousands,
 * it is better to register the part alone, although it may overlap others then. Measured:
 * a program with 128 pages has 0.53 MiB registered on average with 2 and 0.51 with 4; one
 * with 1024 pages has 3.83 MiB without a limit and 3.43 with 4. Results with 8 are as
 * with 4 */
#define MERGED_TIMES 4

/* UCX's own cache extends each range that it registers to multiples of so many bytes at
 * both ends, see pred_next_touching() */
#define UCX_ALIGN 16


ucs_rcache_pred_extent_t *
pred_next_registered(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_extent_t *extent,
                     const ucs_rcache_pred_range_t *range)
{
    do {
        extent = ucs_rcache_pred_table_overlap(
                &domain->pred->table, extent, range,
                UCS_RCACHE_PRED_RANGE_REGISTERED);
    } while ((extent != NULL) &&
             ((extent->domain != domain) || extent->stale));

    return extent;
}

ucs_rcache_pred_extent_t *
pred_next_touching(const ucs_rcache_pred_domain_t *domain,
                   ucs_rcache_pred_extent_t *extent,
                   const ucs_rcache_pred_range_t *range)
{
    /* An end above the highest multiple of UCX_ALIGN would be rounded up to address 0:
     * such an end stays as it is */
    ucs_rcache_pred_range_t rounded = {
        .start = ucs_round_down(range->start, UCX_ALIGN),
        .end   = ucs_max(ucs_round_up(range->end, UCX_ALIGN),
                         range->end)
    };

    return pred_next_registered(domain, extent, &rounded);
}

/* The next extent of a domain, registered or not, whose known range has bytes of a range.
 *
 * @param [in,out] left  How many extents the search may still look at. */
static ucs_rcache_pred_extent_t *
next_known(const ucs_rcache_pred_domain_t *domain,
           ucs_rcache_pred_extent_t *extent,
           const ucs_rcache_pred_range_t *range, unsigned *left)
{
    while (*left > 0) {
        --*left;
        extent = ucs_rcache_pred_table_overlap(&domain->pred->table, extent,
                                               range,
                                               UCS_RCACHE_PRED_RANGE_KNOWN);
        if ((extent == NULL) ||
            ((extent->domain == domain) && !extent->stale)) {
            return extent;
        }
    }

    return NULL;
}

static ucs_rcache_pred_time_t reg_time(const ucs_rcache_pred_domain_t *domain,
                                       const ucs_rcache_pred_range_t *range)
{
    return ucs_rcache_pred_cost_estimate(
            &domain->reg_cost, NULL, pred_pages(domain->pred, range));
}

/* Whether one registration may have all of an extent besides other memory: nobody uses the
 * extent now, and no attempt to register it with others has failed. Under lock. */
static int may_take_in(const ucs_rcache_pred_extent_t *extent)
{
    return !extent->apart && !ucs_rcache_pred_extent_is_used(extent) &&
           (extent->state != UCS_RCACHE_PRED_EXTENT_REGISTERING);
}

/* Extend a range to memory that was used before and has a page in common with the range,
 * or the page next to it, at one side: no page lies between them that nobody has used.
 *
 * @param [in,out] left  How many extents the search may still look at.
 * @return whether there is such memory. */
static int extend(const ucs_rcache_pred_domain_t *domain, int is_right,
                  ucs_rcache_pred_time_t max_time, unsigned *left,
                  ucs_rcache_pred_range_t *range, unsigned *access)
{
    size_t page                  = domain->pred->params.page_size;
    ucs_rcache_pred_range_t edge = {
        .start = is_right ? range->end : (ucs_round_down(range->start, page) - page),
        .end   = is_right ? (ucs_round_up(range->end, page) + page) : range->start
    };
    ucs_rcache_pred_extent_t *extent = NULL;
    ucs_rcache_pred_range_t hull;

    while ((extent = next_known(domain, extent, &edge, left)) != NULL) {
        hull = ucs_rcache_pred_range_hull(range, &extent->known);
        if (may_take_in(extent) && !ucs_rcache_pred_range_has(range, &hull) &&
            (reg_time(domain, &hull) <= max_time)) {
            *range   = hull;
            *access |= ucs_rcache_pred_region_of(extent)->recent_access;
            return 1;
        }
    }

    return 0;
}

void pred_extend(const ucs_rcache_pred_domain_t *domain,
                 ucs_rcache_pred_range_t *range, unsigned *access)
{
    ucs_rcache_pred_time_t max_time = MERGED_TIMES * reg_time(domain, range);
    unsigned left                   = MAX_LOOKS;

    while (extend(domain, 1, max_time, &left, range, access) ||
           extend(domain, 0, max_time, &left, range, access)) {
    }
}

int pred_stands_for(const ucs_rcache_pred_extent_t *extent,
                    const ucs_rcache_pred_range_t *range,
                    ucs_rcache_pred_time_t time)
{
    return ucs_rcache_pred_range_has(&extent->joined, range) &&
           (!ucs_rcache_pred_extent_is_merged(extent) ||
            ((time < extent->merged_until) &&
             (reg_time(extent->domain, &extent->joined) <=
              MERGED_TIMES * reg_time(extent->domain, range))));
}

void pred_part_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_extent_t *extent = NULL;
    unsigned left                    = MAX_LOOKS;

    if (region->num_joined == 0) {
        return;
    }

    while ((extent = next_known(region->extent.domain, extent,
                                &region->extent.joined, &left)) != NULL) {
        extent->apart = 1;
    }
    pred_make_stale(pred, &region->extent);
    pred_note_stale(pred);
}

/* Find an extent without uses that stands for slices, of which the range is one; or else
 * @a same; or else an extent that most likely is the same buffer as the range. NULL: there
 * is none. */
static ucs_rcache_pred_extent_t *
find_idle(const ucs_rcache_pred_domain_t *domain,
          const ucs_rcache_pred_range_t *range, ucs_rcache_pred_time_t time,
          ucs_rcache_pred_extent_t *same)
{
    ucs_rcache_pred_extent_t *similar = NULL;
    ucs_rcache_pred_extent_t *extent  = NULL;
    unsigned left                     = MAX_LOOKS;

    while ((extent = next_known(domain, extent, range, &left)) != NULL) {
        if (ucs_rcache_pred_extent_is_used(extent) ||
            (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERING)) {
            continue;
        }

        if (pred_stands_for(extent, range, time)) {
            return extent;
        }

        if (ucs_rcache_pred_range_is_similar(&extent->range, range)) {
            similar = extent;
        }
    }

    return (same != NULL) ? same : similar;
}

ucs_rcache_pred_extent_t *
pred_find_slice(ucs_rcache_pred_domain_t *domain,
                const ucs_rcache_pred_range_t *range, unsigned access,
                ucs_rcache_pred_time_t time, uint64_t claims,
                ucs_rcache_pred_extent_t *same)
{
    ucs_rcache_pred_extent_t *coming = NULL;
    ucs_rcache_pred_extent_t *extent = NULL;

    while ((extent = pred_next_registered(domain, extent, range)) != NULL) {
        if (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERING) {
            coming = (extent->claim <= claims) ? extent : coming;
        } else if (ucs_rcache_pred_extent_covers(extent, range, access)) {
            return extent;
        }
    }

    return (coming != NULL) ? coming : find_idle(domain, range, time, same);
}

int pred_is_slice_known(const ucs_rcache_pred_domain_t *domain,
                        const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_extent_t *extent = NULL;
    unsigned left                    = MAX_LOOKS;

    while ((extent = next_known(domain, extent, range, &left)) != NULL) {
        if (ucs_rcache_pred_range_has(&extent->known, range)) {
            return 1;
        }
    }

    return 0;
}

int pred_is_slice_taken(const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_range_t range    = ucs_rcache_pred_region_expected(region);
    ucs_rcache_pred_range_t all      = range;
    ucs_rcache_pred_domain_t *domain = region->extent.domain;
    ucs_rcache_pred_extent_t *other  = NULL;
    int merge                        = 0;

    while ((other = pred_next_registered(domain, other, &range)) != NULL) {
        if (other == &region->extent) {
            continue;
        }

        if (ucs_rcache_pred_extent_is_used(other) ||
            (other->state == UCS_RCACHE_PRED_EXTENT_REGISTERING) ||
            ucs_rcache_pred_extent_covers(other, &range,
                                          region->recent_access)) {
            return 1;
        }

        all   = ucs_rcache_pred_range_hull(&all, &other->range);
        merge = 1;
    }

    return merge && pred_range_never_fits(domain->pred, &all);
}

int pred_is_slice_spare(const ucs_rcache_pred_extent_t *extent)
{
    ucs_rcache_pred_extent_t *other = NULL;

    while ((other = pred_next_registered(extent->domain, other,
                                         &extent->range)) != NULL) {
        if ((other != extent) &&
            ucs_rcache_pred_extent_covers(other, &extent->range,
                                          extent->access)) {
            return 1;
        }
    }

    return 0;
}

/* Whether to extend a claimed extent to the range of another extent, which is in use. Two
 * uses of one buffer at the same time may begin and end at slightly different places, and
 * one registration of both ranges serves the next uses. Ranges that are less similar stay
 * apart: otherwise, where many slices are in use and each overlaps the slice before, each
 * use would register all slices before its own. Under lock. */
static int takes_in(const ucs_rcache_pred_t *pred,
                    const ucs_rcache_pred_extent_t *extent,
                    const ucs_rcache_pred_extent_t *other)
{
    ucs_rcache_pred_range_t hull;

    hull = ucs_rcache_pred_range_hull(&extent->range, &other->range);
    return ucs_rcache_pred_range_is_similar(&extent->range,
                                            &other->range) &&
           pred_range_fits(pred, &hull);
}

/*
 * Extend a claimed extent to the ranges of registered extents that overlap it, and take
 * the handles of those without uses. Extents that only touch it stay as they are. Under
 * lock.
 *
 * @param [out] handles  Room for MAX_HANDLES handles.
 * @return how many handles were taken.
 */
static unsigned take_handles(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_extent_t *extent,
                             ucs_rcache_pred_by_t by, pred_handle_t *handles)
{
    ucs_rcache_pred_range_t range   = extent->range;
    ucs_rcache_pred_extent_t *other = NULL;
    unsigned count                  = 0;

    while ((count < MAX_HANDLES) &&
           ((other = pred_next_touching(extent->domain, other, &range)) !=
            NULL)) {
        if (other == extent) {
            continue;
        }

        if (!ucs_rcache_pred_range_overlaps(&other->range, &range)) {
            other->touches = extent->touches = 1;
            continue;
        }

        if (other->state == UCS_RCACHE_PRED_EXTENT_REGISTERING) {
            other->maybe_spare = 1;
            continue;
        }

        if (ucs_rcache_pred_extent_is_used(other)) {
            other->maybe_spare = 1;
            if ((by != UCS_RCACHE_PRED_BY_USE) ||
                !takes_in(pred, extent, other)) {
                continue;
            }
        }

        range           = ucs_rcache_pred_range_hull(&range,
                                                     &other->range);
        extent->access |= other->access;
        if (!ucs_rcache_pred_extent_is_used(other)) {
            handles[count++] = pred_take_handle(pred, other);
        }
    }

    ucs_rcache_pred_extent_set_range(&pred->table, extent, &range);
    return count;
}

void pred_merge_slices(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_extent_t *extent,
                       ucs_rcache_pred_by_t by)
{
    pred_handle_t handles[MAX_HANDLES];
    size_t length;
    unsigned count, i;

    if (pred_range_never_fits(pred, &extent->range)) {
        return;
    }

    /* Go on as long as the extent grows: it may share memory with further extents then */
    do {
        length = ucs_rcache_pred_range_length(&extent->range);
        count  = take_handles(pred, extent, by, handles);
        if (count > 0) {
            pred_unlock(pred);
            for (i = 0; i < count; ++i) {
                pred_deregister(&handles[i], by);
            }
            pred_lock(pred);
        }
    } while ((count > 0) ||
             (ucs_rcache_pred_range_length(&extent->range) > length));
}
