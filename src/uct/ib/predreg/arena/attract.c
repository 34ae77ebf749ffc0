/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "attract.h"

#include <ucs/sys/compiler_def.h>

/* The lowest bits of a chunk's size: the flags of a chunk, and the flag of a mapped one
 * (glibc, malloc/malloc.c, IS_MMAPPED) */
#define CHUNK_BITS   7
#define CHUNK_MAPPED 2


void uct_predreg_attract_init(uct_predreg_attract_t *attract, size_t min,
                              size_t max)
{
    attract->min       = min;
    attract->max       = max;
    atomic_init(&attract->wanted, SIZE_MAX);
    atomic_init(&attract->num_unmapped, 0);
    attract->attracted = SIZE_MAX;
    attract->settle_at = UCS_RCACHE_PRED_TIME_INF;
    attract->answered  = 0;
    attract->refused   = 0;
    attract->is_trial  = 1;
    attract->is_over   = 0;
}

int uct_predreg_attract_note(uct_predreg_attract_t *attract, size_t length)
{
    size_t wanted = ucs_relaxed_load(&attract->wanted);

    if (ucs_likely((length >= wanted) || (length < attract->min) ||
                   (length > attract->max))) {
        return 0;
    }

    /* If two threads write at the same time, the shorter length may be lost: a further use
     * of the buffer will note it */
    ucs_relaxed_store(&attract->wanted, length);
    return 1;
}

/* The word before memory of malloc() does not belong to the program, so the sanitizer
 * would complain */
__attribute__((no_sanitize("address"))) int
uct_predreg_attract_is_malloced(const void *address, size_t page_size)
{
    const size_t *chunk = (const size_t*)address - 2;

    /* glibc's malloc puts two words, the head of the chunk, at the begin of a mapping, and
     * returns the address after them */
    return ((((uintptr_t)chunk) & (page_size - 1)) == 0) &&
           ((chunk[1] & CHUNK_BITS) == CHUNK_MAPPED);
}

/* Whether, since the look that attract->refused is from, more requests have found no room
 * than uses were answered. Such requests cost more than the answers save: the kernel maps
 * and unmaps memory for each of them, and UCX registers it */
static int is_too_small(uct_predreg_attract_t *attract, uint64_t answered,
                        uint64_t refused, int is_full)
{
    uint64_t more = refused - attract->refused;

    if (!is_full) {
        attract->answered = answered;
        attract->refused  = refused;
        return 0;
    }

    if ((attract->attracted == SIZE_MAX) ||
        (more < UCT_PREDREG_ATTRACT_MIN_REFUSED)) {
        return 0;
    }

    if (more > answered - attract->answered) {
        return 1;
    }

    attract->answered = answered;
    attract->refused  = refused;
    return 0;
}

/* Begin to have malloc() map allocations from a length on */
static void begin(uct_predreg_attract_t *attract, size_t length,
                  ucs_rcache_pred_time_t now, uint64_t answered,
                  uint64_t refused)
{
    attract->attracted = length;
    attract->settle_at = now + UCT_PREDREG_ATTRACT_SETTLE;
    attract->answered  = answered;
    attract->refused   = refused;
}

/* End the trial. @return whether the program has communicated nothing by now */
static int is_unused(uct_predreg_attract_t *attract, size_t wanted)
{
    attract->is_trial  = 0;
    attract->attracted = SIZE_MAX; /* The caller sets the wanted length in a moment, if
                                      there is one */
    attract->settle_at = UCS_RCACHE_PRED_TIME_INF;
    return wanted == SIZE_MAX;
}

static int is_tried(const uct_predreg_attract_t *attract)
{
    return ucs_relaxed_load(&attract->num_unmapped) >=
           UCT_PREDREG_ATTRACT_TRIAL;
}

uct_predreg_attract_change_t
uct_predreg_attract_look(uct_predreg_attract_t *attract,
                         ucs_rcache_pred_time_t now, uint64_t answered,
                         uint64_t refused, int is_full)
{
    size_t wanted = ucs_relaxed_load(&attract->wanted);

    if (attract->is_over) {
        return UCT_PREDREG_ATTRACT_NOTHING;
    }

    if (is_too_small(attract, answered, refused, is_full)) {
        attract->is_over = 1;
        return UCT_PREDREG_ATTRACT_OVER;
    }

    if (attract->is_trial && (attract->attracted == SIZE_MAX)) {
        begin(attract, attract->min, now, answered, refused);
        return UCT_PREDREG_ATTRACT_TRY;
    }

    if (attract->is_trial && is_tried(attract) && is_unused(attract, wanted)) {
        return UCT_PREDREG_ATTRACT_UNUSED;
    }

    if (wanted < attract->attracted) {
        begin(attract, wanted, now, answered, refused);
        return UCT_PREDREG_ATTRACT_MORE;
    }

    if (now >= attract->settle_at) {
        attract->settle_at = UCS_RCACHE_PRED_TIME_INF;
        return UCT_PREDREG_ATTRACT_SETTLED;
    }
    return UCT_PREDREG_ATTRACT_NOTHING;
}
