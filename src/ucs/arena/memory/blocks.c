/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "blocks.h"

#include <ucs/sys/math.h>


/* Flags in a tag, beside the kind. A tag without any of these flags says
 * nothing */
#define TAG_FIRST UCS_BIT(8)  /* The first page of a block */
#define TAG_LAST  UCS_BIT(9)  /* The last page of a block, which may also be its
                                 first */
#define TAG_HELD  UCS_BIT(10) /* The block is held */
#define TAG_KIND  UCS_MASK(8)


static void tag(ucs_arena_blocks_t *blocks, uint32_t first, uint32_t length,
                uint32_t kind)
{
    uint32_t last = first + length - 1;

    blocks->tags[first].length = length;
    blocks->tags[last].length  = length;
    blocks->tags[last].kind    = kind | TAG_LAST;
    if (first == last) {
        blocks->tags[last].kind |= TAG_FIRST;
    } else {
        blocks->tags[first].kind = kind | TAG_FIRST;
    }
}

/* Clear the tags at both ends of a block, so that neither page looks like the
 * end of a block any more */
static void untag(ucs_arena_blocks_t *blocks, uint32_t first)
{
    uint32_t last = first + blocks->tags[first].length - 1;

    blocks->tags[first].kind = 0;
    blocks->tags[last].kind  = 0;
}

ucs_arena_kind_t
ucs_arena_blocks_idle_kind(const ucs_arena_blocks_t *blocks, uint32_t page)
{
    uint32_t kind = blocks->tags[page].kind;

    return ((kind & TAG_FIRST) && !(kind & TAG_HELD)) ? (kind & TAG_KIND) :
                                                        UCS_ARENA_KIND_LAST;
}

int ucs_arena_blocks_is_held(const ucs_arena_blocks_t *blocks, uint32_t page)
{
    uint32_t flags = TAG_FIRST | TAG_HELD;

    return (blocks->tags[page].kind & flags) == flags;
}

ucs_arena_kind_t
ucs_arena_blocks_held_kind(const ucs_arena_blocks_t *blocks, uint32_t block)
{
    return blocks->tags[block].kind & TAG_KIND;
}

static ucs_arena_usage_t *
usage_of(ucs_arena_blocks_t *blocks, uint32_t page)
{
    return &blocks->usage[ucs_arena_blocks_slab(blocks, page)];
}

/* Make pages an idle block, without joining it with its neighbours */
static void add(ucs_arena_blocks_t *blocks, uint32_t first, uint32_t length,
                ucs_arena_kind_t kind)
{
    tag(blocks, first, length, kind);
    ucs_arena_fit_add(&blocks->fit[kind], blocks->tags, first);
    blocks->num[kind]             += length;
    usage_of(blocks, first)->idle += length;
}

/* Take an idle block away. @return its length */
static uint32_t
take(ucs_arena_blocks_t *blocks, uint32_t first, ucs_arena_kind_t kind)
{
    uint32_t length = blocks->tags[first].length;

    ucs_arena_fit_remove(&blocks->fit[kind], blocks->tags, first);
    untag(blocks, first);
    blocks->num[kind]             -= length;
    usage_of(blocks, first)->idle -= length;
    return length;
}

/* Make pages an idle block, joined with neighbours of the same kind */
static void join(ucs_arena_blocks_t *blocks, uint32_t first, uint32_t length,
                 ucs_arena_kind_t kind)
{
    uint32_t mask = blocks->slab_pages - 1;
    uint32_t end  = first + length;
    uint32_t before;

    /* Only the first and the last page of a block have a flag. So a page with TAG_LAST
     * right before these pages ends a block of the kind in its tag, and a page with
     * TAG_FIRST right behind them begins one */
    if (((first & mask) != 0) &&
        ((blocks->tags[first - 1].kind & ~TAG_FIRST) == (kind | TAG_LAST))) {
        before  = blocks->tags[first - 1].length;
        first  -= before;
        length += take(blocks, first, kind);
    }
    if (((end & mask) != 0) &&
        ((blocks->tags[end].kind & ~TAG_LAST) == (kind | TAG_FIRST))) {
        length += take(blocks, end, kind);
    }

    add(blocks, first, length, kind);
}

/* Take the first pages out of an idle block. The rest stays idle */
static void carve(ucs_arena_blocks_t *blocks, uint32_t block,
                  ucs_arena_kind_t kind, uint32_t length)
{
    uint32_t rest = take(blocks, block, kind) - length;

    if (rest > 0) {
        add(blocks, block + length, rest, kind);
    }
}

void ucs_arena_blocks_open(ucs_arena_blocks_t *blocks, uint32_t slab,
                           uint32_t pages, ucs_arena_time_t now)
{
    blocks->usage[slab].pages       = pages;
    blocks->usage[slab].empty_since = now;
    add(blocks, slab << blocks->slab_shift, pages, UCS_ARENA_KIND_FRESH);
}

void ucs_arena_blocks_close(ucs_arena_blocks_t *blocks, uint32_t slab)
{
    blocks->usage[slab].pages     = 0;
    blocks->usage[slab].is_spoilt = 0;
}

void ucs_arena_blocks_make_live(ucs_arena_blocks_t *blocks, uint32_t block,
                                uint32_t length)
{
    ucs_arena_usage_t *usage = usage_of(blocks, block);

    carve(blocks, block, ucs_arena_blocks_idle_kind(blocks, block), length);
    ucs_arena_bits_set(blocks->live, block, block + length);
    usage->live      += length;
    blocks->num_live += length;
}

static void
hold(ucs_arena_blocks_t *blocks, uint32_t first, uint32_t length, uint32_t kind)
{
    tag(blocks, first, length, kind | TAG_HELD);
    usage_of(blocks, first)->held += length;
    blocks->num_held              += length;
}

void ucs_arena_blocks_retire(ucs_arena_blocks_t *blocks, uint32_t first,
                             uint32_t length, ucs_arena_time_t now,
                             int is_held)
{
    ucs_arena_usage_t *usage = usage_of(blocks, first);

    ucs_arena_bits_clear(blocks->live, first, first + length);
    blocks->num_live -= length;
    usage->live      -= length;
    if (usage->live == 0) {
        usage->empty_since = now;
    }

    if (is_held) {
        hold(blocks, first, length, UCS_ARENA_KIND_DIRTY);
    } else {
        join(blocks, first, length, UCS_ARENA_KIND_DIRTY);
    }
}

uint32_t ucs_arena_blocks_live_run(const ucs_arena_blocks_t *blocks,
                                   size_t *page_p, size_t end)
{
    uint32_t slab = ucs_arena_blocks_slab(blocks, *page_p);
    size_t first;

    end   = ucs_min(end, (size_t)(slab + 1) << blocks->slab_shift);
    first = (blocks->usage[slab].live == 0) ?
                    end :
                    ucs_arena_bits_next_set(blocks->live, *page_p, end);
    *page_p = (first == end) ?
                      end :
                      ucs_arena_bits_next_clear(blocks->live, first, end);
    return first;
}

uint32_t ucs_arena_blocks_hold(ucs_arena_blocks_t *blocks, uint32_t block,
                               uint32_t length)
{
    ucs_arena_kind_t kind = ucs_arena_blocks_idle_kind(blocks, block);

    length = ucs_min(length, blocks->tags[block].length);
    carve(blocks, block, kind, length);
    hold(blocks, block, length, kind);
    return length;
}

void ucs_arena_blocks_drop(ucs_arena_blocks_t *blocks, uint32_t block)
{
    uint32_t length = blocks->tags[block].length;

    untag(blocks, block);
    usage_of(blocks, block)->held -= length;
    blocks->num_held              -= length;
}

void ucs_arena_blocks_release(ucs_arena_blocks_t *blocks, uint32_t block,
                              ucs_arena_kind_t kind)
{
    uint32_t length = blocks->tags[block].length;

    ucs_arena_blocks_drop(blocks, block);
    if (!usage_of(blocks, block)->is_spoilt) {
        join(blocks, block, length, kind);
    }
}

/* @return the page behind a block if @a page is its first page; else the next
 * page */
static uint32_t next_of(const ucs_arena_blocks_t *blocks, uint32_t page)
{
    const ucs_arena_tag_t *tag = &blocks->tags[page];

    return page + ((tag->kind & TAG_FIRST) ? tag->length : 1);
}

uint32_t
ucs_arena_blocks_rest(const ucs_arena_blocks_t *blocks, uint32_t slab)
{
    uint32_t last              = (slab << blocks->slab_shift) +
                                 blocks->usage[slab].pages - 1;
    const ucs_arena_tag_t *tag = &blocks->tags[last];

    return ((tag->kind & ~TAG_FIRST) == (UCS_ARENA_KIND_FRESH | TAG_LAST)) ?
                   tag->length :
                   0;
}

void ucs_arena_blocks_cut(ucs_arena_blocks_t *blocks, uint32_t slab,
                          uint32_t length)
{
    uint32_t rest = ucs_arena_blocks_rest(blocks, slab);
    uint32_t end  = (slab << blocks->slab_shift) + blocks->usage[slab].pages;

    take(blocks, end - rest, UCS_ARENA_KIND_FRESH);
    if (rest > length) {
        add(blocks, end - rest, rest - length, UCS_ARENA_KIND_FRESH);
    }
    blocks->usage[slab].pages -= length;
}

uint32_t ucs_arena_blocks_next_idle(const ucs_arena_blocks_t *blocks,
                                    uint32_t first, uint32_t end)
{
    while ((first < end) && (ucs_arena_blocks_idle_kind(blocks, first) ==
                             UCS_ARENA_KIND_LAST)) {
        first = ucs_arena_bits_is_set(blocks->live, first) ?
                        ucs_arena_bits_next_clear(blocks->live, first, end) :
                        next_of(blocks, first);
    }
    return ucs_min(first, end);
}

void ucs_arena_blocks_spoil(ucs_arena_blocks_t *blocks, uint32_t slab)
{
    uint32_t page = slab << blocks->slab_shift;
    uint32_t end  = page + blocks->usage[slab].pages;

    blocks->usage[slab].is_spoilt = 1;
    while ((page = ucs_arena_blocks_next_idle(blocks, page, end)) != end) {
        page += take(blocks, page, ucs_arena_blocks_idle_kind(blocks, page));
    }
}

int ucs_arena_blocks_has_held(const ucs_arena_blocks_t *blocks, uint32_t first,
                              uint32_t end)
{
    uint32_t page = first & ~(blocks->slab_pages - 1);
    uint32_t next;

    for (; page < end; page = next) {
        next = next_of(blocks, page);
        if ((next > first) && ucs_arena_blocks_is_held(blocks, page)) {
            return 1;
        }
    }
    return 0;
}

void ucs_arena_blocks_claim(ucs_arena_blocks_t *blocks, uint32_t first,
                            uint32_t end)
{
    uint32_t page = first;
    uint32_t next;

    while ((page = ucs_arena_bits_next_clear(blocks->live, page, end)) != end) {
        next                           = ucs_arena_bits_next_set(blocks->live,
                                                                 page, end);
        usage_of(blocks, first)->live += next - page;
        blocks->num_live              += next - page;
        page                           = next;
    }
    ucs_arena_bits_set(blocks->live, first, end);
}

int ucs_arena_blocks_is_gone(const ucs_arena_blocks_t *blocks, uint32_t slab)
{
    return blocks->usage[slab].live + blocks->usage[slab].held == 0;
}
