/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_KEPT_H_
#define PREDREG_KEPT_H_

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file kept.h
 *
 * The registrations that a schedule keeps at a time, and the next use of each. Each is of
 * just the range of the use that has registered it. Uses are told by their index in the
 * timeline.
 */

#define PREDREG_NO_USE SIZE_MAX


/** The future of the uses of a program. All uses whose pages overlap, also by way of other
 *  uses, are a cluster: a registration serves uses of its cluster alone. */
typedef struct predreg_future {
    const predreg_timeline_t *timeline;
    uint32_t                 *clusters; /**< Cluster of each use */
    uint32_t                 num_clusters;
    size_t                   num_ranges; /**< Number of different ranges of pages */
    size_t                   *next;     /**< For each use, the next one of its cluster;
                                             PREDREG_NO_USE: there is none */
} predreg_future_t;

void predreg_future_init(predreg_future_t *future, const predreg_timeline_t *timeline);

void predreg_future_cleanup(predreg_future_t *future);


/** A registration. */
typedef struct predreg_kept {
    size_t   use;     /**< The use that has registered it */
    uint64_t bytes;   /**< Of its pages */
    uint64_t until;   /**< The end of its last use so far */
    int      is_lost; /**< Whether memory of it was unmapped: it serves no further use */
    size_t   later;   /**< Its next use, if predreg_kept_look_ahead() was called at each
                           use of the cluster; PREDREG_NO_USE: none before an unmap */
    uint32_t link;    /**< The next registration of the cluster, as in first */
} predreg_kept_t;

typedef struct predreg_kept_all {
    const predreg_future_t *future;
    predreg_kept_t         *list;
    size_t                 num;
    uint32_t               *first;   /**< For each cluster, the place of a registration in
                                          the list, plus 1; 0: there is none */
    uint64_t               bytes;    /**< Of all registrations */
    size_t                 num_lost;
} predreg_kept_all_t;


void predreg_kept_init(predreg_kept_all_t *all, const predreg_future_t *future);

void predreg_kept_copy(predreg_kept_all_t *all, const predreg_kept_all_t *from);

void predreg_kept_cleanup(predreg_kept_all_t *all);

void predreg_kept_add(predreg_kept_all_t *all, const predreg_kept_t *kept);

/** Remove the registration at a place of the list. The last one takes its place. */
void predreg_kept_remove(predreg_kept_all_t *all, size_t place);

/** @return a registration that serves a use, or NULL. */
predreg_kept_t *predreg_kept_find(const predreg_kept_all_t *all, size_t use);

/** Let registrations of unmapped memory serve no further use. */
void predreg_kept_unmap(predreg_kept_all_t *all, const predreg_unmap_t *unmap);

/** Find the next uses, after the present one, of registrations of its cluster.
 *  @param [in] unmap  The first unmap that has not come yet. */
void predreg_kept_look_ahead(predreg_kept_all_t *all, size_t present, size_t unmap);

END_C_DECLS

#endif
