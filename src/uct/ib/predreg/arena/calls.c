/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"
#include "system.h"

#include <errno.h>
#include <sys/mman.h>


/* The headers of older systems lack this number of the kernel (linux/mman.h) */
#ifndef MAP_FIXED_NOREPLACE
#  define MAP_FIXED_NOREPLACE 0x100000
#endif


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

/* Whether a mapping at a fixed address is memory like that of the arena */
static int is_plain(int prot, int flags)
{
    return (prot == (PROT_READ | PROT_WRITE)) &&
           ((flags & ~ANY_MEMORY) == (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
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

    /* What is before and behind the arena is the kernel's */
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

    /* mlock() takes any address */
    if (!uct_predreg_served_pages(served, (const char*)address - offset,
                                  length + offset, &pages) ||
        !uct_predreg_served_part(served, &pages, &part)) {
        return 0;
    }

    /* The kernel would do it, as the pages are there still, and the program's next
     * mapping, which may get them, would be protected or locked */
    if (!uct_predreg_served_is_live(served, &part)) {
        return ENOMEM;
    }

    uct_predreg_altered_add(&served->is_protected, part.start, part.end);
    return 0;
}
