/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SENDS_H_
#define PREDREG_SENDS_H_

#include <tools/trace/trace.h>
#include <ucs/reuse/sends.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file sends.h
 *
 * What the traces of a job say of its small sends: the statistics of Tables 1
 * and 3 of Rashti and Afsahi (2011), and what it would save to send them
 * without the copy (UCX_RCACHE_PRED_EAGER). `ucx_predreg replay` and the report
 * call this, so that they agree. It is no policy of the replay: the counts have
 * no times, and nothing that a policy decides depends on them.
 *
 * Pure: what the machine takes is an argument.
 */

/** EAGER is recommended if it saves at least this part of the run time. */
#define PREDREG_SENDS_WORTH_PART 0.001

/** Buffers are shown by the longest message that was sent of them: up to 512
 *  bytes, up to 1024, and so on to 8192. */
#define PREDREG_SENDS_SIZES      5
#define PREDREG_SENDS_FIRST_SIZE 512


/** Of all buffers of a size. */
typedef struct predreg_sends_size {
    uint64_t         buffers;
    uint64_t         sends;
    uint64_t         most; /**< Most sends of one of them */
    ucs_reuse_gain_t gain;
} predreg_sends_size_t;

/** A number that each rank has. */
typedef struct predreg_sends_span {
    uint64_t least;
    uint64_t most;
    double   sum;
} predreg_sends_span_t;

typedef struct predreg_sends {
    unsigned             ranks;      /**< Ranks with small sends. Those without
                                          count in nothing here */
    unsigned             calibrated; /**< Of these, those for which it is known
                                          what the machine takes */
    uint64_t             buffers;
    uint64_t             sends;
    uint64_t             copied;  /**< Of these, sends that are copied even from
                                       a hot buffer */
    uint64_t             others;  /**< Sends of buffers that are not told
                                       apart */
    uint64_t             went;    /**< Sends that went without the copy in the
                                       recorded run itself */
    predreg_sends_span_t most;    /**< How often a rank's most used buffer was
                                       sent */
    predreg_sends_span_t length;  /**< Which length most sends of a rank have,
                                       bytes */
    double               reused;  /**< Which part of a rank's sends are of a
                                       buffer that was sent before: the sum over
                                       the ranks */
    uint64_t             time;    /**< How long the ranks that are calibrated
                                       were recorded, together, ns */
    ucs_reuse_gain_t     gain;    /**< Of the ranks that are calibrated */
    uint64_t             known_sends;   /**< Their sends */
    uint64_t             known_buffers; /**< Their buffers */
    predreg_sends_size_t sizes[PREDREG_SENDS_SIZES];
} predreg_sends_t;


/** What is to be said of UCX_RCACHE_PRED_EAGER=y. */
typedef enum {
    PREDREG_EAGER_UNKNOWN, /**< It is not known what the machine takes */
    PREDREG_EAGER_NEVER,   /**< No buffer is sent often enough */
    PREDREG_EAGER_LOSES,   /**< It would take more time than it saves */
    PREDREG_EAGER_LITTLE,  /**< It would save little of the run time */
    PREDREG_EAGER_YES      /**< It is recommended */
} predreg_eager_advice_t;

/** @return "unknown", "never", "loses", "little" or "yes". */
const char *predreg_eager_advice_name(predreg_eager_advice_t advice);


/**
 * Add a rank. Does nothing if its trace has no small sends.
 *
 * @param [in] costs     What the machine takes; NULL: that is not known.
 * @param [in] fraction  Of the break-even number of sends, after which a buffer
 *                       is registered; above 0, at most 1.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_sends_add(predreg_sends_t *sends,
                               const ucs_rcache_trace_t *trace,
                               const ucs_reuse_costs_t *costs, double fraction);

predreg_eager_advice_t predreg_sends_advise(const predreg_sends_t *sends);

/** @return the longest message of buffers of a size, bytes. */
static inline size_t predreg_sends_size_max(unsigned size)
{
    return (size_t)PREDREG_SENDS_FIRST_SIZE << size;
}

END_C_DECLS

#endif
