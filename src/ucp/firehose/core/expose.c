/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <stdlib.h>

/* Under lock: all peers have given back their firehoses on a range that leaves, or a
 * bucket of the range could not be unpinned */
static void left(ucp_fh_comp_t *self)
{
    ucp_fh_part_t *part = ucs_container_of(self, ucp_fh_part_t, withdraw.comp);

    ucs_list_add_tail(&part->mem->fh->withdrawn, &part->link);
    if (part->mem->status == UCS_OK) {
        part->mem->status = self->status;
    }
    ucp_fh_wake(part->mem->fh);
}

/* Under lock: begin to withdraw a range that is in no list. Withdraws the bytes that the
 * range's exposed memory has in the buckets of a run; if the run is empty, all its
 * buckets were withdrawn before */
static void leave(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run)
{
    ucp_fh_span_t all = {part->mem->watched.mapping.start,
                         part->mem->watched.mapping.end};
    ucp_fh_span_t span;
    ucs_status_t status = UCS_OK;

    ++part->mem->num_leaving;
    part->withdraw.comp.func = left;
    part->has_buckets        = (run->num > 0);
    if (part->has_buckets) {
        span = ucp_fh_span_clip(&all, fh->shift, run);
        ucp_fh_places_add(&fh->leaving, &part->exposed.place, run);
        status = ucp_fh_local_withdraw(&fh->local, &part->withdraw, &span);
    }

    if (status == UCS_INPROGRESS) {
        ucp_fh_target_recall(fh, &part->withdraw.place.run);
    } else {
        ucs_list_add_tail(&fh->withdrawn, &part->link);
    }
}

/* Expose what is left of a part after cut() */
static void expose_part(ucp_fh_t *fh, ucp_fh_part_t *part, uint64_t start,
                        uint64_t end)
{
    ucp_fh_span_t span;

    part->start = start;
    part->end   = end;
    (void)ucp_fh_span_pages(start, end - start, &span);
    /* This call cannot fail, since no bucket of the range is being withdrawn */
    (void)ucp_fh_local_expose(&fh->local, &part->exposed, &span);
    ucs_list_add_tail(&part->mem->parts, &part->link);
}

/* Take the buckets of a run out of a part. @return whether two parts are left, of which
 * one is @a spare */
static int cut(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run,
               ucp_fh_part_t *spare)
{
    uint64_t start = run->first << fh->shift;
    uint64_t end   = ucp_fh_run_end(run) << fh->shift;
    int has_first  = (part->start < start);
    int has_last   = (end < part->end);

    ucs_list_del(&part->link);
    ucp_fh_local_conceal(&fh->local, &part->exposed);
    if (has_last) {
        spare->mem = part->mem;
        expose_part(fh, has_first ? spare : part, end, part->end);
    }
    if (has_first) {
        expose_part(fh, part, part->start, start);
    } else if (!has_last) {
        free(part);
    }
    return has_first && has_last;
}

/* Take the buckets of a run out of all parts. @return whether @a spare is in use as a
 * part: one spare is enough, since a run that leaves two parts of a part has no buckets
 * elsewhere */
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

/* Whether a bucket still belongs to @a mem, exposed or being withdrawn. If not, the
 * bucket was withdrawn with other pages of @a mem, and may have been exposed with other
 * memory since */
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
        if (ucs_container_of(place, ucp_fh_part_t, exposed.place)->mem == mem) {
            return 1;
        }
    }

    return 0;
}

/* Find the buckets of a range that are to be withdrawn: all that still belong to @a mem,
 * see owns_bucket(). @return whether there are any */
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

/* Begin to withdraw a range that the program has unmapped. @return 0 if malloc() has no
 * memory for the new part: the caller tries again later */
static int
leave_unmapped(ucp_fh_t *fh, struct ucp_fh_mem *mem, uint64_t start, uint64_t end)
{
    ucp_fh_part_t *part  = calloc(1, sizeof(*part));
    ucp_fh_part_t *spare = calloc(1, sizeof(*spare));
    ucp_fh_run_t run;

    if ((part == NULL) || (spare == NULL)) {
        free(part);
        free(spare);
        return 0;
    }

    if (!cover(fh, mem, start, end, &run) || !cut_parts(fh, &run, spare)) {
        free(spare);
    }

    part->mem   = mem;
    part->start = start;
    part->end   = end;
    ucp_fh_watch_take(&mem->watched, start, end);
    leave(fh, part, &run);
    return 1;
}

/* Under lock: begin to withdraw all memory that the program has unmapped so far.
 * ucp_fh_settle() has to follow */
static void unmap_begin(ucp_fh_t *fh)
{
    struct ucp_fh_mem *mem;
    uint64_t start, end;

    ucs_list_for_each(mem, &fh->mems, link) {
        while (ucp_fh_watch_next(&mem->watched, &start, &end)) {
            if (!leave_unmapped(fh, mem, start, end)) {
                /* For ucp_fh_unmap_progress() to try again. Relaxed: the lock orders what
                 * the threads write */
                ucs_relaxed_store(&fh->watcher.has_news, 1);
                return;
            }
        }
    }
}

/* Unmap one withdrawn range. @return whether there was one */
static int finish_one(ucp_fh_t *fh)
{
    ucp_fh_part_t *part;

    ucp_fh_lock(fh);
    part = ucp_fh_list_pop(&fh->withdrawn, ucp_fh_part_t, link);
    ucp_fh_unlock(fh);
    if (part == NULL) {
        return 0;
    }

    ucp_fh_watch_release(&part->mem->watched, part->start, part->end);
    ucp_fh_lock(fh);
    if (part->has_buckets) {
        ucp_fh_places_remove(&fh->leaving, &part->exposed.place);
    }
    --part->mem->num_leaving;
    pthread_cond_broadcast(&fh->cond);
    ucp_fh_unlock(fh);
    free(part);
    return 1;
}

void ucp_fh_unmap_finish(ucp_fh_t *fh)
{
    while (finish_one(fh)) {
        /* Until there is no more */
    }
}

void ucp_fh_unmap_progress(ucp_fh_t *fh)
{
    /* Acquire: this thread sees all pages that handlers of UCM's events noted before
     * has_news was set */
    if (atomic_exchange_explicit(&fh->watcher.has_news, 0,
                                 memory_order_acquire)) {
        ucp_fh_lock(fh);
        unmap_begin(fh);
        ucp_fh_unlock(fh);
        ucp_fh_settle(fh);
    }
    ucp_fh_unmap_finish(fh);
}

/* The public calls */


/* Under lock */
static ucs_status_t
try_expose(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run)
{
    ucp_fh_span_t span;
    ucs_status_t status;

    if (ucp_fh_part_find(fh, run) != NULL) {
        return UCS_ERR_ALREADY_EXISTS;
    }

    (void)ucp_fh_span_pages(part->start, part->end - part->start, &span);
    status = ucp_fh_local_expose(&fh->local, &part->exposed, &span);
    if (status == UCS_OK) {
        ucs_list_add_tail(&fh->mems, &part->mem->link);
        ucs_list_add_tail(&part->mem->parts, &part->link);
    }
    return status;
}

/* Wait until all memory that the program has unmapped in a run is withdrawn: from then on
 * no peer has a key to the old memory. Under lock, which is left meanwhile */
static void wait_for_unmapped(ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    unmap_begin(fh);
    while (ucp_fh_places_first(&fh->leaving, run) != NULL) {
        ucp_fh_unlock(fh);
        ucp_fh_settle(fh);
        ucp_fh_lock(fh);
        if (ucp_fh_places_first(&fh->leaving, run) != NULL) {
            ucs_mutex_wait(&fh->lock, &fh->cond);
        }
    }
}

static ucs_status_t
expose(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run)
{
    ucs_status_t status;

    ucp_fh_lock(fh);
    wait_for_unmapped(fh, run);
    status = try_expose(fh, part, run);
    /* The program may have unmapped the memory meanwhile: withdraw what the handler of
     * UCM's events has noted */
    unmap_begin(fh);
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);
    return status;
}

/* @return the part of new exposed memory, which has all of the range; NULL: malloc() has
 *         no memory */
static ucp_fh_part_t *make_part(ucp_fh_t *fh, uint64_t start, uint64_t end)
{
    ucp_fh_part_t *part    = calloc(1, sizeof(*part));
    struct ucp_fh_mem *mem = calloc(1, sizeof(*mem));

    if ((part == NULL) || (mem == NULL)) {
        free(part);
        free(mem);
        return NULL;
    }

    ucs_list_head_init(&mem->parts);
    mem->fh     = fh;
    part->mem   = mem;
    part->start = start;
    part->end   = end;
    return part;
}

ucs_status_t ucp_fh_expose_apart(ucp_fh_t *fh, void *address, size_t length,
                                 ucp_fh_mem_h *mem_p)
{
    uint64_t start = (uintptr_t)address;
    ucp_fh_part_t *part;
    ucs_status_t status;
    ucp_fh_run_t run;

    status = ucp_fh_run_cover(fh->shift, start, length, &run);
    if (status != UCS_OK) {
        return status;
    }

    part = make_part(fh, start, start + length);
    if (part == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = ucp_fh_watch_add(&part->mem->watched, &fh->watcher, start,
                              start + length);
    if (status != UCS_OK) {
        goto err_free;
    }

    *mem_p = part->mem;
    status = expose(fh, part, &run);
    if (status != UCS_OK) {
        goto err_watch_remove;
    }
    return UCS_OK;

err_watch_remove:
    ucp_fh_watch_remove(&part->mem->watched);
err_free:
    free(part->mem);
    free(part);
    return status;
}

/* Log the exposed memory that shares a bucket with a range, and what the program can do:
 * the log says 0 to 0 if that memory has been withdrawn meanwhile */
static void complain(ucp_fh_t *fh, uint64_t start, uint64_t end)
{
    uint64_t first = 0;
    uint64_t last  = 0;
    const ucp_fh_part_t *other;
    ucp_fh_run_t run;

    (void)ucp_fh_run_cover(fh->shift, start, end - start, &run);
    ucp_fh_lock(fh);
    other = ucp_fh_part_find(fh, &run);
    if (other != NULL) {
        first = other->start;
        last  = other->end;
    }
    ucp_fh_unlock(fh);

    ucs_error("firehose: 0x%" PRIx64 " to 0x%" PRIx64 " cannot be exposed: it "
              "shares a bucket of %" PRIu64 " bytes with 0x%" PRIx64 " to 0x%" PRIx64
              ", which is; accepted: memory that has its buckets for itself. "
              "Expose both as one, or choose smaller buckets "
              "(UCP_FH_PARAM_FIELD_BUCKET, from %zu on)", start, end,
              (uint64_t)UCS_BIT(fh->shift), first, last, ucs_page_size());
}

ucs_status_t ucp_fh_expose(ucp_fh_h fh, void *address, size_t length,
                           ucp_fh_mem_h *mem_p)
{
    uint64_t start      = (uintptr_t)address;
    ucs_status_t status = ucp_fh_expose_apart(fh, address, length, mem_p);

    if (status == UCS_ERR_ALREADY_EXISTS) {
        complain(fh, start, start + length);
    }
    return status;
}

/* Begin to withdraw all parts of exposed memory. Under lock */
static void withdraw_all(ucp_fh_t *fh, ucp_fh_mem_h mem)
{
    ucp_fh_part_t *part, *next;

    unmap_begin(fh);
    ucs_list_del(&mem->link);
    ucs_list_for_each_safe(part, next, &mem->parts, link) {
        ucs_list_del(&part->link);
        ucp_fh_local_conceal(&fh->local, &part->exposed);
        leave(fh, part, &part->exposed.place.run);
    }
}

/* Wait until all parts have left. Under lock, which is left meanwhile. With @a help, this
 * thread sleeps for short times: nothing would wake this thread for the work in
 * @a help */
static void
wait_for_parts(ucp_fh_mem_h mem, void (*help)(void *arg), void *arg)
{
    ucp_fh_t *fh = mem->fh;

    while (mem->num_leaving > 0) {
        if (help == NULL) {
            ucs_mutex_wait(&fh->lock, &fh->cond);
            continue;
        }

        ucp_fh_unlock(fh);
        help(arg);
        ucs_sleep_shortly();
        ucp_fh_lock(fh);
    }
}

ucs_status_t ucp_fh_unexpose(ucp_fh_mem_h mem)
{
    return ucp_fh_unexpose_with(mem, NULL, NULL);
}

ucs_status_t ucp_fh_unexpose_with(ucp_fh_mem_h mem, void (*help)(void *arg), void *arg)
{
    ucp_fh_t *fh = mem->fh;
    ucs_status_t status;

    ucp_fh_lock(fh);
    withdraw_all(fh, mem);
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);
    ucp_fh_unmap_finish(fh);

    ucp_fh_lock(fh);
    wait_for_parts(mem, help, arg);
    status = mem->status;
    ucp_fh_unlock(fh);

    ucp_fh_watch_remove(&mem->watched);
    free(mem);
    return status;
}
