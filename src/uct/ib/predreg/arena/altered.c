/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "altered.h"

#include <ucs/base/relaxed.h>


size_t uct_predreg_altered_memory_size(size_t num_pages)
{
    return (num_pages + 63) / 64 * sizeof(uint64_t);
}

void uct_predreg_altered_init(uct_predreg_altered_t *altered, uintptr_t base,
                              size_t page_size, void *bits)
{
    altered->base       = base;
    altered->page_shift = __builtin_ctzl(page_size);
    altered->bits       = bits;
    atomic_init(&altered->is_any, 0);
}

static size_t
page_of(const uct_predreg_altered_t *altered, uintptr_t address)
{
    return (address - altered->base) >> altered->page_shift;
}

static size_t
page_behind(const uct_predreg_altered_t *altered, uintptr_t address)
{
    return page_of(altered, address - 1) + 1;
}

static int is_noted(const uct_predreg_altered_t *altered, size_t page)
{
    return (ucs_relaxed_load(&altered->bits[page / 64]) >> (page % 64)) & 1;
}

void uct_predreg_altered_add(uct_predreg_altered_t *altered, uintptr_t start,
                             uintptr_t end)
{
    size_t last = page_behind(altered, end);
    size_t page;

    for (page = page_of(altered, start); page < last; ++page) {
        ucs_relaxed_or(&altered->bits[page / 64], 1ul << (page % 64));
    }
    ucs_relaxed_store(&altered->is_any, 1);
}

/* @return the first page of a range that is noted, if @a noted is 1, or that is not
 * noted, if
 *         @a noted is 0; the end of the range, if there is no such page */
static size_t find(const uct_predreg_altered_t *altered, size_t page,
                   size_t end, int noted)
{
    while ((page < end) && (is_noted(altered, page) != noted)) {
        /* If a word is 0, none of its 64 pages is noted: skip all of them */
        page += (noted && (page % 64 == 0) &&
                 (ucs_relaxed_load(&altered->bits[page / 64]) == 0)) ? 64 : 1;
    }
    return (page < end) ? page : end;
}

int uct_predreg_altered_has(const uct_predreg_altered_t *altered,
                            uintptr_t start, uintptr_t end)
{
    size_t last = page_behind(altered, end);

    return ucs_relaxed_load(&altered->is_any) &&
           (find(altered, page_of(altered, start), last, 1) < last);
}

int uct_predreg_altered_remove(uct_predreg_altered_t *altered,
                               uintptr_t start, uintptr_t end,
                               int (*cb)(void *address, size_t length))
{
    size_t last = page_behind(altered, end);
    size_t page, first;

    if (!ucs_relaxed_load(&altered->is_any)) {
        return 1;
    }

    page = page_of(altered, start);
    while ((first = find(altered, page, last, 1)) < last) {
        page = find(altered, first, last, 0);
        if (!cb((void*)(altered->base + (first << altered->page_shift)),
                (page - first) << altered->page_shift)) {
            return 0;
        }
        for (; first < page; ++first) {
            ucs_relaxed_and(&altered->bits[first / 64], ~(1ul << (first % 64)));
        }
    }
    return 1;
}
