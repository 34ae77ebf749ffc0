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

/* Under lock: peers have given up a range */
static void left(ucp_fh_comp_t *self)
{
    ucp_fh_part_t *part = ucs_container_of(self, ucp_fh_part_t, withdraw.comp);

    ucs_list_add_tail(&part->mem->fh->withdrawn, &part->link);
    if (part->mem->status == UCS_OK) {
        part->mem->status = self->status;
    }
    ucp_fh_wake(part->mem->fh);
}

/* Under lock: begin to withdraw a range, which is in no list, with the bytes that its memory
 * has in some buckets, if there are any */
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

/* Expose a range anew after the cut of its part */
static void expose_part(ucp_fh_t *fh, ucp_fh_part_t *part, uint64_t start,
                        uint64_t end)
{
    ucp_fh_span_t span;

    part->start = start;
    part->end   = end;
    (void)ucp_fh_span_pages(start, end - start, &span);
    /* Cannot fail: no bucket of the range is being withdrawn */
    (void)ucp_fh_local_expose(&fh->local, &part->exposed, &span);
    ucs_list_add_tail(&part->mem->parts, &part->link);
}

/* Take buckets out of a part. @return whether the part became two, and @a spare is one of
 * them */
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

/* @return whether @a spare was used: once at most, as a run within one part concerns no
 *         other part */
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

/* Whether a bucket belongs to exposed memory still, or is being withdrawn. If not, the bucket
 * was withdrawn with other pages, and may be exposed with other memory since */
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

/* Find the buckets to withdraw for a range of exposed memory: those that still belong to the
 * memory, see owns_bucket(). @return whether there are any */
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

/* Withdraw a range that the program has unmapped. @return 0 if there is no memory */
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
                /* Relaxed: any thread may try again */
                atomic_store_explicit(&fh->watcher.has_news, 1,
                                      memory_order_relaxed);
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
    /* Acquire: this thread sees all notes of the handler */
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

/* Wait until memory that was unmapped in the same range is withdrawn: from then on peers have
 * no keys to the range. Under lock, which is left meanwhile */
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
    /* The program may have unmapped the memory meanwhile, which UCM's handler has noted */
    unmap_begin(fh);
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);
    return status;
}

/* @return one part for all of a range; NULL: there is no memory */
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

/* Say which exposed memory has the bucket, and what can be done. The other memory may be
 * withdrawn by now */
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

/* Withdraw all parts of exposed memory. Under lock */
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

/* Wait until all ranges have left. Under lock, which is left meanwhile. Peers may wait for
 * work that this thread does in @a help, and nothing wakes this thread for such work */
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
