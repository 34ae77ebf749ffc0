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
    ucp_fh_withdraw_t withdraw; /* First member, see withdrawn() */
    struct ucp_fh_mem *mem;
    uint64_t          start;    /* Whole pages, in bytes */
    uint64_t          end;
    int               is_withdrawn;
    int               is_taken; /* A thread unmaps it just now */
    ucs_list_link_t   link;     /* In ucp_fh::leaving */
} leaving_t;


/* Under lock */
static void withdrawn(ucp_fh_comp_t *self)
{
    leaving_t *leaving = ucs_container_of(self, leaving_t, withdraw.comp);

    leaving->is_withdrawn = 1;
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
    ucs_list_add_tail(&fh->parts, &part->link);
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

static int is_within(const ucp_fh_run_t *run, const ucp_fh_run_t *other)
{
    return (run->first >= other->first) &&
           (ucp_fh_run_end(run) <= ucp_fh_run_end(other));
}

/* @return whether @a spare was needed: once at most, as a run that is within
 *         one part concerns no other. What is left of parts is at the end of
 *         the list, where it is found at once if the program unmaps what comes
 *         next */
static int
cut_parts(ucp_fh_t *fh, const ucp_fh_run_t *run, ucp_fh_part_t *spare)
{
    int is_needed = 0;
    ucs_list_link_t *link, *prev;
    ucp_fh_part_t *part;

    for (link = fh->parts.prev; link != &fh->parts; link = prev) {
        prev = link->prev;
        part = ucs_container_of(link, ucp_fh_part_t, link);
        if (is_within(run, &part->exposed.run)) {
            return cut(fh, part, run, spare);
        }
        if (ucp_fh_run_overlaps(&part->exposed.run, run)) {
            is_needed |= cut(fh, part, run, spare);
        }
    }

    return is_needed;
}

/* Whether a bucket belongs to exposed memory still, or is being withdrawn from
 * it. If not, it was withdrawn with other pages of it, and may be exposed with
 * what is beside it since */
static int owns_bucket(const ucp_fh_t *fh, const struct ucp_fh_mem *mem,
                       ucp_fh_bucket_t bucket)
{
    const ucp_fh_part_t *part;
    const leaving_t *leaving;

    ucs_list_for_each(leaving, &fh->leaving, link) {
        if ((leaving->mem == mem) &&
            ucp_fh_run_has(&leaving->withdraw.run, bucket)) {
            return 1;
        }
    }

    ucs_list_for_each(part, &fh->parts, link) {
        if ((part->mem == mem) && ucp_fh_run_has(&part->exposed.run, bucket)) {
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

/* Under lock: buckets are withdrawn as far as they are exposed memory's. @return
 * whether that is done already */
static int withdraw(ucp_fh_t *fh, struct ucp_fh_mem *mem,
                    ucp_fh_withdraw_t *withdraw, const ucp_fh_run_t *run)
{
    ucp_fh_span_t all  = {mem->watched.mapping.start, mem->watched.mapping.end};
    ucp_fh_span_t span = ucp_fh_span_clip(&all, fh->shift, run);

    if (ucp_fh_local_withdraw(&fh->local, withdraw, NULL, &span) !=
        UCS_INPROGRESS) {
        return 1;
    }

    ucp_fh_target_recall(fh, &withdraw->recall);
    return 0;
}

/* @return 0 if there is no memory */
static int
leave(ucp_fh_t *fh, struct ucp_fh_mem *mem, uint64_t start, uint64_t end)
{
    leaving_t *leaving   = calloc(1, sizeof(*leaving));
    ucp_fh_part_t *spare = calloc(1, sizeof(*spare));
    int has_buckets;
    ucp_fh_run_t run;

    if ((leaving == NULL) || (spare == NULL)) {
        free(leaving);
        free(spare);
        return 0;
    }

    has_buckets = cover(fh, mem, start, end, &run);
    if (!has_buckets || !cut_parts(fh, &run, spare)) {
        free(spare);
    }

    leaving->mem                = mem;
    leaving->start              = start;
    leaving->end                = end;
    leaving->withdraw.comp.func = withdrawn;
    ++mem->num_leaving;
    ucs_list_add_tail(&fh->leaving, &leaving->link);
    ucp_fh_watch_take(&mem->watched, start, end);
    leaving->is_withdrawn = !has_buckets ||
                            withdraw(fh, mem, &leaving->withdraw, &run);
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

/* Under lock. @return something that was withdrawn, or NULL */
static leaving_t *next_withdrawn(ucp_fh_t *fh)
{
    leaving_t *leaving;

    ucs_list_for_each(leaving, &fh->leaving, link) {
        if (leaving->is_withdrawn && !leaving->is_taken) {
            leaving->is_taken = 1;
            return leaving;
        }
    }

    return NULL;
}

int ucp_fh_unmap_finish(ucp_fh_t *fh)
{
    leaving_t *leaving;

    ucp_fh_lock(fh);
    leaving = next_withdrawn(fh);
    ucp_fh_unlock(fh);
    if (leaving == NULL) {
        return 0;
    }

    ucp_fh_watch_release(&leaving->mem->watched, leaving->start, leaving->end);
    ucp_fh_lock(fh);
    ucs_list_del(&leaving->link);
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
    const leaving_t *leaving;

    ucs_list_for_each(leaving, &fh->leaving, link) {
        if (ucp_fh_run_overlaps(&leaving->withdraw.run, run)) {
            return 1;
        }
    }

    return 0;
}
