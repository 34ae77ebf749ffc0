/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "outbox.h"
#include "settle.h"
#include "target.h"
#include "unmap.h"

#include <stdlib.h>


/* Memory that the program has unmapped, until it is withdrawn and unmapped.
 * Protected by ucp_fh::lock */
typedef struct {
    ucp_fh_withdraw_t withdraw;    /* First member, see withdrawn() */
    struct ucp_fh_mem *mem;
    uint64_t          start;       /* Whole pages, in bytes */
    uint64_t          end;
    int               has_buckets; /* Whether it is in ucp_fh::leaving */
    ucp_fh_place_t    place;       /* There */
    ucs_list_link_t   link;        /* In ucp_fh::withdrawn, from when it is
                                      withdrawn until a thread unmaps it */
} leaving_t;


/* Under lock */
static void withdrawn(ucp_fh_comp_t *self)
{
    leaving_t *leaving = ucs_container_of(self, leaving_t, withdraw.comp);

    ucs_list_add_tail(&leaving->mem->fh->withdrawn, &leaving->link);
    if (leaving->mem->status == UCS_OK) {
        leaving->mem->status = self->status;
    }
    ucp_fh_wake(leaving->mem->fh);
}

/* Let peers have a part of memory that they had before */
static void expose_part(ucp_fh_t *fh, ucp_fh_part_t *part, uint64_t start,
                        uint64_t end)
{
    ucp_fh_span_t span;

    part->start = start;
    part->end   = end;
    (void)ucp_fh_span_pages(start, end - start, &span);
    /* Cannot fail: none of its buckets is being withdrawn */
    (void)ucp_fh_local_expose(&fh->local, &part->exposed, &span);
    ucs_list_add_tail(&part->mem->parts, &part->link);
}

/* Take buckets out of a part. @return whether @a spare was needed, since the
 * part became two */
static int cut(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run,
               ucp_fh_part_t *spare)
{
    uint64_t start = run->first << fh->shift;
    uint64_t end   = ucp_fh_run_end(run) << fh->shift;
    uint64_t last  = part->end;

    ucs_list_del(&part->link);
    ucp_fh_local_conceal(&fh->local, &part->exposed);
    if ((part->start < start) && (end < last)) {
        spare->mem = part->mem;
        expose_part(fh, spare, end, last);
        expose_part(fh, part, part->start, start);
        return 1;
    }

    if (part->start < start) {
        expose_part(fh, part, part->start, start);
    } else if (end < last) {
        expose_part(fh, part, end, last);
    } else {
        free(part);
    }
    return 0;
}

/* @return whether @a spare was needed: once at most, as a run that is within
 *         one part concerns no other */
static int
cut_parts(ucp_fh_t *fh, const ucp_fh_run_t *run, ucp_fh_part_t *spare)
{
    int is_needed = 0;
    ucp_fh_part_t *part;

    while ((part = ucp_fh_part_find(fh, run)) != NULL) {
        is_needed |= cut(fh, part, run, spare);
    }

    return is_needed;
}

/* Whether a bucket belongs to exposed memory still, or is being withdrawn from
 * it. If not, it was withdrawn with other pages of it, and may be exposed with
 * what is beside it since */
static int owns_bucket(const ucp_fh_t *fh, const struct ucp_fh_mem *mem,
                       ucp_fh_bucket_t bucket)
{
    ucp_fh_run_t run          = {.first = bucket, .num = 1};
    const ucp_fh_part_t *part = ucp_fh_part_find(fh, &run);
    const ucp_fh_place_t *place;

    if ((part != NULL) && (part->mem == mem)) {
        return 1;
    }

    for (place = ucp_fh_places_first(&fh->leaving, &run); place != NULL;
         place = ucp_fh_places_next(place, &run)) {
        if (ucs_container_of(place, leaving_t, place)->mem == mem) {
            return 1;
        }
    }

    return 0;
}

/* The buckets of some of exposed memory that are to be withdrawn: no others
 * than its own. @return whether there are any */
static int cover(const ucp_fh_t *fh, const struct ucp_fh_mem *mem,
                 uint64_t start, uint64_t end, ucp_fh_run_t *run)
{
    (void)ucp_fh_run_cover(fh->shift, start, end - start, run);
    if ((start != run->first << fh->shift) &&
        !owns_bucket(fh, mem, run->first)) {
        ++run->first;
        --run->num;
    }
    if ((run->num > 0) && (end != ucp_fh_run_end(run) << fh->shift) &&
        !owns_bucket(fh, mem, ucp_fh_run_end(run) - 1)) {
        --run->num;
    }
    return run->num > 0;
}

/* Under lock: buckets are withdrawn as far as they are exposed memory's.
 * @return whether that is done already */
static int withdraw(ucp_fh_t *fh, struct ucp_fh_mem *mem,
                    ucp_fh_withdraw_t *withdraw, const ucp_fh_run_t *run)
{
    ucp_fh_span_t all  = {mem->watched.mapping.start, mem->watched.mapping.end};
    ucp_fh_span_t span = ucp_fh_span_clip(&all, fh->shift, run);

    if (ucp_fh_local_withdraw(&fh->local, withdraw, NULL, &span) !=
        UCS_INPROGRESS) {
        return 1;
    }

    ucp_fh_target_recall(fh, &withdraw->place.run);
    return 0;
}

/* @return 0 if there is no memory */
static int
leave(ucp_fh_t *fh, struct ucp_fh_mem *mem, uint64_t start, uint64_t end)
{
    leaving_t *leaving   = calloc(1, sizeof(*leaving));
    ucp_fh_part_t *spare = calloc(1, sizeof(*spare));
    ucp_fh_run_t run;

    if ((leaving == NULL) || (spare == NULL)) {
        free(leaving);
        free(spare);
        return 0;
    }

    leaving->has_buckets = cover(fh, mem, start, end, &run);
    if (!leaving->has_buckets || !cut_parts(fh, &run, spare)) {
        free(spare);
    }
    if (leaving->has_buckets) {
        ucp_fh_places_add(&fh->leaving, &leaving->place, &run);
    }

    leaving->mem                = mem;
    leaving->start              = start;
    leaving->end                = end;
    leaving->withdraw.comp.func = withdrawn;
    ++mem->num_leaving;
    ucp_fh_watch_take(&mem->watched, start, end);
    if (!leaving->has_buckets ||
        withdraw(fh, mem, &leaving->withdraw, &run)) {
        ucs_list_add_tail(&fh->withdrawn, &leaving->link);
    }
    return 1;
}

void ucp_fh_unmap_begin(ucp_fh_t *fh)
{
    struct ucp_fh_mem *mem;
    uint64_t start, end;

    ucs_list_for_each(mem, &fh->mems, link) {
        while (ucp_fh_watch_next(&mem->watched, &start, &end)) {
            if (!leave(fh, mem, start, end)) {
                /* Relaxed: by whom it is tried again does not matter */
                atomic_store_explicit(&fh->watcher.has_news, 1,
                                      memory_order_relaxed);
                return;
            }
        }
    }
}

int ucp_fh_unmap_finish(ucp_fh_t *fh)
{
    leaving_t *leaving = NULL;

    ucp_fh_lock(fh);
    if (!ucs_list_is_empty(&fh->withdrawn)) {
        leaving = ucs_list_extract_head(&fh->withdrawn, leaving_t, link);
    }
    ucp_fh_unlock(fh);
    if (leaving == NULL) {
        return 0;
    }

    ucp_fh_watch_release(&leaving->mem->watched, leaving->start, leaving->end);
    ucp_fh_lock(fh);
    if (leaving->has_buckets) {
        ucp_fh_places_remove(&fh->leaving, &leaving->place);
    }
    --leaving->mem->num_leaving;
    pthread_cond_broadcast(&fh->cond);
    ucp_fh_unlock(fh);
    free(leaving);
    return 1;
}

void ucp_fh_unmap_progress(ucp_fh_t *fh)
{
    /* Acquire: what a handler has noted before is seen */
    if (atomic_exchange_explicit(&fh->watcher.has_news, 0,
                                 memory_order_acquire)) {
        ucp_fh_lock(fh);
        ucp_fh_unmap_begin(fh);
        ucp_fh_unlock(fh);
        ucp_fh_settle(fh);
    }

    while (ucp_fh_unmap_finish(fh)) {
        /* Until there is no more */
    }
}

int ucp_fh_unmap_concerns(const ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    return ucp_fh_places_first(&fh->leaving, run) != NULL;
}
