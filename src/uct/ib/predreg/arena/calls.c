/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"
#include "system.h"

#include <ucs/arena/memory/zero.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>


/* The headers of older systems lack these numbers of the kernel (linux/mman.h) */
#ifndef MADV_DONTNEED_LOCKED
#  define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_POPULATE_READ
#  define MADV_POPULATE_READ   22
#  define MADV_POPULATE_WRITE  23
#endif
#ifndef MADV_COLLAPSE
#  define MADV_COLLAPSE        25
#endif
#ifndef MREMAP_DONTUNMAP
#  define MREMAP_DONTUNMAP     4
#endif
#ifndef MAP_FIXED_NOREPLACE
#  define MAP_FIXED_NOREPLACE  0x100000
#endif

#define MREMAP_KNOWN (MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)


/* A range of addresses */
typedef struct {
    uintptr_t start;
    uintptr_t end;
} range_t;


/* Where the addresses end that the kernel hands out unless it is asked for others, on
 * x86 with page tables of four or five levels, and most ARM */
#define USUAL_ADDRESSES (1ul << 47)

/* The pages that a call is about. @return 0 if the kernel refuses them, as they
 * do not begin with a page, or there are none, or too many */
static int get_pages(const uct_predreg_served_t *served, const void *address,
                     size_t length, range_t *range)
{
    size_t mask = served->page_size - 1;
    size_t size = (length + mask) & ~mask;

    range->start = (uintptr_t)address;
    range->end   = range->start + size;
    return !(range->start & mask) && (size >= length) && (size > 0) &&
           (range->end > range->start) &&
           /* Few programs ask for addresses beyond, and none for memory on both
            * sides */
           ((range->start >= USUAL_ADDRESSES) ||
            (range->end <= USUAL_ADDRESSES));
}

/* The part of a range that is in the addresses of the arena. @return 0 if there
 * is none */
static int get_part(const uct_predreg_served_t *served, const range_t *range,
                    range_t *part)
{
    *part = *range;
    return ucs_arena_clip(served->super, &part->start, &part->end);
}

static int is_same(const range_t *range, const range_t *other)
{
    return (range->start == other->start) && (range->end == other->end);
}

static size_t length_of(const range_t *range)
{
    return range->end - range->start;
}

static int is_spoilt(const uct_predreg_served_t *served, const range_t *range)
{
    return ucs_arena_is_spoilt(served->super, (void*)range->start,
                               length_of(range));
}

/* Whether a range is in several slabs */
static int is_across(const uct_predreg_served_t *served, const range_t *range)
{
    return ((range->start ^ (range->end - 1)) >> served->super->slabs.shift) !=
           0;
}

static int is_live(const uct_predreg_served_t *served, const range_t *range)
{
    return ucs_arena_live(served->super, (void*)range->start,
                          length_of(range));
}

static int
is_protected(const uct_predreg_served_t *served, const range_t *range)
{
    return uct_predreg_altered_has(&served->is_protected, range->start,
                                   range->end);
}

/* Wake the helper if it has something to do earlier than before */
static void look_after(uct_predreg_served_t *served, uint64_t num_wakes)
{
    if (ucs_arena_num_wakes(served->super) != num_wakes) {
        served->wake(served->arg);
    }
}

static void *allocate(uct_predreg_served_t *served, size_t length)
{
    uint64_t num_wakes = ucs_arena_num_wakes(served->super);
    void *address      = ucs_arena_allocate(served->super, length, 0);

    if (address == NULL) {
        ucs_arena_missed(served->super, length, served->now(served->arg));
    }
    look_after(served, num_wakes);
    return address;
}

static int extend(uct_predreg_served_t *served, uintptr_t end, size_t length)
{
    uint64_t num_wakes  = ucs_arena_num_wakes(served->super);
    ucs_status_t status = ucs_arena_extend(served->super, (void*)end, length);

    look_after(served, num_wakes);
    return status == UCS_OK;
}

/* Whether the program has done something to memory that the kernel keeps with it */
static int is_altered(const uct_predreg_served_t *served, const range_t *part)
{
    return is_protected(served, part) ||
           uct_predreg_altered_has(&served->is_advised, part->start, part->end);
}

static int undo(uct_predreg_served_t *served, const range_t *part,
                int (*cb)(void *address, size_t length))
{
    return uct_predreg_altered_remove(&served->is_protected, part->start,
                                      part->end, cb) &&
           uct_predreg_altered_remove(&served->is_advised, part->start,
                                      part->end, cb);
}

/* Undo what the program has done to memory but writing to it, which it does not need any
 * more. @return 0 if the kernel refuses that */
static int renew(uct_predreg_served_t *served, const range_t *part)
{
    int is_done = 0;

    if (!is_altered(served, part)) {
        return 1;
    }

    /* Memory that is not registered is new memory then, and no huge pages */
    if (ucs_arena_enter_plain(served->super) == UCS_OK) {
        is_done = ucs_arena_is_plain(served->super, (void*)part->start,
                                     length_of(part)) &&
                  undo(served, part, uct_predreg_system_anew);
        ucs_arena_leave_plain(served->super);
    }
    return is_done || undo(served, part, uct_predreg_system_renew);
}

static void spoil(uct_predreg_served_t *served, const range_t *part)
{
    uint64_t num_wakes = ucs_arena_num_wakes(served->super);

    (void)ucs_arena_spoil(served->super, (void*)part->start, length_of(part));
    look_after(served, num_wakes);
}

/* Free memory of the arena. @return 0 if the kernel is to unmap it */
static int release(uct_predreg_served_t *served, const range_t *part)
{
    uint64_t num_wakes = ucs_arena_num_wakes(served->super);
    ucs_status_t status;

    if (!renew(served, part)) {
        spoil(served, part);
        return 0;
    }

    status = ucs_arena_free(served->super, (void*)part->start, length_of(part),
                            served->now(served->arg));
    look_after(served, num_wakes);
    return status != UCS_ERR_UNSUPPORTED;
}

/* The kernel is to do something to live memory, of which a slab is spoilt. It may
 * take pages away in the other slabs as well, which must not stay registered */
static void spoil_others(uct_predreg_served_t *served, const range_t *part)
{
    if (is_across(served, part)) {
        spoil(served, part);
    }
}

/* Let live memory read as zero: the kernel would give the program new pages, while the
 * adapter may have the old ones */
static void clear(uct_predreg_served_t *served, const range_t *part)
{
    if (ucs_arena_discard_live(served->super, (void*)part->start,
                               length_of(part)) != UCS_OK) {
        ucs_arena_zero((void*)part->start, length_of(part));
    }
}

/* What a mapping may ask for without being another one: pages at once, or none
 * before they are needed, as jemalloc does for all of its memory. Who reserves
 * more than is needed asks for more than a slab has */
#define ANY_MEMORY (MAP_POPULATE | MAP_NORESERVE)

/* The program may do with it what it does with any mapping: nobody asked for an
 * address, a file, a kind or a way of locking it */
int uct_predreg_arena_may_serve(const void *address, int prot, int flags)
{
    return (address == NULL) && (prot == (PROT_READ | PROT_WRITE)) &&
           ((flags & ~ANY_MEMORY) == (MAP_PRIVATE | MAP_ANONYMOUS));
}

/* Whether new memory of the program can be the pages that it has there */
static int may_stay(uct_predreg_served_t *served, const range_t *part)
{
    return !is_spoilt(served, part) && is_live(served, part);
}

/* Whether a mapping at a fixed address is memory like that of the arena */
static int is_plain(int prot, int flags)
{
    return (prot == (PROT_READ | PROT_WRITE)) &&
           ((flags & ~ANY_MEMORY) ==
            (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
}

int uct_predreg_arena_mmap(uct_predreg_served_t *served, void *address,
                           size_t length, int prot, int flags, void **result_p)
{
    range_t range, part;

    if ((length >= served->min_length) &&
        uct_predreg_arena_may_serve(address, prot, flags)) {
        *result_p = allocate(served, length);
        return *result_p != NULL;
    }

    if (!(flags & MAP_FIXED) || (flags & MAP_FIXED_NOREPLACE) ||
        !get_pages(served, address, length, &range) ||
        !get_part(served, &range, &part)) {
        return 0;
    }

    if (!is_plain(prot, flags) || !is_same(&range, &part) ||
        !may_stay(served, &part) || !renew(served, &part)) {
        spoil(served, &part);
        return 0;
    }

    clear(served, &part);
    *result_p = address;
    return 1;
}

void uct_predreg_arena_replace(uct_predreg_served_t *served, void *address,
                               size_t length)
{
    range_t range, part;

    if (get_pages(served, address, length, &range) &&
        get_part(served, &range, &part)) {
        spoil(served, &part);
    }
}

int uct_predreg_arena_munmap(uct_predreg_served_t *served, void **address_p,
                             size_t *length_p)
{
    range_t range, part;

    if (!get_pages(served, *address_p, *length_p, &range)) {
        return 0;
    }

    if (!get_part(served, &range, &part)) {
        ucs_arena_left(served->super, length_of(&range));
        return 0;
    }

    if (!release(served, &part)) {
        return 0;
    }

    if (is_same(&range, &part)) {
        return 1;
    }

    /* What is before and behind the arena is the kernel's */
    if (range.start < part.start) {
        *length_p = part.start - range.start;
        if (range.end > part.end) {
            (void)uct_predreg_system_munmap((void*)part.end,
                                            range.end - part.end);
        }
    } else {
        *address_p = (void*)part.end;
        *length_p  = range.end - part.end;
    }
    return 0;
}

/* Let the kernel refuse a call: there is nothing at this address (EFAULT) */
static int refuse_address(uct_predreg_mremap_t *call)
{
    call->address = NULL;
    return 0;
}

/* Let the kernel refuse a call: there are no such flags (EINVAL) */
static int refuse_flags(uct_predreg_mremap_t *call)
{
    call->flags = ~MREMAP_KNOWN;
    return 0;
}

/* Let the kernel refuse a call: this memory cannot grow where it is, since
 * behind it there is other memory, or that of the arena which nobody may access
 * (ENOMEM) */
static int
refuse_to_grow(const uct_predreg_served_t *served, uct_predreg_mremap_t *call)
{
    call->flags &= ~MREMAP_KNOWN;
    /* If it was to be moved as it is, it grows */
    call->new_length = ucs_max(call->new_length,
                               call->old_length + served->page_size);
    return 0;
}

static int is_overlap(const range_t *range, const range_t *other)
{
    return (range->start < other->end) && (other->start < range->end);
}

/* New memory at an address. NULL: there is none */
static void *map_at(uct_predreg_served_t *served, void *address, size_t length)
{
    range_t range = {(uintptr_t)address, (uintptr_t)address + length}, part;

    if (!get_part(served, &range, &part)) {
        return uct_predreg_system_map(address, length);
    }

    if (is_same(&range, &part) && may_stay(served, &part) &&
        renew(served, &part)) {
        clear(served, &part);
        return address;
    }

    spoil(served, &part);
    return uct_predreg_system_map(address, length);
}

/* New memory for what is moved out of the arena's live memory, since registered
 * pages stay where they are. NULL: there is none */
static void *map_target(uct_predreg_served_t *served,
                        const uct_predreg_mremap_t *call, size_t length)
{
    void *target = NULL;

    if (call->flags & MREMAP_FIXED) {
        return map_at(served, call->target, length);
    }

    if (length >= served->min_length) {
        target = allocate(served, length);
    }
    return (target == NULL) ? uct_predreg_system_map(NULL, length) : target;
}

/* Move the pages of live memory that is not registered, which stays where it is without
 * them. @return 0 if they are to be copied */
static int move_pages(uct_predreg_served_t *served, const range_t *old,
                      void *target, size_t length)
{
    int is_moved = 0;

    if (ucs_arena_enter_plain(served->super) == UCS_OK) {
        is_moved = ucs_arena_is_plain(served->super, (void*)old->start,
                                      length) &&
                   ucs_arena_is_plain(served->super, target, length) &&
                   (uct_predreg_system_move((void*)old->start, length, length,
                                            target) != NULL);
        ucs_arena_leave_plain(served->super);
    }
    return is_moved;
}

/* Move live memory, if need be by copying it */
static int move(uct_predreg_served_t *served, uct_predreg_mremap_t *call,
                const range_t *old, size_t length, void **result_p)
{
    void *target = map_target(served, call, length);

    if (target == NULL) {
        return refuse_to_grow(served, call);
    }

    if (!move_pages(served, old, target, ucs_min(length, length_of(old)))) {
        memcpy(target, (void*)old->start, ucs_min(length, length_of(old)));
    }
    if (call->flags & MREMAP_DONTUNMAP) {
        clear(served, old);
    } else {
        (void)release(served, old);
    }
    *result_p = target;
    return 1;
}

/* Make live memory longer or shorter where it is. @return 0 if there is no room
 * behind it */
static int resize(uct_predreg_served_t *served, const range_t *old,
                  size_t length)
{
    range_t rest;

    if (length > length_of(old)) {
        return extend(served, old->end, length - length_of(old));
    }

    rest.start = old->start + length;
    rest.end   = old->end;
    if (rest.start < rest.end) {
        (void)release(served, &rest);
    }
    return 1;
}

static int remap_fixed(uct_predreg_served_t *served,
                       uct_predreg_mremap_t *call, const range_t *old,
                       size_t length, void **result_p)
{
    range_t target;

    if (!call->is_target_known || !(call->flags & MREMAP_MAYMOVE) ||
        !get_pages(served, call->target, length, &target) ||
        is_overlap(&target, old)) {
        return refuse_flags(call);
    }
    return move(served, call, old, length, result_p);
}

/* Answer mremap() of live memory whose slabs are registered. The kernel must not
 * move its pages, since the adapter has them */
static int remap_live(uct_predreg_served_t *served, uct_predreg_mremap_t *call,
                      const range_t *old, void **result_p)
{
    range_t new;

    if ((call->flags & ~MREMAP_KNOWN) ||
        !get_pages(served, call->address, call->new_length, &new) ||
        ((call->flags & MREMAP_DONTUNMAP) &&
         (!(call->flags & MREMAP_MAYMOVE) ||
          (length_of(&new) != length_of(old))))) {
        return refuse_flags(call);
    }

    if (call->flags & MREMAP_FIXED) {
        return remap_fixed(served, call, old, length_of(&new), result_p);
    }

    if (!(call->flags & MREMAP_DONTUNMAP) &&
        resize(served, old, length_of(&new))) {
        *result_p = call->address;
        return 1;
    }

    if (!(call->flags & MREMAP_MAYMOVE)) {
        return refuse_to_grow(served, call);
    }
    return move(served, call, old, length_of(&new), result_p);
}

/* Let the kernel move memory that is not registered, perhaps to where the arena
 * has some */
static int let_kernel_move(uct_predreg_served_t *served,
                           const uct_predreg_mremap_t *call)
{
    if ((call->flags & MREMAP_FIXED) && call->is_target_known) {
        uct_predreg_arena_replace(served, call->target, call->new_length);
    }
    return 0;
}

/* Move memory in spoilt slabs, if the kernel can do so and leave the addresses
 * reserved */
static int move_spoilt(uct_predreg_served_t *served,
                       const uct_predreg_mremap_t *call, const range_t *old,
                       size_t length, void *target, void **result_p)
{
    *result_p = uct_predreg_system_move(call->address, length_of(old), length,
                                        target);
    if ((*result_p == NULL) && !is_altered(served, old)) {
        /* What the program has mapped over a part may be another mapping for the kernel
         * only because the slab consists of huge pages */
        (void)uct_predreg_system_madvise(call->address, length_of(old),
                                         MADV_HUGEPAGE);
        *result_p = uct_predreg_system_move(call->address, length_of(old),
                                            length, target);
    }
    return (*result_p != NULL) && release(served, old);
}

/* mremap() of memory in spoilt slabs, which is not registered, and may be
 * something else than memory of the arena. The kernel moves it; but where it was
 * the addresses stay reserved */
static int remap_spoilt(uct_predreg_served_t *served,
                        const uct_predreg_mremap_t *call, const range_t *old,
                        void **result_p)
{
    range_t new;

    if (!get_pages(served, call->address, call->new_length, &new)) {
        return 0;
    }

    spoil_others(served, old);
    if (call->flags & MREMAP_FIXED) {
        (void)let_kernel_move(served, call);
        return (call->flags == (MREMAP_MAYMOVE | MREMAP_FIXED)) &&
               call->is_target_known &&
               (length_of(&new) == length_of(old)) &&
               move_spoilt(served, call, old, length_of(&new), call->target,
                           result_p);
    }

    if (length_of(&new) <= length_of(old)) {
        *result_p = call->address;
        return !(call->flags & ~MREMAP_MAYMOVE) &&
               resize(served, old, length_of(&new));
    }

    return (call->flags == MREMAP_MAYMOVE) &&
           move_spoilt(served, call, old, length_of(&new), NULL, result_p);
}

int uct_predreg_arena_mremap(uct_predreg_served_t *served,
                             uct_predreg_mremap_t *call, void **result_p)
{
    range_t old, part;

    /* Shared memory without a length gets a second address */
    if (!get_pages(served, call->address, call->old_length, &old) ||
        !get_part(served, &old, &part)) {
        return let_kernel_move(served, call);
    }

    if (!is_same(&old, &part) || !is_live(served, &part)) {
        return refuse_address(call);
    }

    /* What is moved, or becomes longer, is what it was: protected, locked, not inherited
     * by children and so on */
    if (is_altered(served, &part) &&
        ((call->new_length > call->old_length) ||
         (call->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)))) {
        spoil(served, &part);
    }

    return is_spoilt(served, &part) ?
                   remap_spoilt(served, call, &old, result_p) :
                   remap_live(served, call, &old, result_p);
}

/* Do for what is before and behind the arena what the program has asked for */
static void advise_rest(const range_t *range, const range_t *part, int advice)
{
    if (range->start < part->start) {
        (void)uct_predreg_system_madvise((void*)range->start,
                                         part->start - range->start, advice);
    }
    if (part->end < range->end) {
        (void)uct_predreg_system_madvise((void*)part->end,
                                         range->end - part->end, advice);
    }
}

/* What is not needed any more reads as zero. The kernel refuses this for memory that
 * is locked */
static int discard(uct_predreg_served_t *served, const range_t *range,
                   const range_t *part, int advice)
{
    if (is_protected(served, part)) {
        spoil(served, part);
        return 0;
    }

    clear(served, part);
    advise_rest(range, part, advice);
    return 1;
}

/* Advice about memory that is all live, as far as it is in the arena, and not
 * spoilt */
static int advise_live(uct_predreg_served_t *served, const range_t *range,
                       const range_t *part, int advice)
{
    switch (advice) {
    case MADV_DONTNEED:
    case MADV_DONTNEED_LOCKED:
        return discard(served, range, part, advice);
    case MADV_FREE:
        /* It may read as before */
        advise_rest(range, part, advice);
        return 1;
    case MADV_WILLNEED:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
    case MADV_COLLAPSE:
        /* The kernel leaves pinned pages where they are */
        return 0;
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_DONTFORK:
    case MADV_DOFORK:
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_DONTDUMP:
    case MADV_DODUMP:
    case MADV_WIPEONFORK:
    case MADV_KEEPONFORK:
        uct_predreg_altered_add(&served->is_advised, part->start, part->end);
        return 0;
    default:
        /* It may take the pages away, or is not known */
        spoil(served, part);
        return 0;
    }
}

int uct_predreg_arena_madvise(uct_predreg_served_t *served, void **address_p,
                              size_t *length_p, int advice)
{
    range_t range, part;
    int has_spoilt;

    if (!get_pages(served, *address_p, *length_p, &range) ||
        !get_part(served, &range, &part)) {
        return 0;
    }

    has_spoilt = is_spoilt(served, &part);
    if (has_spoilt && !is_across(served, &part)) {
        return 0;
    }

    if (!is_live(served, &part)) {
        /* As if it was unmapped: at the address 0 there is nothing either */
        *address_p = NULL;
        *length_p  = served->page_size;
        return 0;
    }

    if (has_spoilt) {
        spoil_others(served, &part);
        return 0;
    }
    return advise_live(served, &range, &part, advice);
}

int uct_predreg_arena_alter(uct_predreg_served_t *served, const void *address,
                            size_t length)
{
    uintptr_t offset = (uintptr_t)address & (served->page_size - 1);
    range_t range, part;

    /* mlock() takes any address */
    if (!get_pages(served, (const char*)address - offset, length + offset,
                   &range) ||
        !get_part(served, &range, &part)) {
        return 0;
    }

    /* The kernel would do it, as the pages are there still, and the program's next
     * mapping, which may get them, would be protected or locked */
    if (!is_live(served, &part)) {
        return ENOMEM;
    }

    uct_predreg_altered_add(&served->is_protected, part.start, part.end);
    return 0;
}
