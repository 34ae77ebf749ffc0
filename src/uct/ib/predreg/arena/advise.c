/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"
#include "system.h"

#include <sys/mman.h>


/* The headers of older systems lack these numbers of the kernel (linux/mman.h) */
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


/* Do for what is before and behind the arena what the program has asked for */
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

/* What is not needed any more reads as zero. The kernel refuses this for memory that
 * is locked */
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

/* Advice about memory that is all live, as far as it is in the arena, and not
 * spoilt */
static int advise_live(uct_predreg_served_t *served,
                       const uct_predreg_pages_t *pages,
                       const uct_predreg_pages_t *part, int advice)
{
    switch (advice) {
    case MADV_DONTNEED:
    case MADV_DONTNEED_LOCKED:
        return discard(served, pages, part, advice);
    case MADV_FREE:
        /* It may read as before */
        advise_rest(pages, part, advice);
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
        /* It is the kernel's to refuse advice about memory that the program does not
         * have. It has the memory of the arena mapped, and none at the address 0 */
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
