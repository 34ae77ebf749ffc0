/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_TYPES_H_
#define UCP_FH_TYPES_H_

#include <ucs/base/buckets.h>
#include <ucs/base/tree.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file types.h
 *
 * Shared by both tables of firehoses: buckets, limits, completions. The paper is
 * Bell and Nishtala, "Firehose: An Algorithm for Distributed Page Registration
 * on Clusters of SMPs" (2004). Pure.
 */

/** Shifts of bucket sizes that are accepted: 64 bytes, so that tests may have
 *  small buckets, to 1 TiB. The program uses a page and more. */
#define UCP_FH_MIN_SHIFT 6
#define UCP_FH_MAX_SHIFT 40

/** M and MAXVICTIM if neither the program nor the environment sets them, and the range
 *  for the environment, bytes. The defaults of the knobs FIREHOSE_M and
 *  FIREHOSE_MAXVICTIM, and their help, have the same with units; a unit test
 *  compares them. */
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


/** An element of a set of places: adjacent buckets. In the set, all places are found that
 *  have a bucket in common with a run. The owner of the buckets embeds the place. */
typedef struct ucp_fh_place {
    ucs_tree_node_t node;
    ucp_fh_run_t                run;
    ucp_fh_bucket_t             end;  /**< The highest end of the runs in the branch of
                                           the tree that begins with this place */
} ucp_fh_place_t;


/** A range of memory, in bytes. */
typedef struct ucp_fh_span {
    uint64_t start;
    uint64_t end;   /**< The byte after the last one */
} ucp_fh_span_t;


/** The forms of a pin. */
typedef enum {
    UCP_FH_FORM_WAIT,   /**< Pin all of the memory, as soon as there is room */
    UCP_FH_FORM_TRY,    /**< Use the memory if all of it is pinned already, else fail */
    UCP_FH_FORM_PARTIAL /**< Use the longest part of the memory that is pinned already:
                             the most adjacent buckets, and the first of equally long
                             parts */
} ucp_fh_form_t;


/** An operation that ends later, with a function to be called then. The caller embeds
 *  this as the first member of the operation. */
typedef struct ucp_fh_comp {
    ucs_list_link_t link;   /**< In the list of ended operations, until
                                 ucp_fh_comp_next() */
    /** Set by the caller. No table calls the function: whoever calls
     *  ucp_fh_comp_next() calls it, with or without the lock. */
    void            (*func)(struct ucp_fh_comp *self);
    ucs_status_t    status; /**< Status at the end; UCS_INPROGRESS before */
} ucp_fh_comp_t;


/** Take the first element out of a list. @return the element; NULL: the list is empty. */
#define ucp_fh_list_pop(_list, _type, _member) \
    (ucs_list_is_empty(_list) ? NULL : \
                                ucs_list_extract_head(_list, _type, _member))

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

/** @return whether all of a span, which may be empty, lies in another span. */
static inline int
ucp_fh_span_is_within(const ucp_fh_span_t *span, const ucp_fh_span_t *other)
{
    return (span->start >= span->end) ||
           ((span->start >= other->start) && (span->end <= other->end));
}

/** @return the part of a span that lies in the buckets of a run, of 2^shift bytes
 *          each. */
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

/** @return all memory of the buckets of a run, of 2^shift bytes each. */
static inline ucp_fh_span_t
ucp_fh_span_of(unsigned shift, const ucp_fh_run_t *run)
{
    return (ucp_fh_span_t){
        .start = run->first << shift,
        .end   = ucp_fh_run_end(run) << shift
    };
}

/** Make an empty set of places, which may overlap. */
void ucp_fh_places_init(ucs_tree_t *places);

/** Add a place, of 1 bucket and more. This function and the next three take O(log n). */
void ucp_fh_places_add(ucs_tree_t *places, ucp_fh_place_t *place,
                       const ucp_fh_run_t *run);

static inline void
ucp_fh_places_remove(ucs_tree_t *places, ucp_fh_place_t *place)
{
    ucs_tree_remove(places, &place->node);
}

/** @return the first place that has a bucket in common with a run, or NULL. */
ucp_fh_place_t *ucp_fh_places_first(const ucs_tree_t *places,
                                    const ucp_fh_run_t *run);

/** @return the next place after @a place that has a bucket in common with a run, or NULL.
 *          Other places may have been removed since. */
ucp_fh_place_t *
ucp_fh_places_next(const ucp_fh_place_t *place, const ucp_fh_run_t *run);

/** @return a hash key for a bucket and a peer: two buckets or peers rarely have the same
 *          key. */
static UCS_F_ALWAYS_INLINE uint64_t
ucp_fh_bucket_key(uint32_t peer, ucp_fh_bucket_t bucket)
{
    return bucket + ucs_hash_word(peer);
}

/** Add an element to a hash table, which grows as needed. If there is no memory to grow,
 *  the table becomes slower.
 *
 *  @param [inout] num_p  Number of elements. */
void ucp_fh_buckets_add(ucs_buckets_t *buckets, uint32_t *num_p,
                        uint64_t key, ucs_hlist_link_t *link);

void ucp_fh_buckets_remove(ucs_buckets_t *buckets, uint32_t *num_p,
                           uint64_t key, ucs_hlist_link_t *link);

/**
 * Find the buckets of a range of memory.
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
 * Find the number of firehoses that each peer may have on this process:
 * f = M / (P * peers), rounded down (section 3.1 of the paper).
 *
 * @param [in]  m        M, bytes pinned for peers at most.
 * @param [in]  shift    Logarithm of P, the size of a bucket.
 * @param [in]  peers    Number of peers, 1 and more.
 * @param [out] share_p  f, 1 to UINT32_MAX; a larger f is cut down to UINT32_MAX.
 * @return UCS_ERR_EXCEEDS_LIMIT if f would be 0, and no peer could reach any
 *         memory: this process needs a greater M or smaller buckets, or has to do
 *         without firehoses. The log says so.
 */
ucs_status_t ucp_fh_share(uint64_t m, unsigned shift, unsigned peers,
                          uint32_t *share_p);

/** Put an operation that has ended into the list of ended ones. */
void ucp_fh_comp_end(ucp_fh_comp_t *comp, ucs_list_link_t *ended,
                     ucs_status_t status);

/**
 * Take the oldest completion out of the list of ended operations of a table. To be
 * called under the lock of the table, after each call of a function of the table,
 * until the answer is NULL. For each completion the caller calls comp->func(), which
 * may call functions of the table, and may free the operation.
 */
ucp_fh_comp_t *ucp_fh_comp_next(ucs_list_link_t *ended);

END_C_DECLS

#endif
