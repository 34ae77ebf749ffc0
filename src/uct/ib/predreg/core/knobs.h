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

/* Ranges of knobs that are not those of the cache. Plain numbers, since the
 * help texts are made of them. */
#define UCT_PREDREG_MIN_WINDOW  0
#define UCT_PREDREG_MIN_HISTORY 1
#define UCT_PREDREG_MIN_ENTRIES 16       /* Of MAX_SITES and KNOWN_REGIONS, */
#define UCT_PREDREG_MAX_ENTRIES 16777216 /* which are allocated at once */
#define UCT_PREDREG_MIN_DQ_SIZE 64
#define UCT_PREDREG_MAX_DQ_SIZE 1048576
#define UCT_PREDREG_MIN_REGIONS 4


typedef enum {
    UCT_PREDREG_SUMMARY_NONE,
    UCT_PREDREG_SUMMARY_TEXT,
    UCT_PREDREG_SUMMARY_JSON,
    UCT_PREDREG_SUMMARY_LAST
} uct_predreg_summary_format_t;


typedef struct uct_predreg_knobs {
    unsigned policy;        /**< @ref ucs_rcache_pred_policy_t */
    unsigned helper;        /**< @ref ucs_rcache_pred_helper_t */
    unsigned window;        /**< Context window, communications */
    unsigned history;       /**< Recent intervals */
    unsigned max_sites;     /**< Call sites kept */
    unsigned known_regions; /**< Unregistered regions remembered */
    unsigned dq_size;       /**< Entries, a power of 2 */
    size_t   max_pinned;    /**< Bytes; SIZE_MAX: no bound */
    unsigned long max_regions;      /**< ULONG_MAX: no bound */
    size_t        node_max_pinned;  /**< As max_pinned */
    unsigned long node_max_regions; /**< As max_regions */
    int      pieces;        /**< Register in pieces where that is faster */
    unsigned summary;       /**< @ref uct_predreg_summary_format_t */
    char     *summary_file; /**< Empty: standard error */
    char     *trace;        /**< Folder traces are written to; empty: none */
} uct_predreg_knobs_t;


/** What a knob that is a number may be. */
typedef struct uct_predreg_knob_range {
    const char    *name;         /**< Without a prefix */
    size_t        offset;        /**< In uct_predreg_knobs_t */
    size_t        size;          /**< Of the field, bytes */
    unsigned long min;
    unsigned long max;           /**< ULONG_MAX: none, and "inf" is accepted */
    int           is_power_of_2;
} uct_predreg_knob_range_t;

/** All of them, in the order in which they are checked. A name of NULL ends
 *  them. */
extern const uct_predreg_knob_range_t uct_predreg_knob_ranges[];


/**
 * Read and check the environment. On failure the message has been logged: it
 * names the variable, its value and what is accepted.
 */
ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs);

/** All knobs, by their names without a prefix, and their values as text. */
void uct_predreg_knobs_for_each(const uct_predreg_knobs_t *knobs,
                                void (*cb)(void *arg, const char *name,
                                           const char *value), void *arg);

/** Set all knobs to their defaults, whatever the environment says. To be
 *  cleaned up. */
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
