/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"
#include "system.h"

#include <errno.h>
#include <sys/mman.h>


/* The headers of older systems lack these numbers of the kernel (linux/mman.h) */
#ifndef MAP_FIXED_NOREPLACE
#  define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_DONTNEED_LOCKED
#  define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_POPULATE_READ
#  define MADV_POPULATE_READ  22
#  define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#  define MADV_COLLAPSE 25
#endif


/* Whether a mapping at a fixed address is memory like that of the arena */
static int is_plain(int prot, int flags)
{
    return (prot == (PROT_READ | PROT_WRITE)) &&
           ((flags & ~UCT_PREDREG_ARENA_ANY_MEMORY) == (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
}

int uct_predreg_arena_mmap(uct_predreg_served_t *served, void *address,
                           size_t length, int prot, int flags, void **result_p)
{
    uct_predreg_pages_t pages, part;

    if ((length >= served->min_length) &&
        uct_predreg_arena_may_serve(address, prot, flags)) {
        *result_p = ucs_arena_allocate(served->arena, length);
        return *result_p != NULL;
    }

    if (!(flags & MAP_FIXED) || (flags & MAP_FIXED_NOREPLACE) ||
        !uct_predreg_served_pages(served, address, length, &pages) ||
        !uct_predreg_served_part(served, &pages, &part)) {
        return 0;
    }

    if (!is_plain(prot, flags) || !uct_predreg_pages_is_same(&pages, &part) ||
        !uct_predreg_served_may_stay(served, &part) ||
        !uct_predreg_served_renew(served, &part)) {
        uct_predreg_served_spoil(served, &part);
        return 0;
    }

    uct_predreg_served_clear(served, &part);
    *result_p = address;
    return 1;
}

void uct_predreg_arena_replace(uct_predreg_served_t *served, void *address,
                               size_t length)
{
    uct_predreg_pages_t pages, part;

    if (uct_predreg_served_pages(served, address, length, &pages) &&
        uct_predreg_served_part(served, &pages, &part)) {
        uct_predreg_served_spoil(served, &part);
    }
}

int uct_predreg_arena_munmap(uct_predreg_served_t *served, void **address_p,
                             size_t *length_p)
{
    uct_predreg_pages_t pages, part;

    if (!uct_predreg_served_pages(served, *address_p, *length_p, &pages)) {
        return 0;
    }

    if (!uct_predreg_served_part(served, &pages, &part) ||
        !uct_predreg_served_release(served, &part)) {
        return 0;
    }

    if (uct_predreg_pages_is_same(&pages, &part)) {
        return 1;
    }

    /* The kernel has to unmap the memory before and behind the arena. If there is memory
     * on both sides, unmap the part behind here, and leave the part before to the caller,
     * which hands it to the kernel */
    if (pages.start < part.start) {
        *length_p = part.start - pages.start;
        if (pages.end > part.end) {
            (void)uct_predreg_system_munmap((void*)part.end,
                                            pages.end - part.end);
        }
    } else {
        *address_p = (void*)part.end;
        *length_p  = pages.end - part.end;
    }
    return 0;
}

int uct_predreg_arena_alter(uct_predreg_served_t *served, const void *address,
                            size_t length)
{
    uintptr_t offset = (uintptr_t)address & (served->page_size - 1);
    uct_predreg_pages_t pages, part;

    /* mlock() takes any address of a page: begin at the start of the page */
    if (!uct_predreg_served_pages(served, (const char*)address - offset,
                                  length + offset, &pages) ||
        !uct_predreg_served_part(served, &pages, &part)) {
        return 0;
    }

    /* The program has freed some of these pages, but the arena still has them. The kernel
     * would change the pages, and a later mapping of the program might get protected or
     * locked pages */
    if (!uct_predreg_served_is_live(served, &part)) {
        return ENOMEM;
    }

    uct_predreg_altered_add(&served->is_protected, part.start, part.end);
    return 0;
}

/* Give the kernel the program's advice about memory before and behind the arena */
static void advise_rest(const uct_predreg_pages_t *pages,
                        const uct_predreg_pages_t *part, int advice)
{
    if (pages->start < part->start) {
        (void)uct_predreg_system_madvise((void*)pages->start,
                                         part->start - pages->start, advice);
    }
    if (part->end < pages->end) {
        (void)uct_predreg_system_madvise((void*)part->end,
                                         pages->end - part->end, advice);
    }
}

/* Answer advice by which the program discards the contents of memory: the memory reads as
 * zero afterwards. If any of the memory may be locked, ask the kernel, which refuses to
 * discard locked memory */
static int discard(uct_predreg_served_t *served,
                   const uct_predreg_pages_t *pages,
                   const uct_predreg_pages_t *part, int advice)
{
    if (uct_predreg_served_is_protected(served, part)) {
        uct_predreg_served_spoil(served, part);
        return 0;
    }

    uct_predreg_served_clear(served, part);
    advise_rest(pages, part, advice);
    return 1;
}

/* Handle advice about memory whose pages in the arena are all live, i.e. the program's, and
 * not in a spoilt slab, whose pages the kernel may have taken away */
static int advise_live(uct_predreg_served_t *served,
                       const uct_predreg_pages_t *pages,
                       const uct_predreg_pages_t *part, int advice)
{
    switch (advice) {
    case MADV_DONTNEED:
    case MADV_DONTNEED_LOCKED:
        return discard(served, pages, part, advice);
    case MADV_FREE:
        /* After this advice the memory may read as before: the arena does nothing */
        advise_rest(pages, part, advice);
        return 1;
    case MADV_WILLNEED:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
    case MADV_COLLAPSE:
        /* The arena lets the kernel follow this advice, since the kernel leaves pinned pages
         * where they are */
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
        /* Following other advice, the kernel may take the pages away */
        uct_predreg_served_spoil(served, part);
        return 0;
    }
}

int uct_predreg_arena_madvise(uct_predreg_served_t *served, void **address_p,
                              size_t *length_p, int advice)
{
    uct_predreg_pages_t pages, part;
    int has_spoilt;

    if (!uct_predreg_served_pages(served, *address_p, *length_p, &pages) ||
        !uct_predreg_served_part(served, &pages, &part)) {
        return 0;
    }

    has_spoilt = uct_predreg_served_is_spoilt(served, &part);
    if (has_spoilt && !uct_predreg_served_is_across(served, &part)) {
        return 0;
    }

    if (!uct_predreg_served_is_live(served, &part)) {
        /* The kernel refuses advice about memory that the program does not have, such as
         * at the address 0 */
        *address_p = NULL;
        *length_p  = served->page_size;
        return 0;
    }

    if (has_spoilt) {
        uct_predreg_served_spoil_others(served, &part);
        return 0;
    }
    return advise_live(served, &pages, &part, advice);
}
