/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FIRST_USES_H_
#define PREDREG_FIRST_USES_H_

#include "points.h"

BEGIN_C_DECLS

/** @file first_uses.h
 *
 * Tells what registrations cost from a recording under leave-pinned, in which
 * UCX's own cache registers: the first use of memory waited for its
 * registration. A use of memory that is registered already finds it there, and
 * one that shares a part of it makes UCX register both as one: neither of them
 * tells what its own registration would take. timeline.c calls this for each
 * event of a trace, in the order of their times.
 *
 * Memory that is no longer registered, since UCX's cache was full, is not known
 * here: uses of it are not counted.
 */

typedef struct predreg_first_uses {
    predreg_points_t points;      /**< How long first uses took to begin */
    void             *registered; /**< Memory that is registered: a tree of
                                       ranges that do not overlap, as tsearch()
                                       makes it */
    unsigned         num_domains; /**< Domains that were used, from 0 on */
} predreg_first_uses_t;


/** Tell of a use. Before the first one, all is 0.
 *  @param [in]  duration  How long it took to begin, ns; 0: not measured.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_first_uses_begin(predreg_first_uses_t *uses,
                                      unsigned domain, uint64_t address,
                                      uint64_t length, uint64_t duration);

/** Tell that memory is unmapped, and so not registered any more.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_first_uses_unmap(predreg_first_uses_t *uses,
                                      uint64_t start, uint64_t end);

void predreg_first_uses_cleanup(predreg_first_uses_t *uses);

END_C_DECLS

#endif
