/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "site_count.h"

#include <stdlib.h>
#include <string.h>

/* A pair of contexts, and how many calls have both */
typedef struct site_pair {
    site_call_t call;
    size_t      num_calls;
    /* Whether its cheap context belongs to other pairs too */
    int         merged;
} site_pair_t;


static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_by_cheap(const void *a, const void *b)
{
    const site_call_t *x = a, *y = b;
    int order            = compare(x->cheap, y->cheap);

    return (order != 0) ? order : compare(x->exact, y->exact);
}

static int compare_by_exact(const void *a, const void *b)
{
    const site_pair_t *x = a, *y = b;

    return compare(x->call.exact, y->call.exact);
}

/* Count the different pairs among calls, which are sorted */
static size_t make_pairs(const site_call_t *calls, size_t num_calls,
                         site_pair_t *pairs)
{
    size_t num_pairs = 0;
    size_t i;

    for (i = 0; i < num_calls; ++i) {
        if ((i == 0) || (compare_by_cheap(&calls[i - 1], &calls[i]) != 0)) {
            pairs[num_pairs++] = (site_pair_t){ .call = calls[i] };
        }
        ++pairs[num_pairs - 1].num_calls;
    }

    return num_pairs;
}

/* The pairs are sorted by their cheap contexts */
static void count_cheap(site_pair_t *pairs, size_t num_pairs,
                        site_counts_t *counts)
{
    size_t first, last, i;

    for (first = 0; first < num_pairs; first = last) {
        for (last = first + 1; (last < num_pairs) &&
             (pairs[last].call.cheap == pairs[first].call.cheap); ++last);

        ++counts->cheap;
        counts->merged += (last - first) > 1;
        for (i = first; i < last; ++i) {
            pairs[i].merged = (last - first) > 1;
        }
    }
}

/* The pairs are sorted by their exact contexts */
static void count_exact(const site_pair_t *pairs, size_t num_pairs,
                        site_counts_t *counts)
{
    size_t first, last;

    for (first = 0; first < num_pairs; first = last) {
        for (last = first + 1; (last < num_pairs) &&
             (pairs[last].call.exact == pairs[first].call.exact); ++last);

        ++counts->exact;
        if ((last - first) > 1) {
            ++counts->split;
        } else if (!pairs[first].merged) {
            counts->right += pairs[first].num_calls;
        }
    }
}

int site_count(site_call_t *calls, size_t num_calls, site_counts_t *counts)
{
    site_pair_t *pairs;
    size_t num_pairs;

    memset(counts, 0, sizeof(*counts));
    if (num_calls == 0) {
        return 0; /* calls may be NULL, which qsort does not take */
    }

    pairs = malloc(num_calls * sizeof(*pairs));
    if (pairs == NULL) {
        return -1;
    }

    qsort(calls, num_calls, sizeof(*calls), compare_by_cheap);
    num_pairs = make_pairs(calls, num_calls, pairs);
    count_cheap(pairs, num_pairs, counts);
    qsort(pairs, num_pairs, sizeof(*pairs), compare_by_exact);
    count_exact(pairs, num_pairs, counts);
    free(pairs);
    return 0;
}
