/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GAINS_H_
#define PREDREG_GAINS_H_

#include <tools/replay/account/account.h>
#include <tools/trace/trace.h>
#include <ucs/base/json.h>
#include <ucs/reuse/sends.h>

BEGIN_C_DECLS

/** @file gains.h
 *
 * The gain of two optional parts of the library for a job: small sends without
 * the copy (UCX_RCACHE_PRED_EAGER), with the statistics of Tables 1 and 3 of
 * Rashti and Afsahi (2011), and large mappings in an arena
 * (UCX_RCACHE_PRED_ARENA). The replay command and the report call these
 * functions, and so agree.
 *
 * Small sends are no policy of the replay: their counts have no times, and no
 * decision of a policy depends on them. Pure: the costs of the machine are
 * arguments.
 */

/** An optional part of the library is recommended if it saves at least this part of the
 *  run time. Our own choice. */
#define PREDREG_GAIN_WORTH_PART 0.001


/** The small sends of a job. */
typedef struct predreg_sends {
    unsigned             ranks;      /**< Ranks with small sends. Other ranks do
                                          not count in any number */
    unsigned             calibrated; /**< Number of ranks with small sends whose trace
                                          has the costs of the machine */
    uint64_t             buffers;
    uint64_t             sends;
    uint64_t             copied;  /**< Sends that are copied in any case, even if their
                                       buffer is hot, that is, sent often */
    uint64_t             others;  /**< Sends of buffers for which the recorder had no
                                       count of their own */
    uint64_t             went;    /**< Sends that went without the copy while the job
                                       was recorded */
    uint64_t             most;    /**< The most sends of a single buffer in any rank */
    double               length_sum; /**< Sum over the ranks: the length, bytes, at
                                          which a rank has most of its sends */
    double               reused;  /**< Sum over the ranks: the part of a rank's sends
                                       that come from a reused buffer */
    uint64_t             time;    /**< Sum of the times for which the calibrated ranks
                                       were recorded, ns */
    ucs_reuse_gain_t     gain;    /**< Gain in the calibrated ranks */
    uint64_t             known_sends;   /**< Sends of the calibrated ranks */
    uint64_t             known_buffers; /**< Buffers of the calibrated ranks */
} predreg_sends_t;


/** The advice on UCX_RCACHE_PRED_EAGER=y. */
typedef enum {
    PREDREG_EAGER_UNKNOWN, /**< The costs of the machine are not known */
    PREDREG_EAGER_NEVER,   /**< The program sends no buffer often enough */
    PREDREG_EAGER_LOSES,   /**< Sends without the copy would take more time than they
                                save */
    PREDREG_EAGER_LITTLE,  /**< Sends without the copy would save little of the run
                                time */
    PREDREG_EAGER_YES      /**< Sends without the copy are recommended */
} predreg_eager_advice_t;

/** Names of the advice, indexed by predreg_eager_advice_t: "unknown", "never", "loses",
 *  "little", "yes". */
extern const char *const predreg_eager_advice_names[];


/**
 * Add a rank. A rank whose trace has no small sends changes nothing.
 *
 * @param [in] costs     Costs of the machine; NULL: not known.
 * @param [in] fraction  The library registers a buffer after this part of the break-even
 *                       number of sends; above 0, at most 1.
 */
void predreg_sends_add(predreg_sends_t *sends, const ucs_rcache_trace_t *trace,
                       const ucs_reuse_costs_t *costs, double fraction);

predreg_eager_advice_t predreg_sends_advise(const predreg_sends_t *sends);

/** Append the members that replay and report have in common to an open JSON object: the
 *  advice, and the numbers of ranks, buffers and sends. */
void predreg_sends_put(ucs_json_t *json, const predreg_sends_t *sends);


/** A job with an arena, in comparison with predict without one. */
typedef struct predreg_gain {
    unsigned ranks;           /**< Ranks with mappings for an arena */
    uint64_t uses;            /**< Uses of the ranks with mappings */
    uint64_t answered;        /**< Uses whose memory lies in registered memory of the
                                   arena */
    int64_t  saved;           /**< Waits under predict, or under leave-pinned if they are
                                   shorter, minus waits with the arena, ns */
    uint64_t time;            /**< Run time under predict, ns */
    uint64_t size;            /**< Size of the largest arena of a rank, bytes */
    double   average;         /**< Registered memory with the arena, sum of the
                                   ranks' averages, bytes */
    double   predict_average; /**< Sum of the ranks' averages without an arena, bytes */
    double   pinned_average;  /**< The same sum under leave-pinned */
    unsigned recorded;        /**< Ranks that were recorded with an arena: what they would
                                   be without one is not known */
} predreg_gain_t;

/** The advice on UCX_RCACHE_PRED_ARENA. */
typedef enum {
    PREDREG_GAIN_NONE,   /**< The trace has no mappings for an arena */
    PREDREG_GAIN_RECORDED, /**< Recorded with an arena: there is nothing to compare with */
    PREDREG_GAIN_UNUSED, /**< No use has its memory in registered memory of the arena */
    PREDREG_GAIN_LOSES,  /**< With the arena the program would wait longer */
    PREDREG_GAIN_LITTLE, /**< The arena would save little of the run time */
    PREDREG_GAIN_MEMORY, /**< The arena would have more memory registered than
                              leave-pinned */
    PREDREG_GAIN_YES     /**< Recommended */
} predreg_gain_advice_t;

/** @return whether a process was recorded with an arena. malloc() then maps memory that
 *          otherwise comes from its heap, and other policies would have other memory. */
int predreg_is_in_arena(const ucs_rcache_trace_t *trace);

/** Add the results of a rank under leave-pinned, predict and arena. A rank without mappings
 *  for an arena changes nothing.
 *  @param [in] recorded  Whether the rank was recorded with an arena. */
void predreg_gain_add(predreg_gain_t *gain,
                      const predreg_replay_result_t *pinned,
                      const predreg_replay_result_t *predict,
                      const predreg_replay_result_t *arena, int recorded);

predreg_gain_advice_t predreg_gain_advise(const predreg_gain_t *gain);

/** Append the members that replay and report have in common to an open JSON object: the
 *  advice, and the numbers of ranks, bytes and uses. */
void predreg_gain_put(ucs_json_t *json, const predreg_gain_t *gain);

END_C_DECLS

#endif
