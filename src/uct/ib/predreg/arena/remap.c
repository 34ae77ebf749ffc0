/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"
#include "system.h"

#include <ucs/sys/math.h>

#include <string.h>
#include <sys/mman.h>


/* The headers of older systems lack this number of the kernel (linux/mman.h) */
#ifndef MREMAP_DONTUNMAP
#  define MREMAP_DONTUNMAP 4
#endif

#define MREMAP_KNOWN (MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)


/* Have the kernel refuse the program's call (EFAULT): pass on the address 0, where there is
 * no memory */
static int refuse_address(uct_predreg_mremap_t *call)
{
    call->address = NULL;
    return 0;
}

/* Have the kernel refuse the program's call (EINVAL): pass on flags that do not exist */
static int refuse_flags(uct_predreg_mremap_t *call)
{
    call->flags = ~MREMAP_KNOWN;
    return 0;
}

/* Have the kernel refuse the program's call (ENOMEM): pass on a request to grow in place,
 * which is impossible, since other memory, or inaccessible memory of the arena, is
 * behind */
static int refuse_to_grow(const uct_predreg_served_t *served,
                          uct_predreg_mremap_t *call)
{
    call->flags &= ~MREMAP_KNOWN;
    /* If the program asks to move memory without making it longer, ask for more length,
     * so that the kernel refuses this call for the same reason */
    call->new_length = ucs_max(call->new_length,
                               call->old_length + served->page_size);
    return 0;
}

static int is_overlap(const uct_predreg_pages_t *pages,
                      const uct_predreg_pages_t *other)
{
    return (pages->start < other->end) && (other->start < pages->end);
}

/* @return new memory at an address, in place of what is there; NULL: there is none */
static void *map_at(uct_predreg_served_t *served, void *address, size_t length)
{
    uct_predreg_pages_t pages = {
        .start = (uintptr_t)address,
        .end   = (uintptr_t)address + length
    };
    uct_predreg_pages_t part;

    if (!uct_predreg_served_part(served, &pages, &part)) {
        return uct_predreg_system_map(address, length);
    }

    if (uct_predreg_pages_is_same(&pages, &part) &&
        uct_predreg_served_may_stay(served, &part) &&
        uct_predreg_served_renew(served, &part)) {
        uct_predreg_served_clear(served, &part);
        return address;
    }

    uct_predreg_served_spoil(served, &part);
    return uct_predreg_system_map(address, length);
}

/* @return new memory to copy live memory of the arena to, since the registered pages of
 * the live memory stay where they are; NULL: there is none */
static void *map_target(uct_predreg_served_t *served,
                        const uct_predreg_mremap_t *call, size_t length)
{
    void *target = NULL;

    if (call->flags & MREMAP_FIXED) {
        return map_at(served, call->target, length);
    }

    if (length >= served->min_length) {
        target = ucs_arena_allocate(served->arena, length);
    }
    return (target == NULL) ? uct_predreg_system_map(NULL, length) : target;
}

/* Move the pages of live, unregistered memory to the target; the old addresses stay mapped.
 * @return 0 if the pages are to be copied */
static int move_pages(uct_predreg_served_t *served,
                      const uct_predreg_pages_t *old, void *target,
                      size_t length)
{
    int is_moved = 0;

    if (ucs_arena_enter_plain(served->arena) == UCS_OK) {
        is_moved = ucs_arena_is_plain(served->arena, (void*)old->start,
                                      length) &&
                   ucs_arena_is_plain(served->arena, target, length) &&
                   (uct_predreg_system_move((void*)old->start, length, length,
                                            target) != NULL);
        ucs_arena_leave_plain(served->arena);
    }
    return is_moved;
}

/* Move live memory: move its pages, or else copy the contents */
static int move(uct_predreg_served_t *served, uct_predreg_mremap_t *call,
                const uct_predreg_pages_t *old, size_t length, void **result_p)
{
    void *target = map_target(served, call, length);

    if (target == NULL) {
        return refuse_to_grow(served, call);
    }

    if (!move_pages(served, old, target,
                    ucs_min(length, uct_predreg_pages_length(old)))) {
        memcpy(target, (void*)old->start,
               ucs_min(length, uct_predreg_pages_length(old)));
    }
    if (call->flags & MREMAP_DONTUNMAP) {
        uct_predreg_served_clear(served, old);
    } else {
        (void)uct_predreg_served_release(served, old);
    }
    *result_p = target;
    return 1;
}

/* Make live memory longer or shorter in place. @return 0 if there is no room */
static int resize(uct_predreg_served_t *served, const uct_predreg_pages_t *old,
                  size_t length)
{
    uct_predreg_pages_t rest;

    if (length > uct_predreg_pages_length(old)) {
        return ucs_arena_extend(served->arena, (void*)old->end,
                                length - uct_predreg_pages_length(old)) ==
               UCS_OK;
    }

    rest.start = old->start + length;
    rest.end   = old->end;
    if (rest.start < rest.end) {
        (void)uct_predreg_served_release(served, &rest);
    }
    return 1;
}

static int remap_fixed(uct_predreg_served_t *served, uct_predreg_mremap_t *call,
                       const uct_predreg_pages_t *old, size_t length,
                       void **result_p)
{
    uct_predreg_pages_t target;

    if (!call->is_target_known || !(call->flags & MREMAP_MAYMOVE) ||
        !uct_predreg_served_pages(served, call->target, length, &target) ||
        is_overlap(&target, old)) {
        return refuse_flags(call);
    }
    return move(served, call, old, length, result_p);
}

/* Answer mremap() of live memory. The kernel is not asked to move it, since the adapter
 * keeps using the pages of a registered slab */
static int remap_live(uct_predreg_served_t *served, uct_predreg_mremap_t *call,
                      const uct_predreg_pages_t *old, void **result_p)
{
    uct_predreg_pages_t new;

    if ((call->flags & ~MREMAP_KNOWN) ||
        !uct_predreg_served_pages(served, call->address, call->new_length,
                                  &new) ||
        ((call->flags & MREMAP_DONTUNMAP) &&
         (!(call->flags & MREMAP_MAYMOVE) ||
          (uct_predreg_pages_length(&new) != uct_predreg_pages_length(old))))) {
        return refuse_flags(call);
    }

    if (call->flags & MREMAP_FIXED) {
        return remap_fixed(served, call, old, uct_predreg_pages_length(&new),
                           result_p);
    }

    if (!(call->flags & MREMAP_DONTUNMAP) &&
        resize(served, old, uct_predreg_pages_length(&new))) {
        *result_p = call->address;
        return 1;
    }

    if (!(call->flags & MREMAP_MAYMOVE)) {
        return refuse_to_grow(served, call);
    }
    return move(served, call, old, uct_predreg_pages_length(&new), result_p);
}

/* Let the kernel move memory outside of the arena, perhaps to addresses of the arena. A UCX
 * that does not tell the target does not pass it on to the kernel either, which would move
 * the memory anywhere */
static int let_kernel_move(uct_predreg_served_t *served, uct_predreg_mremap_t *call)
{
    if (!(call->flags & MREMAP_FIXED)) {
        return 0;
    }

    if (!call->is_target_known) {
        return refuse_flags(call);
    }
    uct_predreg_arena_replace(served, call->target, call->new_length);
    return 0;
}

/* Move memory in spoilt slabs, if the kernel can move it and leave the old addresses
 * reserved */
static int move_spoilt(uct_predreg_served_t *served,
                       const uct_predreg_mremap_t *call,
                       const uct_predreg_pages_t *old, size_t length,
                       void *target, void **result_p)
{
    *result_p = uct_predreg_system_move(call->address,
                                        uct_predreg_pages_length(old), length,
                                        target);
    if ((*result_p == NULL) && !uct_predreg_served_is_altered(served, old)) {
        /* The kernel moves no range that consists of two mappings. The slab has advice
         * for huge pages; memory in it without the advice is a mapping of its own. Give
         * such memory the advice, so that the mappings become one, and try again */
        (void)uct_predreg_system_madvise(call->address,
                                         uct_predreg_pages_length(old),
                                         MADV_HUGEPAGE);
        *result_p = uct_predreg_system_move(call->address,
                                            uct_predreg_pages_length(old),
                                            length, target);
    }
    return (*result_p != NULL) && uct_predreg_served_release(served, old);
}

/* Answer mremap() of memory in spoilt slabs, which may be any mapping of the program. The
 * kernel moves the mapping, and the old addresses stay reserved */
static int remap_spoilt(uct_predreg_served_t *served, uct_predreg_mremap_t *call,
                        const uct_predreg_pages_t *old, void **result_p)
{
    uct_predreg_pages_t new;

    if (!uct_predreg_served_pages(served, call->address, call->new_length,
                                  &new)) {
        return 0;
    }

    uct_predreg_served_spoil_others(served, old);
    if (call->flags & MREMAP_FIXED) {
        (void)let_kernel_move(served, call);
        return (call->flags == (MREMAP_MAYMOVE | MREMAP_FIXED)) &&
               (uct_predreg_pages_length(&new) ==
                uct_predreg_pages_length(old)) &&
               move_spoilt(served, call, old, uct_predreg_pages_length(&new),
                           call->target, result_p);
    }

    if (uct_predreg_pages_length(&new) <= uct_predreg_pages_length(old)) {
        *result_p = call->address;
        return !(call->flags & ~MREMAP_MAYMOVE) &&
               resize(served, old, uct_predreg_pages_length(&new));
    }

    return (call->flags == MREMAP_MAYMOVE) &&
           move_spoilt(served, call, old, uct_predreg_pages_length(&new), NULL,
                       result_p);
}

int uct_predreg_arena_mremap(uct_predreg_served_t *served,
                             uct_predreg_mremap_t *call, void **result_p)
{
    uct_predreg_pages_t old, part;

    /* With an old length of 0 the kernel maps shared memory at a second address, and moves
     * nothing */
    if (!uct_predreg_served_pages(served, call->address, call->old_length,
                                  &old) ||
        !uct_predreg_served_part(served, &old, &part)) {
        return let_kernel_move(served, call);
    }

    if (!uct_predreg_pages_is_same(&old, &part) ||
        !uct_predreg_served_is_live(served, &part)) {
        return refuse_address(call);
    }

    /* Altered memory has to stay protected, locked, not inherited by children and so on
     * when it moves or grows. Only the kernel can do that, so the slabs are spoilt */
    if (uct_predreg_served_is_altered(served, &part) &&
        ((call->new_length > call->old_length) ||
         (call->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)))) {
        uct_predreg_served_spoil(served, &part);
    }

    return uct_predreg_served_is_spoilt(served, &part) ?
               remap_spoilt(served, call, &old, result_p) :
               remap_live(served, call, &old, result_p);
}
