/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_TYPES_H_
#define UCP_FH_TYPES_H_

#include <ucs/base/tree.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file types.h
 *
 * What both tables of firehoses use: buckets, limits, completions. The paper is
 * Bell and Nishtala, "Firehose: An Algorithm for Distributed Page Registration
 * on Clusters of SMPs" (2004). Pure.
 */

/** Shifts of bucket sizes that are accepted: 64 bytes, so that tests may have
 *  small buckets, to 1 TiB. The program uses a page and more. */
#define UCP_FH_MIN_SHIFT 6
#define UCP_FH_MAX_SHIFT 40

/** M and MAXVICTIM where neither the program nor the environment says, and what
 *  the environment may say, bytes. The defaults of the knobs FIREHOSE_M and
 *  FIREHOSE_MAXVICTIM, and their help, have the same with units, which a unit
 *  test compares. */
#define UCP_FH_DEF_M          (256ull << 20)
#define UCP_FH_DEF_MAX_VICTIM (64ull << 20)
#define UCP_FH_MIN_BYTES      (1ull << 12)
#define UCP_FH_MAX_BYTES      (1ull << 40)


/** Number of a bucket: the address of its first byte divided by the size of a
 *  bucket. */
typedef uint64_t ucp_fh_bucket_t;


/** Adjacent buckets. */
typedef struct ucp_fh_run {
    ucp_fh_bucket_t first;
    uint64_t        num;
} ucp_fh_run_t;


/** Buckets in a set of such, in which those are found that have a bucket in
 *  common with others. Embedded by what they belong to. */
typedef struct ucp_fh_place {
    ucs_rcache_pred_tree_node_t node;
    ucp_fh_run_t                run;
    ucp_fh_bucket_t             end;  /**< The highest end of its branch */
} ucp_fh_place_t;


/** Some memory, bytes. */
typedef struct ucp_fh_span {
    uint64_t start;
    uint64_t end;   /**< The byte after the last one */
} ucp_fh_span_t;


/** Something that ends later, with a function to be called then. The caller
 *  embeds it as the first member of what it waits for. */
typedef struct ucp_fh_comp {
    ucs_list_link_t link;   /**< In the list of what has ended, until
                                 ucp_fh_comp_next() */
    /** Set by the caller. No table calls it: whoever takes the completion from
     *  ucp_fh_comp_next() does, and has left the lock by then if it wants
     *  to. */
    void            (*func)(struct ucp_fh_comp *self);
    ucs_status_t    status; /**< How it ended; UCS_INPROGRESS: not yet */
} ucp_fh_comp_t;


/** @return the end of a run: the bucket after its last one. */
static inline ucp_fh_bucket_t ucp_fh_run_end(const ucp_fh_run_t *run)
{
    return run->first + run->num;
}

/** @return whether a bucket is in a run. */
static inline int
ucp_fh_run_has(const ucp_fh_run_t *run, ucp_fh_bucket_t bucket)
{
    return bucket - run->first < run->num;
}

/** @return whether two runs have a bucket in common. */
static inline int
ucp_fh_run_overlaps(const ucp_fh_run_t *run, const ucp_fh_run_t *other)
{
    return (run->first < ucp_fh_run_end(other)) &&
           (other->first < ucp_fh_run_end(run));
}

/** @return whether two spans have a byte in common. */
static inline int
ucp_fh_span_overlaps(const ucp_fh_span_t *span, const ucp_fh_span_t *other)
{
    return (span->start < other->end) && (other->start < span->end);
}

/** @return whether all of a span, which may be empty, is in another one. */
static inline int
ucp_fh_span_is_within(const ucp_fh_span_t *span, const ucp_fh_span_t *other)
{
    return (span->start >= span->end) ||
           ((span->start >= other->start) && (span->end <= other->end));
}

/** @return what of a span is in buckets, of 2^shift bytes. */
static inline ucp_fh_span_t
ucp_fh_span_clip(const ucp_fh_span_t *span, unsigned shift,
                 const ucp_fh_run_t *run)
{
    uint64_t first = run->first << shift;
    uint64_t end   = ucp_fh_run_end(run) << shift;

    return (ucp_fh_span_t){
        .start = (span->start > first) ? span->start : first,
        .end   = (span->end < end) ? span->end : end
    };
}

/** @return all of some buckets, of 2^shift bytes. */
static inline ucp_fh_span_t
ucp_fh_span_of(unsigned shift, const ucp_fh_run_t *run)
{
    return (ucp_fh_span_t){
        .start = run->first << shift,
        .end   = ucp_fh_run_end(run) << shift
    };
}

/** Make an empty set of places, which may overlap. */
void ucp_fh_places_init(ucs_rcache_pred_tree_t *places);

/** Add a place, of 1 bucket and more. O(log n), as the next three. */
void ucp_fh_places_add(ucs_rcache_pred_tree_t *places, ucp_fh_place_t *place,
                       const ucp_fh_run_t *run);

static inline void
ucp_fh_places_remove(ucs_rcache_pred_tree_t *places, ucp_fh_place_t *place)
{
    ucs_rcache_pred_tree_remove(places, &place->node);
}

/** @return the first place that has a bucket in common with a run, or NULL. */
ucp_fh_place_t *ucp_fh_places_first(const ucs_rcache_pred_tree_t *places,
                                    const ucp_fh_run_t *run);

/** @return the next one after it, or NULL. Others may be removed meanwhile. */
ucp_fh_place_t *
ucp_fh_places_next(const ucp_fh_place_t *place, const ucp_fh_run_t *run);

/**
 * Find the buckets that a range of memory is in.
 *
 * @param [in]  shift    Logarithm of the size of a bucket.
 * @param [in]  address  Of the first byte.
 * @param [in]  length   Bytes, 1 and more.
 * @param [out] run      The buckets.
 * @return UCS_ERR_INVALID_PARAM if the range is empty or wraps around the end
 *         of the address space.
 */
ucs_status_t ucp_fh_run_cover(unsigned shift, uint64_t address, uint64_t length,
                              ucp_fh_run_t *run);

/**
 * How many firehoses each peer gets to this process: f = M / (P * peers),
 * rounded down (section 3.1 of the paper).
 *
 * @param [in]  m        M, bytes that are pinned for peers at most.
 * @param [in]  shift    Logarithm of P, the size of a bucket.
 * @param [in]  peers    Number of peers, 1 and more.
 * @param [out] share_p  f, 1 to UINT32_MAX; more than that is cut down to it.
 * @return UCS_ERR_EXCEEDS_LIMIT if f would be 0, in which case nobody could
 *         reach any memory: this process has to be given a greater M, or
 *         smaller buckets, or do without firehoses. The log says so.
 */
ucs_status_t ucp_fh_share(uint64_t m, unsigned shift, unsigned peers,
                          uint32_t *share_p);

/** Something has ended: put it into the list of what has. */
void ucp_fh_comp_end(ucp_fh_comp_t *comp, ucs_list_link_t *ended,
                     ucs_status_t status);

/**
 * Take the oldest completion whose function was not called yet. To be called
 * under the lock of the table that the list belongs to, after each call of a
 * function of that table, until it returns NULL. The caller then calls the
 * completion's function, which may call functions of the table, and may free
 * what the completion is in.
 */
ucp_fh_comp_t *ucp_fh_comp_next(ucs_list_link_t *ended);

END_C_DECLS

#endif
