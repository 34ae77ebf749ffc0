/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KNOBS_H_
#define UCT_PREDREG_KNOBS_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

BEGIN_C_DECLS

/** @file knobs.h
 *
 * The environment variables UCX_RCACHE_PRED_*. Shared with tools that offer the
 * same settings.
 */

typedef enum {
    UCT_PREDREG_SUMMARY_NONE,
    UCT_PREDREG_SUMMARY_TEXT,
    UCT_PREDREG_SUMMARY_JSON,
    UCT_PREDREG_SUMMARY_LAST
} uct_predreg_summary_format_t;


typedef struct uct_predreg_knobs {
    unsigned policy;        /**< @ref ucs_rcache_pred_policy_t */
    unsigned helper;        /**< @ref ucs_rcache_pred_helper_t */
    unsigned window;        /**< Context window, 0..MAX_WINDOW */
    unsigned history;       /**< Recent intervals, 1..MAX_HISTORY */
    unsigned max_sites;     /**< Call sites kept, >= 16 */
    unsigned known_regions;   /**< Unregistered regions remembered, >= 16 */
    unsigned dq_size;       /**< Entries, power of 2, 64..1048576 */
    size_t   max_pinned;    /**< Bytes, >= UCS_RCACHE_PRED_MIN_BYTES; SIZE_MAX:
                                 no bound */
    unsigned long max_regions;      /**< >= 4; ULONG_MAX: no bound */
    size_t        node_max_pinned;  /**< As max_pinned */
    unsigned long node_max_regions; /**< As max_regions */
    int      pieces;        /**< Register in pieces where that is faster */
    unsigned summary;       /**< @ref uct_predreg_summary_format_t */
    char     *summary_file; /**< Empty: standard error */
    char     *trace;        /**< Folder traces are written to; empty: none */
} uct_predreg_knobs_t;


/**
 * Read and check the environment. On failure the message has been logged: it
 * names the variable, its value and what is accepted.
 */
ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs);

/** All knobs, by their names without a prefix, and their values as text. */
void uct_predreg_knobs_for_each(const uct_predreg_knobs_t *knobs,
                                void (*cb)(void *arg, const char *name,
                                           const char *value), void *arg);
/** Whatever the environment says. To be cleaned up. */
ucs_status_t uct_predreg_knobs_default(uct_predreg_knobs_t *knobs);

/** Change one knob, named without UCX_RCACHE_PRED_. On failure the message has
 *  been logged. */
ucs_status_t uct_predreg_knobs_set(uct_predreg_knobs_t *knobs, const char *name,
                                   const char *value);

void uct_predreg_knobs_cleanup(uct_predreg_knobs_t *knobs);

/** What the knobs say of a cache: all but ops, arg, sink and node. */
void uct_predreg_knobs_to_params(const uct_predreg_knobs_t *knobs,
                                 ucs_rcache_pred_params_t *params);

END_C_DECLS

#endif
