/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_UCX_MERGE_H_
#define PREDREG_UCX_MERGE_H_

#include "ucx_regions.h"

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file ucx_merge.h
 *
 * What the merging of adjacent regions adds to a new region of UCX's cache, as of
 * openucx/ucx pull request #11803, commit deb98f6fe2.
 *
 * UCX merges and grows regions within one mapping of the process, and reads the mappings
 * from the kernel. A trace has only some mappings, so that a replay takes memory for mapped
 * if the program has used the memory, or has made a recorded mapping, since the last unmap.
 * Before its first unmap or recorded mapping, memory of later uses is mapped, too. Mapped
 * memory without a gap counts as one mapping. The unit is a page.
 */

/** The mapped memory of a program, as disjoint ranges that do not touch. */
typedef struct predreg_ucx_mapped {
    void *ranges; /**< See ranges.h */
} predreg_ucx_mapped_t;


/** The memory that is mapped before the first event of a program. */
void predreg_ucx_mapped_init(predreg_ucx_mapped_t *mapped,
                             const predreg_timeline_t *timeline);

void predreg_ucx_mapped_cleanup(predreg_ucx_mapped_t *mapped);

/** Add the memory [start, end), which is not empty, or remove this memory. */
void predreg_ucx_mapped_add(predreg_ucx_mapped_t *mapped, uint64_t start, uint64_t end);
void predreg_ucx_mapped_remove(predreg_ucx_mapped_t *mapped, uint64_t start, uint64_t end);

/**
 * Extend the range of a new region over the found regions that begin or end where the new
 * one ends or begins, and further into mapped memory.
 *
 * @param [in]     regions  The cache of the new region.
 * @param [in,out] range    Overlaps no found region. Afterwards the range may overlap found
 *                          regions other than these two.
 */
void predreg_ucx_merge_adjacent(const predreg_ucx_regions_t *regions,
                                const predreg_ucx_mapped_t *mapped,
                                ucs_pgt_region_t *range);

END_C_DECLS

#endif
