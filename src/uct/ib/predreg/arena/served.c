/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served.h"
#include "system.h"

#include <ucs/base/relaxed.h>

#include <string.h>


/* The end of usual addresses, on x86 with page tables of four or five levels, and on most
 * ARM. The kernel hands out higher addresses only when asked */
#define USUAL_ADDRESSES (1ul << 47)

/* The time stamp counters of two processors differ by less than this, ns. A clock that goes
 * back by more has jumped */
#define CLOCK_SLACK 1000000


ucs_rcache_pred_time_t uct_predreg_served_time(uct_predreg_served_t *served)
{
    uint64_t last = ucs_relaxed_load(&served->last);
    uint64_t now  = served->now(served->arg);

    /* The time is noted rarely, so that threads do not take the cache line from each
     * other. The clock may thus have been later than the noted time by up to the slack,
     * so the arena's time makes up for the slack as well. Of several threads that find a
     * jump, one notes the new time. A late thread, which has read the clock before the
     * jump, makes the time go ahead once, and work is done early */
    if (((now > last + CLOCK_SLACK) || (last > now + CLOCK_SLACK)) &&
        ucs_relaxed_cas(&served->last, &last, now) &&
        (now < last)) {
        ucs_relaxed_add(&served->lost, last + CLOCK_SLACK - now);
    }
    return now + ucs_relaxed_load(&served->lost);
}

ucs_rcache_pred_time_t
uct_predreg_served_clock(const uct_predreg_served_t *served,
                         ucs_rcache_pred_time_t time)
{
    uint64_t lost = ucs_relaxed_load(&served->lost);

    return (time > lost) ? (time - lost) : 0;
}

int uct_predreg_served_pages(const uct_predreg_served_t *served,
                             const void *address, size_t length,
                             uct_predreg_pages_t *pages)
{
    size_t mask = served->page_size - 1;
    size_t size = (length + mask) & ~mask;

    pages->start = (uintptr_t)address;
    pages->end   = pages->start + size;
    return !(pages->start & mask) && (size >= length) && (size > 0) &&
           (pages->end > pages->start) &&
           /* Few programs ask for addresses beyond the usual ones, and none for memory that
            * is partly below their end and partly beyond */
           ((pages->start >= USUAL_ADDRESSES) ||
            (pages->end <= USUAL_ADDRESSES));
}

int uct_predreg_served_part(const uct_predreg_served_t *served,
                            const uct_predreg_pages_t *pages,
                            uct_predreg_pages_t *part)
{
    *part = *pages;
    return ucs_arena_slabs_clip(&served->arena->slabs, &part->start, &part->end);
}

int uct_predreg_served_is_spoilt(const uct_predreg_served_t *served,
                                 const uct_predreg_pages_t *pages)
{
    return ucs_arena_is_spoilt(served->arena, (void*)pages->start,
                               uct_predreg_pages_length(pages));
}

int uct_predreg_served_is_across(const uct_predreg_served_t *served,
                                 const uct_predreg_pages_t *pages)
{
    return ((pages->start ^ (pages->end - 1)) >> served->arena->slabs.shift) !=
           0;
}

int uct_predreg_served_is_live(const uct_predreg_served_t *served,
                               const uct_predreg_pages_t *pages)
{
    return ucs_arena_live(served->arena, (void*)pages->start,
                          uct_predreg_pages_length(pages));
}

int uct_predreg_served_is_protected(const uct_predreg_served_t *served,
                                    const uct_predreg_pages_t *pages)
{
    return uct_predreg_altered_has(&served->is_protected, pages->start,
                                   pages->end);
}

int uct_predreg_served_is_altered(const uct_predreg_served_t *served,
                                  const uct_predreg_pages_t *part)
{
    return uct_predreg_served_is_protected(served, part) ||
           uct_predreg_altered_has(&served->is_advised, part->start, part->end);
}

int uct_predreg_served_may_stay(const uct_predreg_served_t *served,
                                const uct_predreg_pages_t *part)
{
    return !uct_predreg_served_is_spoilt(served, part) &&
           uct_predreg_served_is_live(served, part);
}

static int undo(uct_predreg_served_t *served, const uct_predreg_pages_t *part,
                int (*cb)(void *address, size_t length))
{
    return uct_predreg_altered_remove(&served->is_protected, part->start,
                                      part->end, cb) &&
           uct_predreg_altered_remove(&served->is_advised, part->start,
                                      part->end, cb);
}

int uct_predreg_served_renew(uct_predreg_served_t *served,
                             const uct_predreg_pages_t *part)
{
    int is_done = 0;

    if (!uct_predreg_served_is_altered(served, part)) {
        return 1;
    }

    /* If the memory is not registered, one call maps it anew; it has no huge pages at
     * first */
    if (ucs_arena_enter_plain(served->arena) == UCS_OK) {
        is_done = ucs_arena_is_plain(served->arena, (void*)part->start,
                                     uct_predreg_pages_length(part)) &&
                  undo(served, part, uct_predreg_system_anew);
        ucs_arena_leave_plain(served->arena);
    }
    return is_done || undo(served, part, uct_predreg_system_renew);
}

void uct_predreg_served_spoil(uct_predreg_served_t *served,
                              const uct_predreg_pages_t *part)
{
    (void)ucs_arena_spoil(served->arena, (void*)part->start,
                          uct_predreg_pages_length(part));
}

int uct_predreg_served_release(uct_predreg_served_t *served,
                               const uct_predreg_pages_t *part)
{
    ucs_status_t status;

    if (!uct_predreg_served_renew(served, part)) {
        uct_predreg_served_spoil(served, part);
        return 0;
    }

    status = ucs_arena_free(served->arena, (void*)part->start,
                            uct_predreg_pages_length(part),
                            uct_predreg_served_time(served));
    return status != UCS_ERR_UNSUPPORTED;
}

void uct_predreg_served_spoil_others(uct_predreg_served_t *served,
                                     const uct_predreg_pages_t *part)
{
    if (uct_predreg_served_is_across(served, part)) {
        uct_predreg_served_spoil(served, part);
    }
}

void uct_predreg_served_clear(uct_predreg_served_t *served,
                              const uct_predreg_pages_t *part)
{
    if (ucs_arena_discard_live(served->arena, (void*)part->start,
                               uct_predreg_pages_length(part)) != UCS_OK) {
        memset((void*)part->start, 0, uct_predreg_pages_length(part));
    }
}
