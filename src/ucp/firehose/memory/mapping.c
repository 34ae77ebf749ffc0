/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mapping.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


/* A byte of ucp_fh_mapping_t::pages has one of the first four values, and may have
 * PAGE_KEPT as well */
enum {
    PAGE_EXPOSED,
    PAGE_UNMAPPED,  /* The program has unmapped or replaced the page, and the owner
                       has to take it */
    PAGE_TAKEN,     /* The page is being withdrawn, or was withdrawn */
    PAGE_RELEASING, /* A thread is unmapping the page */
    PAGE_STATES     = 0x7f, /* The mask for the four values above */
    PAGE_KEPT       = 0x80  /* The page is mapped for peers alone */
};


/* A range of pages, by their numbers */
typedef struct {
    uint64_t first;
    uint64_t end;
} span_t;


static span_t
span_of(const ucp_fh_mapping_t *mapping, uint64_t start, uint64_t end)
{
    uint64_t page = 1ull << mapping->page_shift;
    span_t span   = {};

    start = ucs_max(start, mapping->start);
    end   = ucs_min(end, mapping->end);
    if (start < end) {
        span.first = (start - mapping->start) >> mapping->page_shift;
        span.end   = (end - mapping->start + page - 1) >> mapping->page_shift;
    }
    return span;
}

static uint64_t address_of(const ucp_fh_mapping_t *mapping, uint64_t page)
{
    return mapping->start + (page << mapping->page_shift);
}

ucs_status_t ucp_fh_mapping_init(ucp_fh_mapping_t *mapping, uint64_t start,
                                 uint64_t end, unsigned page_shift)
{
    uint64_t page = 1ull << page_shift;
    uint64_t num;

    mapping->start      = start & ~(page - 1);
    mapping->end        = mapping->start +
                          ((end - mapping->start + page - 1) & ~(page - 1));
    mapping->page_shift = page_shift;
    num                 = (mapping->end - mapping->start) >> page_shift;
    mapping->first      = num;
    mapping->pages      = calloc(num, sizeof(*mapping->pages));
    return (mapping->pages == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void ucp_fh_mapping_cleanup(ucp_fh_mapping_t *mapping)
{
    free(mapping->pages);
}

int ucp_fh_page_is_watched(const ucp_fh_mapping_t *mapping, uint64_t page)
{
    return (mapping->pages[page] == PAGE_EXPOSED) ||
           (mapping->pages[page] & PAGE_KEPT);
}

int ucp_fh_page_is_kept(const ucp_fh_mapping_t *mapping, uint64_t page)
{
    return (mapping->pages[page] & PAGE_KEPT) != 0;
}

static int is_unmapped(const ucp_fh_mapping_t *mapping, uint64_t page)
{
    return (mapping->pages[page] & PAGE_STATES) == PAGE_UNMAPPED;
}

int ucp_fh_page_is_releasing(const ucp_fh_mapping_t *mapping, uint64_t page)
{
    return (mapping->pages[page] & PAGE_STATES) == PAGE_RELEASING;
}

/* Whether a page is kept, and no other thread is about to unmap the page */
static int is_releasable(const ucp_fh_mapping_t *mapping, uint64_t page)
{
    return ucp_fh_page_is_kept(mapping, page) &&
           !ucp_fh_page_is_releasing(mapping, page);
}

/* Cut a range down to its first pages in a row for which @a holds returns 1. @return
 * whether there are such pages; if not, the range becomes empty, at its former end */
static int next_pages(const ucp_fh_mapping_t *mapping, span_t *span,
                      ucp_fh_page_is_t holds)
{
    uint64_t page;

    while ((span->first < span->end) && !holds(mapping, span->first)) {
        ++span->first;
    }

    for (page = span->first; (page < span->end) && holds(mapping, page); ++page) {
        /* Up to the first page with the answer 0 */
    }
    span->end = page;
    return span->first < span->end;
}

int ucp_fh_mapping_first(const ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t *end_p, ucp_fh_page_is_t holds)
{
    span_t span = span_of(mapping, start, *end_p);
    uint64_t page;
    int ret;

    if (span.first == span.end) {
        return 0; /* Nothing of the range is in the mapping */
    }

    if (start < mapping->start) {
        *end_p = mapping->start;
        return 0;
    }

    ret = holds(mapping, span.first);
    for (page = span.first + 1;
         (page < span.end) && (holds(mapping, page) == ret); ++page) {
        /* Up to the first page with another answer */
    }

    *end_p = ucs_min(*end_p, address_of(mapping, page));
    return ret;
}

int ucp_fh_mapping_any(const ucp_fh_mapping_t *mapping, uint64_t start,
                       uint64_t end, ucp_fh_page_is_t holds)
{
    span_t span = span_of(mapping, start, end);

    return next_pages(mapping, &span, holds);
}

int ucp_fh_mapping_unmap(ucp_fh_mapping_t *mapping, uint64_t start, uint64_t end,
                         int is_kept)
{
    span_t span  = span_of(mapping, start, end);
    uint8_t kept = is_kept ? PAGE_KEPT : 0;
    int has_any  = 0;
    uint64_t page;

    for (page = span.first; page < span.end; ++page) {
        mapping->pages[page] &= PAGE_STATES | kept;
        if (mapping->pages[page] == PAGE_EXPOSED) {
            mapping->pages[page] = PAGE_UNMAPPED | kept;
            mapping->first       = ucs_min(mapping->first, page);
            has_any              = 1;
        }
    }

    return has_any;
}

int ucp_fh_mapping_next(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                        uint64_t *end_p)
{
    span_t span = span_of(mapping, mapping->start, mapping->end);
    int has_any;

    span.first     = mapping->first;
    has_any        = next_pages(mapping, &span, is_unmapped);
    mapping->first = span.first;
    *start_p       = address_of(mapping, span.first);
    *end_p         = address_of(mapping, span.end);
    return has_any;
}

void ucp_fh_mapping_take(ucp_fh_mapping_t *mapping, uint64_t start,
                         uint64_t end)
{
    span_t span = span_of(mapping, start, end);
    uint64_t page;

    for (page = span.first; page < span.end; ++page) {
        if ((mapping->pages[page] & PAGE_STATES) == PAGE_UNMAPPED) {
            mapping->pages[page] = PAGE_TAKEN |
                                   (mapping->pages[page] & PAGE_KEPT);
        }
    }
}

int ucp_fh_mapping_release(ucp_fh_mapping_t *mapping, uint64_t *start_p,
                           uint64_t *end_p)
{
    span_t span = span_of(mapping, *start_p, *end_p);
    int has_any = next_pages(mapping, &span, is_releasable);

    memset(mapping->pages + span.first, PAGE_RELEASING | PAGE_KEPT,
           span.end - span.first);
    *start_p = address_of(mapping, span.first);
    *end_p   = address_of(mapping, span.end);
    return has_any;
}

void ucp_fh_mapping_released(ucp_fh_mapping_t *mapping, uint64_t start,
                             uint64_t end)
{
    span_t span = span_of(mapping, start, end);

    memset(mapping->pages + span.first, PAGE_TAKEN, span.end - span.first);
}
