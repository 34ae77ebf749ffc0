/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_text.h"
#include "knobs.h"

#include <ucs/rcache_pred/stats.h>
#include <uct/ib/predreg/compat/config_table.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/preprocessor.h>
#include <uct/api/uct.h>

#include <string.h>

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


static const uct_predreg_config_field_t knob_table[] = {
    {"POLICY", "predict",
     "What is done with a buffer's registration between its communications:\n"
     " predict      - deregister it, and register it again, ahead of the next\n"
     "                communication as predicted, in a helper thread\n"
     " on-demand    - register at every communication, deregister after it\n"
     " leave-pinned - leave everything to UCX and its own registration cache",
     ucs_offsetof(uct_predreg_knobs_t, policy),
     &uct_predreg_knob_name},

    {"COMPONENTS", "ib",
     "Components of UCX whose memory domains are managed, separated by commas;\n"
     "'ucx_info -d' lists them. Memory of other components stays registered\n"
     "as in UCX's own caches.\n"
     "Empty: none.",
     ucs_offsetof(uct_predreg_knobs_t, components),
     &uct_predreg_knob_list},

    {"HELPER", HELPER_DEFAULT,
     "Who registers ahead and deregisters, under the policy predict:\n"
     " conservative - a helper thread, in as many processes of the node as\n"
     "                there are processors that nobody uses, in those that use\n"
     "                most memory; in the others, as under progress\n"
     " aggressive   - a helper thread in every process\n"
     " progress     - the process itself, when UCP has nothing else to do and\n"
     "                when a communication ends\n"
     " off          - nobody; the policy becomes on-demand",
     ucs_offsetof(uct_predreg_knobs_t, helper),
     &uct_predreg_knob_name},

    {"BUDGET", "1",
     "What the policy predict may cost compared with leave-pinned, in percent\n"
     "of the run time, or, where processes share processors, of what each can\n"
     "have of it. Memory that it would cost more to give up stays registered.\n"
     "With 0 all of it does, but for what gives way where a bound leaves no\n"
     "room. What a bound costs is not counted. Range: 0 to 100, or inf.",
     ucs_offsetof(uct_predreg_knobs_t, budget), &uct_predreg_knob_percent},

    {"WINDOW", "2",
     "Number of preceding communications that tell contexts of a call site\n"
     "apart. " RANGE(UCT_PREDREG_MIN_WINDOW, UCS_RCACHE_PRED_MAX_WINDOW),
     ucs_offsetof(uct_predreg_knobs_t, window), &uct_predreg_knob_number},

    {"UNWIND", "y",
     "Tell communications apart by the whole path of calls that leads to them,\n"
     "for which the stack is unwound when a path is new. If n, by the caller\n"
     "and the depth of the stack alone.",
     ucs_offsetof(uct_predreg_knobs_t, unwind), &uct_predreg_knob_bool},

    {"HISTORY", "8",
     "Number of recent intervals between communications of one context; the\n"
     "shortest is the predicted period, unless they grow or shrink.\n"
     RANGE(UCT_PREDREG_MIN_HISTORY, UCS_RCACHE_PRED_MAX_HISTORY),
     ucs_offsetof(uct_predreg_knobs_t, history), &uct_predreg_knob_number},

    {"MAX_SITES", "393216",
     "Number of communication contexts to remember at most. With few buffers\n"
     "there are no more than 16384. " ENTRIES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_sites), &uct_predreg_knob_number},

    {"KNOWN_REGIONS", "131072",
     "Number of buffers to remember at most, registered or not. Up to 8192 are\n"
     "always remembered, and more if the program comes back to some that were\n"
     "forgotten. Registered ones are kept beyond it. " ENTRIES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, known_regions),
     &uct_predreg_knob_number},

    {"DQ_SIZE", "1024",
     "Entries of the queue of ended communications on their way to the helper\n"
     "thread; a power of 2.\n"
     RANGE(UCT_PREDREG_MIN_DQ_SIZE, UCT_PREDREG_MAX_DQ_SIZE),
     ucs_offsetof(uct_predreg_knobs_t, dq_size), &uct_predreg_knob_number},

    {"MAX_PINNED", "inf",
     "Bound on the memory of communication buffers that a process has\n"
     "registered at any time. Memory that UCX registers for itself does not\n"
     "count. All of it is used, as far as BUDGET keeps memory registered; for\n"
     "room, what is expected to be used last gives way. What does not fit goes\n"
     "other ways: in pieces, or by copying.\n"
     BYTES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_pinned), &uct_predreg_knob_number},

    {"MAX_REGIONS", "inf",
     "Bound on the number of registrations of communication buffers that a\n"
     "process has at any time. " REGIONS_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, max_regions), &uct_predreg_knob_number},

    {"NODE_MAX_PINNED", "inf",
     "As MAX_PINNED, for all processes of this user on a node together. The\n"
     "same value should be given to all of them.\n" BYTES_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, node_max_pinned),
     &uct_predreg_knob_number},

    {"NODE_MAX_REGIONS", "inf",
     "As MAX_REGIONS, for all processes of this user on a node together.\n"
     REGIONS_RANGE,
     ucs_offsetof(uct_predreg_knobs_t, node_max_regions),
     &uct_predreg_knob_number},

    {"PIECES", "y",
     "Register a large buffer that a message is received into, and that was\n"
     "not predicted, piece by piece while the message arrives. If n, "
     "and under\n"
     "policies other than predict, only what does not fit the bounds is.",
     ucs_offsetof(uct_predreg_knobs_t, pieces), &uct_predreg_knob_bool},

    {"EAGER", "n",
     "Send small buffers that a program sends again and again without copying\n"
     "them into memory of UCX: they are registered where that pays, which\n"
     "'ucx_predreg calibrate' tells.",
     ucs_offsetof(uct_predreg_knobs_t, eager), &uct_predreg_knob_bool},

    {"EAGER_FRACTION", "25",
     "With EAGER, after how many sends a small buffer is registered, in percent\n"
     "of the number of sends from which on that pays.\n"
     RANGE(UCT_PREDREG_MIN_FRACTION, 100),
     ucs_offsetof(uct_predreg_knobs_t, eager_fraction),
     &uct_predreg_knob_percent},

    {"EAGER_ADAPT", "20",
     "With EAGER, no new small buffers are counted once their table gets\n"
     "crowded while fewer than this percentage of them are registered.\n"
     RANGE(0, 100),
     ucs_offsetof(uct_predreg_knobs_t, eager_adapt),
     &uct_predreg_knob_percent},

    {"ARENA", "0",
     "Memory of an arena at most. It is rounded down to a multiple of ARENA_SLAB,\n"
     "which is shorter where ARENA is less. Large anonymous mappings, such as\n"
     "those of malloc, come from it; it is registered in slabs,\n"
     "and what is in a registered slab needs no registration when it is\n"
     "communicated. Slabs count as pinned, within the bounds. 0: none.\n"
     "Range: 1M to 1T, in bytes.",
     ucs_offsetof(uct_predreg_knobs_t, arena), &uct_predreg_knob_number},

    {"ARENA_SLAB", "64M",
     "With ARENA, how much of it is registered at a time at most; a power of 2.\n"
     "Less is taken where the bounds, or limits of the control group, have no\n"
     "room for four of them.\n"
     "Range: 1M to 4G, in bytes.",
     ucs_offsetof(uct_predreg_knobs_t, arena_slab), &uct_predreg_knob_number},

    {"ARENA_SLAB_MIN", "4M",
     "With ARENA, how long its first slab is; a power of 2. Each further one has\n"
     "an eighth of what the arena has by then, or room for a longer mapping, up\n"
     "to ARENA_SLAB. What is longer than that counts as ARENA_SLAB.\n"
     "Range: 1M to 4G, in bytes.",
     ucs_offsetof(uct_predreg_knobs_t, arena_slab_min),
     &uct_predreg_knob_number},

    {"ARENA_REGISTER", "use",
     "With ARENA, when a slab is registered:\n"
     " use   - when memory of it is first communicated, and no further than the\n"
     "         program has got memory of it: what no peer gets is not pinned.\n"
     "         That first use is registered by itself\n"
     " ahead - before the program gets memory of it: nearly each use is answered,\n"
     "         and more is pinned and in memory; ARENA_SLAB_MIN=16M goes with it",
     ucs_offsetof(uct_predreg_knobs_t, arena_register),
     &uct_predreg_knob_name},

    {"ARENA_MIN", "128K",
     "With ARENA, the shortest mapping that comes from it. malloc is told to map\n"
     "what is as long as that, once the program communicates such memory.\n"
     "Range: 16K to 1G, in bytes.",
     ucs_offsetof(uct_predreg_knobs_t, arena_min), &uct_predreg_knob_number},

    {"ARENA_KEYS", "slab",
     "With ARENA, what a peer that was given access to a buffer may reach:\n"
     " slab - all memory of the arena that is registered with the buffer\n"
     " use  - the buffer alone: only what needs no access of a peer is answered\n"
     "        by the arena, about half of the uses, though as much is pinned.\n"
     "        UCX tells that from version 1.16 on",
     ucs_offsetof(uct_predreg_knobs_t, arena_keys), &uct_predreg_knob_name},

    {"ARENA_STRICT", "n",
     "With ARENA, if y, memory is inaccessible as soon as the program has\n"
     "unmapped it; else at the latest after 10 ms, or it is in use again.",
     ucs_offsetof(uct_predreg_knobs_t, arena_strict), &uct_predreg_knob_bool},

    {"FIREHOSE_M", "256M",
     "M of libucp_firehose.so, where the program gives none: memory that\n"
     "peers may have pinned in a process, as much for each of them. It counts\n"
     "within the bounds. Range: 4K to 1T, in bytes.",
     ucs_offsetof(uct_predreg_knobs_t, firehose_m), &uct_predreg_knob_number},

    {"FIREHOSE_MAXVICTIM", "64M",
     "MAXVICTIM of libucp_firehose.so, where the program gives none: memory\n"
     "that a process pins for itself at most, and that stays pinned although\n"
     "nobody uses it. It counts within the bounds. Range: 4K to 1T, in bytes.",
     ucs_offsetof(uct_predreg_knobs_t, firehose_max_victim),
     &uct_predreg_knob_number},

    {"WINDOWS", "pin",
     "What is done with memory of 1M and more that a program maps for its peers,\n"
     "such as an MPI window or the heap of OpenSHMEM; in all processes of a job\n"
     "the same:\n"
     " pin      - all of it is pinned, as long as it is mapped\n"
     " firehose - what peers access, as libucp_firehose.so does, within FIREHOSE_M\n"
     "            and FIREHOSE_MAXVICTIM",
     ucs_offsetof(uct_predreg_knobs_t, windows), &uct_predreg_knob_name},

    {"SUMMARY", "n",
     "What to print when the process exits:\n"
     " n    - nothing\n"
     " text - counters of predictions and registered memory, for reading\n"
     " json - the same, one JSON object a process on a line",
     ucs_offsetof(uct_predreg_knobs_t, summary),
     &uct_predreg_knob_name},

    {"SUMMARY_FILE", "",
     "File to append the summary to. Empty: standard error.",
     ucs_offsetof(uct_predreg_knobs_t, summary_file), &uct_predreg_knob_string},

    {"TRACE", "",
     "Folder to write a trace to, one file a process: what it communicated\n"
     "from which buffers, and what was registered for it. It is made if need\n"
     "be. Empty: none.",
     ucs_offsetof(uct_predreg_knobs_t, trace), &uct_predreg_knob_string},

    {NULL}
};

UCS_F_CTOR static void register_table(void)
{
    static const uct_predreg_config_table_t table = {
        .title  = "Predictive registration cache",
        .prefix = UCT_PREDREG_KNOB_PREFIX,
        .fields = knob_table,
        .size   = sizeof(uct_predreg_knobs_t)
    };

    UCS_STATIC_ASSERT(ucs_static_array_size(knob_table) - 1 <=
                      UCT_PREDREG_CONFIG_MAX);
    uct_predreg_config_register(&table);
}

UCS_F_DTOR static void unregister_table(void)
{
    uct_predreg_config_unregister();
}


static void *value_of(const uct_predreg_knobs_t *knobs,
                      const uct_predreg_config_field_t *knob)
{
    return UCS_PTR_BYTE_OFFSET(knobs, knob->offset);
}

/* Free the values of the knobs of the table before one */
static void release_until(uct_predreg_knobs_t *knobs,
                          const uct_predreg_config_field_t *end)
{
    const uct_predreg_config_field_t *knob;

    for (knob = knob_table; knob < end; ++knob) {
        knob->type->release(value_of(knobs, knob), knob);
    }
}

ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs)
{
    ucs_status_t status;

    knobs->is_refused = 0;
    status            = uct_predreg_config_read(UCT_PREDREG_ENV_PREFIX, knobs);
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
    const uct_predreg_config_field_t *knob;
    char value[256];

    for (knob = knob_table; knob->name != NULL; ++knob) {
        knob->type->write(value, sizeof(value), value_of(knobs, knob), knob);
        cb(arg, knob->name, value);
    }
}

void uct_predreg_knobs_describe(void (*cb)(void *arg, const char *name,
                                           const char *dfl_value,
                                           const char *help), void *arg)
{
    size_t i;

    for (i = 0; knob_table[i].name != NULL; ++i) {
        cb(arg, knob_table[i].name, knob_table[i].dfl_value, knob_table[i].doc);
    }
}

ucs_status_t uct_predreg_knobs_default(uct_predreg_knobs_t *knobs)
{
    const uct_predreg_config_field_t *knob;

    knobs->is_refused = 0;
    for (knob = knob_table; knob->name != NULL; ++knob) {
        if (!knob->type->read(knob->dfl_value, value_of(knobs, knob), knob)) {
            release_until(knobs, knob);
            *knobs = (uct_predreg_knobs_t){0}; /* So that nothing is freed */
            return UCS_ERR_NO_MEMORY;
        }
    }

    return UCS_OK;
}

ucs_status_t uct_predreg_knobs_set(uct_predreg_knobs_t *knobs, const char *name,
                                   const char *value)
{
    const uct_predreg_config_field_t *knob;

    for (knob = knob_table; knob->name != NULL; ++knob) {
        if (!strcmp(knob->name, name)) {
            break;
        }
    }

    if (knob->name == NULL) {
        ucs_error("there is no knob " UCT_PREDREG_ENV_PREFIX
                  UCT_PREDREG_KNOB_PREFIX "%s", name);
        return UCS_ERR_NO_ELEM;
    }

    knob->type->release(value_of(knobs, knob), knob);
    if (!knob->type->read(value, value_of(knobs, knob), knob)) {
        return UCS_ERR_NO_MEMORY;
    }

    if (knobs->is_refused) {
        knobs->is_refused = 0;
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

void uct_predreg_knobs_cleanup(uct_predreg_knobs_t *knobs)
{
    release_until(knobs, knob_table + ucs_static_array_size(knob_table) - 1);
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

int uct_predreg_is_managed_component(const uct_predreg_knobs_t *knobs,
                                     const char *name)
{
    unsigned i;

    for (i = 0; i < knobs->components.count; ++i) {
        if (!strcmp(knobs->components.names[i], name)) {
            return 1;
        }
    }

    return 0;
}
