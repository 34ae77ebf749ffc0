/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knobs.h"

#include <ucs/rcache_pred/stats.h>
#include <uct/ib/predreg/compat/config_parser.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/preprocessor.h>
#include <uct/api/uct.h>

#include <limits.h>

#define KNOB_PREFIX "RCACHE_PRED_"
#define ENV_PREFIX  "UCX_"

#define HELPER_DEFAULT "aggressive"

/* Makes the text "Range: 1 to 2." of two macros that are plain numbers */
#define RANGE(_min, _max) \
    "Range: " UCS_PP_MAKE_STRING(_min) " to " UCS_PP_MAKE_STRING(_max) "."

#define ENTRIES_RANGE \
    RANGE(UCT_PREDREG_MIN_ENTRIES, UCT_PREDREG_MAX_ENTRIES)

/* The range of the bounds in bytes. The 256K are UCS_RCACHE_PRED_MIN_BYTES; a
 * unit test compares the two */
#define BYTES_RANGE   "Range: 256K and more, in bytes, or inf."

#define REGIONS_RANGE \
    "Range: " UCS_PP_MAKE_STRING(UCT_PREDREG_MIN_REGIONS) " and more, or inf."


static const char *helper_names[] = {
    [UCS_RCACHE_PRED_HELPER_CONSERVATIVE] = "conservative",
    [UCS_RCACHE_PRED_HELPER_AGGRESSIVE]   = "aggressive",
    [UCS_RCACHE_PRED_HELPER_PROGRESS]     = "progress",
    [UCS_RCACHE_PRED_HELPER_OFF]          = "off",
    [UCS_RCACHE_PRED_HELPER_LAST]         = NULL
};

static const char *summary_names[] = {
    [UCT_PREDREG_SUMMARY_NONE] = "n",
    [UCT_PREDREG_SUMMARY_TEXT] = "text",
    [UCT_PREDREG_SUMMARY_JSON] = "json",
    [UCT_PREDREG_SUMMARY_LAST] = NULL
};

static ucs_config_field_t knob_table[] = {
    {"POLICY", "predict",
     "What is done with a buffer's registration between its communications:\n"
     " predict      - deregister it, and register it again, ahead of the next\n"
     "                communication as predicted, in a helper thread\n"
     " on-demand    - register at every communication, deregister after it\n"
     " leave-pinned - leave everything to UCX and its own registration cache",
     ucs_offsetof(uct_predreg_knobs_t, policy),
     UCS_CONFIG_TYPE_ENUM(ucs_rcache_pred_policy_names)},

    {"HELPER", HELPER_DEFAULT,
     "Who registers ahead and deregisters, under the policy predict:\n"
     " conservative - a helper thread, in as many processes of the node as\n"
     "                there are idle processors, those that use most memory;\n"
     "                in the others, as under progress\n"
     " aggressive   - a helper thread in every process\n"
     " progress     - the process itself, when UCP has nothing else to do and\n"
     "                when a communication ends\n"
     " off          - nobody; the policy becomes on-demand",
     ucs_offsetof(uct_predreg_knobs_t, helper),
     UCS_CONFIG_TYPE_ENUM(helper_names)},

    {"WINDOW", "2",
     "Number of preceding communications that tell contexts of a call site\n"
     "apart. " RANGE(UCT_PREDREG_MIN_WINDOW, UCS_RCACHE_PRED_MAX_WINDOW),
     ucs_offsetof(uct_predreg_knobs_t, window), UCS_CONFIG_TYPE_UINT},

    {"HISTORY", "8",
     "Number of recent intervals between communications of one context; the\n"
     "shortest is the predicted period.\n"
     RANGE(UCT_PREDREG_MIN_HISTORY, UCS_RCACHE_PRED_MAX_HISTORY),
     ucs_offsetof(uct_predreg_knobs_t, history), UCS_CONFIG_TYPE_UINT},

    {"MAX_SITES", "16384",
     "Number of communication contexts to remember.\n" ENTRIES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_sites), UCS_CONFIG_TYPE_UINT},

    {"KNOWN_REGIONS", "8192",
     "Number of buffers to remember, registered or not. Registered ones are\n"
     "kept beyond it. " ENTRIES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, known_regions), UCS_CONFIG_TYPE_UINT},

    {"DQ_SIZE", "1024",
     "Entries of the queue of ended communications on their way to the helper\n"
     "thread; a power of 2.\n"
     RANGE(UCT_PREDREG_MIN_DQ_SIZE, UCT_PREDREG_MAX_DQ_SIZE),
     ucs_offsetof(uct_predreg_knobs_t, dq_size), UCS_CONFIG_TYPE_UINT},

    {"MAX_PINNED", "inf",
     "Bound on the memory of communication buffers that a process has\n"
     "registered at any time. Memory that UCX registers for itself does not\n"
     "count. What does not fit goes other ways: in pieces, or by copying.\n"
     BYTES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_pinned), UCS_CONFIG_TYPE_MEMUNITS},

    {"MAX_REGIONS", "inf",
     "Bound on the number of registrations of communication buffers that a\n"
     "process has at any time. " REGIONS_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_regions), UCS_CONFIG_TYPE_ULUNITS},

    {"NODE_MAX_PINNED", "inf",
     "As MAX_PINNED, for all processes of this user on a node together. The\n"
     "same value should be given to all of them.\n" BYTES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, node_max_pinned),
     UCS_CONFIG_TYPE_MEMUNITS},

    {"NODE_MAX_REGIONS", "inf",
     "As MAX_REGIONS, for all processes of this user on a node together.\n"
     REGIONS_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, node_max_regions),
     UCS_CONFIG_TYPE_ULUNITS},

    {"PIECES", "y",
     "Register a large buffer that a message is received into, and that was\n"
     "not predicted, piece by piece while the message arrives. If n, "
     "and under\n"
     "policies other than predict, only what does not fit the bounds is.",
     ucs_offsetof(uct_predreg_knobs_t, pieces), UCS_CONFIG_TYPE_BOOL},

    {"SUMMARY", "n",
     "What to print when the process exits:\n"
     " n    - nothing\n"
     " text - counters of predictions and registered memory, for reading\n"
     " json - the same, one JSON object a process on a line",
     ucs_offsetof(uct_predreg_knobs_t, summary),
     UCS_CONFIG_TYPE_ENUM(summary_names)},

    {"SUMMARY_FILE", "",
     "File to append the summary to. Empty: standard error.",
     ucs_offsetof(uct_predreg_knobs_t, summary_file), UCS_CONFIG_TYPE_STRING},

    {"TRACE", "",
     "Folder to write a trace to, one file a process: what it communicated\n"
     "from which buffers, and what was registered for it. It is made if need\n"
     "be. Empty: none.",
     ucs_offsetof(uct_predreg_knobs_t, trace), UCS_CONFIG_TYPE_STRING},

    {NULL}
};

UCS_CONFIG_REGISTER_TABLE(knob_table, "Predictive registration cache",
                          KNOB_PREFIX, uct_predreg_knobs_t,
                          &ucs_config_global_list)


#define FIELD(_name) \
    ucs_offsetof(uct_predreg_knobs_t, _name), \
    sizeof(((uct_predreg_knobs_t*)NULL)->_name)

const uct_predreg_knob_range_t uct_predreg_knob_ranges[] = {
    {"MAX_PINNED", FIELD(max_pinned), UCS_RCACHE_PRED_MIN_BYTES, ULONG_MAX, 0},
    {"MAX_REGIONS", FIELD(max_regions), UCT_PREDREG_MIN_REGIONS, ULONG_MAX, 0},
    {"NODE_MAX_PINNED", FIELD(node_max_pinned), UCS_RCACHE_PRED_MIN_BYTES,
     ULONG_MAX, 0},
    {"NODE_MAX_REGIONS", FIELD(node_max_regions), UCT_PREDREG_MIN_REGIONS,
     ULONG_MAX, 0},
    {"WINDOW", FIELD(window), UCT_PREDREG_MIN_WINDOW,
     UCS_RCACHE_PRED_MAX_WINDOW, 0},
    {"HISTORY", FIELD(history), UCT_PREDREG_MIN_HISTORY,
     UCS_RCACHE_PRED_MAX_HISTORY, 0},
    {"MAX_SITES", FIELD(max_sites), UCT_PREDREG_MIN_ENTRIES,
     UCT_PREDREG_MAX_ENTRIES, 0},
    {"KNOWN_REGIONS", FIELD(known_regions), UCT_PREDREG_MIN_ENTRIES,
     UCT_PREDREG_MAX_ENTRIES, 0},
    {"DQ_SIZE", FIELD(dq_size), UCT_PREDREG_MIN_DQ_SIZE,
     UCT_PREDREG_MAX_DQ_SIZE, 1},
    {NULL}
};


static unsigned long knob_number(const uct_predreg_knobs_t *knobs,
                                 const uct_predreg_knob_range_t *range)
{
    const void *field = UCS_PTR_BYTE_OFFSET(knobs, range->offset);

    return (range->size == sizeof(unsigned)) ? *(const unsigned*)field :
                                               *(const unsigned long*)field;
}

static void complain_of_range(const uct_predreg_knob_range_t *range,
                              unsigned long value)
{
    if (range->is_power_of_2) {
        ucs_error(ENV_PREFIX KNOB_PREFIX "%s=%lu is not accepted: powers of 2 "
                  "from %lu to %lu are", range->name, value, range->min,
                  range->max);
    } else if (range->max == ULONG_MAX) {
        ucs_error(ENV_PREFIX KNOB_PREFIX "%s=%lu is out of range: accepted are "
                  "%lu and more, and inf", range->name, value, range->min);
    } else {
        ucs_error(ENV_PREFIX KNOB_PREFIX "%s=%lu is out of range: accepted are "
                  "%lu to %lu", range->name, value, range->min, range->max);
    }
}

static ucs_status_t knobs_check(const uct_predreg_knobs_t *knobs)
{
    const uct_predreg_knob_range_t *range;
    unsigned long value;

    for (range = uct_predreg_knob_ranges; range->name != NULL; ++range) {
        value = knob_number(knobs, range);
        if ((value < range->min) || (value > range->max) ||
            (range->is_power_of_2 && !ucs_is_pow2(value))) {
            complain_of_range(range, value);
            return UCS_ERR_INVALID_PARAM;
        }
    }

    return UCS_OK;
}

ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs)
{
    ucs_status_t status;

    status = uct_predreg_config_fill(knobs, knob_table, ENV_PREFIX,
                                     KNOB_PREFIX);
    if (status != UCS_OK) {
        goto err_default;
    }

    status = knobs_check(knobs);
    if (status != UCS_OK) {
        goto err_cleanup;
    }

    return UCS_OK;

err_cleanup:
    uct_predreg_knobs_cleanup(knobs);
err_default:
    uct_predreg_knobs_default(knobs);
    return status;
}

void uct_predreg_knobs_for_each(const uct_predreg_knobs_t *knobs,
                                void (*cb)(void *arg, const char *name,
                                           const char *value), void *arg)
{
    const ucs_config_field_t *knob;
    char value[256];

    for (knob = knob_table; knob->name != NULL; ++knob) {
        if (ucs_config_parser_get_value((void*)knobs, knob_table, knob->name,
                                        value, sizeof(value)) == UCS_OK) {
            cb(arg, knob->name, value);
        }
    }
}

ucs_status_t uct_predreg_knobs_default(uct_predreg_knobs_t *knobs)
{
    return ucs_config_parser_set_default_values(knobs, knob_table);
}

ucs_status_t uct_predreg_knobs_set(uct_predreg_knobs_t *knobs, const char *name,
                                   const char *value)
{
    ucs_status_t status;

    status = uct_predreg_config_set(knobs, knob_table, KNOB_PREFIX, name,
                                    value);
    if (status == UCS_ERR_NO_ELEM) {
        ucs_error("there is no knob " ENV_PREFIX KNOB_PREFIX "%s", name);
    }
    return (status == UCS_OK) ? knobs_check(knobs) : status;
}

void uct_predreg_knobs_cleanup(uct_predreg_knobs_t *knobs)
{
    ucs_config_parser_release_opts(knobs, knob_table);
}

void uct_predreg_knobs_to_params(const uct_predreg_knobs_t *knobs,
                                 ucs_rcache_pred_params_t *params)
{
    *params = (ucs_rcache_pred_params_t){
        .policy        = knobs->policy,
        .helper        = knobs->helper,
        .history       = knobs->history,
        .max_sites     = knobs->max_sites,
        .known_regions = knobs->known_regions,
        .max_bytes     = knobs->max_pinned,
        .max_regions   = knobs->max_regions,
        .pieces        = knobs->pieces &&
                         (knobs->policy == UCS_RCACHE_PRED_POLICY_PREDICT),
        .dq_size       = knobs->dq_size,
        .access_mask   = UCT_MD_MEM_ACCESS_ALL,
        .helper_flags  = UCT_MD_MEM_FLAG_HIDE_ERRORS
    };
}
