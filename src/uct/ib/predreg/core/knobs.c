/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_text.h"
#include "knobs.h"

#include <ucs/rcache_pred/stats.h>
#include <uct/ib/predreg/compat/config_parser.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/preprocessor.h>
#include <uct/api/uct.h>

#define HELPER_DEFAULT "conservative"

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


/* The parser of a field, for each type that fields have */
#define NAME(_name) \
    UCT_PREDREG_CONFIG_TYPE(uct_predreg_knob_read_name, \
                            uct_predreg_knob_write_name, \
                            ucs_config_clone_uint, \
                            uct_predreg_knob_help_name, _name)
#define BOOL(_name) \
    UCT_PREDREG_CONFIG_TYPE(uct_predreg_knob_read_bool, \
                            ucs_config_sprintf_bool, \
                            ucs_config_clone_int, \
                            uct_predreg_knob_help_name, _name)
#define UINT(_name) \
    UCT_PREDREG_CONFIG_TYPE(uct_predreg_knob_read_number, \
                            ucs_config_sprintf_uint, \
                            ucs_config_clone_uint, \
                            uct_predreg_knob_help_number, _name)
#define ULONG(_name) \
    UCT_PREDREG_CONFIG_TYPE(uct_predreg_knob_read_number, \
                            ucs_config_sprintf_ulunits, \
                            ucs_config_clone_ulong, \
                            uct_predreg_knob_help_number, _name)
#define PERCENT(_name) \
    UCT_PREDREG_CONFIG_TYPE(uct_predreg_knob_read_percent, \
                            uct_predreg_knob_write_percent, \
                            uct_predreg_knob_clone_percent, \
                            uct_predreg_knob_help_number, _name)
#define BYTES(_name) \
    UCT_PREDREG_CONFIG_TYPE(uct_predreg_knob_read_number, \
                            ucs_config_sprintf_memunits, \
                            ucs_config_clone_ulong, \
                            uct_predreg_knob_help_number, _name)


static ucs_config_field_t knob_table[] = {
    {"POLICY", "predict",
     "What is done with a buffer's registration between its communications:\n"
     " predict      - deregister it, and register it again, ahead of the next\n"
     "                communication as predicted, in a helper thread\n"
     " on-demand    - register at every communication, deregister after it\n"
     " leave-pinned - leave everything to UCX and its own registration cache",
     ucs_offsetof(uct_predreg_knobs_t, policy),
     NAME("POLICY")},

    {"COMPONENTS", "ib",
     "Components of UCX whose memory domains are managed, separated by commas;\n"
     "'ucx_info -d' lists them. UCX's own caches of other components stay on.\n"
     "Empty: none.",
     ucs_offsetof(uct_predreg_knobs_t, components),
     UCS_CONFIG_TYPE_STRING_ARRAY},

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
     NAME("HELPER")},

    {"BUDGET", "1",
     "What the policy predict may cost compared with leave-pinned, in percent\n"
     "of the run time: memory that it would cost more than that to give up\n"
     "stays registered. With 0 all of it does. Range: 0 to 100, or inf.",
     ucs_offsetof(uct_predreg_knobs_t, budget), PERCENT("BUDGET")},

    {"WINDOW", "2",
     "Number of preceding communications that tell contexts of a call site\n"
     "apart. " RANGE(UCT_PREDREG_MIN_WINDOW, UCS_RCACHE_PRED_MAX_WINDOW),
     ucs_offsetof(uct_predreg_knobs_t, window), UINT("WINDOW")},

    {"HISTORY", "8",
     "Number of recent intervals between communications of one context; the\n"
     "shortest is the predicted period.\n"
     RANGE(UCT_PREDREG_MIN_HISTORY, UCS_RCACHE_PRED_MAX_HISTORY),
     ucs_offsetof(uct_predreg_knobs_t, history), UINT("HISTORY")},

    {"MAX_SITES", "16384",
     "Number of communication contexts to remember.\n" ENTRIES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_sites), UINT("MAX_SITES")},

    {"KNOWN_REGIONS", "8192",
     "Number of buffers to remember, registered or not. Registered ones are\n"
     "kept beyond it. " ENTRIES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, known_regions), UINT("KNOWN_REGIONS")},

    {"DQ_SIZE", "1024",
     "Entries of the queue of ended communications on their way to the helper\n"
     "thread; a power of 2.\n"
     RANGE(UCT_PREDREG_MIN_DQ_SIZE, UCT_PREDREG_MAX_DQ_SIZE),
     ucs_offsetof(uct_predreg_knobs_t, dq_size), UINT("DQ_SIZE")},

    {"MAX_PINNED", "inf",
     "Bound on the memory of communication buffers that a process has\n"
     "registered at any time. Memory that UCX registers for itself does not\n"
     "count. What does not fit goes other ways: in pieces, or by copying.\n"
     BYTES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_pinned), BYTES("MAX_PINNED")},

    {"MAX_REGIONS", "inf",
     "Bound on the number of registrations of communication buffers that a\n"
     "process has at any time. " REGIONS_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_regions), ULONG("MAX_REGIONS")},

    {"NODE_MAX_PINNED", "inf",
     "As MAX_PINNED, for all processes of this user on a node together. The\n"
     "same value should be given to all of them.\n" BYTES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, node_max_pinned),
     BYTES("NODE_MAX_PINNED")},

    {"NODE_MAX_REGIONS", "inf",
     "As MAX_REGIONS, for all processes of this user on a node together.\n"
     REGIONS_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, node_max_regions),
     ULONG("NODE_MAX_REGIONS")},

    {"PIECES", "y",
     "Register a large buffer that a message is received into, and that was\n"
     "not predicted, piece by piece while the message arrives. If n, "
     "and under\n"
     "policies other than predict, only what does not fit the bounds is.",
     ucs_offsetof(uct_predreg_knobs_t, pieces), BOOL("PIECES")},

    {"SUMMARY", "n",
     "What to print when the process exits:\n"
     " n    - nothing\n"
     " text - counters of predictions and registered memory, for reading\n"
     " json - the same, one JSON object a process on a line",
     ucs_offsetof(uct_predreg_knobs_t, summary),
     NAME("SUMMARY")},

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
                          UCT_PREDREG_KNOB_PREFIX, uct_predreg_knobs_t,
                          &ucs_config_global_list)


ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs)
{
    ucs_status_t status;

    knobs->is_refused = 0;
    status            = uct_predreg_config_fill(knobs, knob_table, UCT_PREDREG_ENV_PREFIX,
                                                UCT_PREDREG_KNOB_PREFIX);
    if (status != UCS_OK) {
        goto err_default;
    }

    if (knobs->is_refused) {
        status = UCS_ERR_INVALID_PARAM;
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
    knobs->is_refused = 0;
    return ucs_config_parser_set_default_values(knobs, knob_table);
}

ucs_status_t uct_predreg_knobs_set(uct_predreg_knobs_t *knobs, const char *name,
                                   const char *value)
{
    ucs_status_t status;

    status = uct_predreg_config_set(knobs, knob_table, UCT_PREDREG_KNOB_PREFIX, name,
                                    value);
    if (status == UCS_ERR_NO_ELEM) {
        ucs_error("there is no knob " UCT_PREDREG_ENV_PREFIX UCT_PREDREG_KNOB_PREFIX "%s", name);
    }

    if (knobs->is_refused) {
        knobs->is_refused = 0;
        status            = UCS_ERR_INVALID_PARAM;
    }
    return status;
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
        .budget        = knobs->budget / 100,
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
