/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_EVIDENCE_H_
#define PREDREG_EVIDENCE_H_

#include "outcome.h"

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file evidence.h
 *
 * What a report looks at in the program of a rank itself, besides the results
 * of the policies, to tell the reason of its advice. The report calls this for
 * each rank.
 */

typedef struct predreg_evidence {
    uint64_t buffers;    /**< How many buffers the program uses: start
                              addresses, in each domain */
    double   use_bytes;  /**< Sum of the lengths of all uses, bytes */
    double   in_use;     /**< Bytes of uses times how long they last, byte * s.
                              Memory in several uses counts several times */
    double   in_long_use; /**< That of uses that last for more than half of the
                               program */
    uint64_t period;     /**< Time from one use of a buffer to the next, ns: the
                              median of all, weighted by bytes; 0: no buffer is
                              used twice */
    uint64_t period_begin; /**< When, nearest to the middle of the program, a
                                use of a buffer begins that comes again after
                                that time, ns without waits */
} predreg_evidence_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_evidence_find(const predreg_timeline_t *timeline,
                                   predreg_evidence_t *evidence);

END_C_DECLS

#endif
