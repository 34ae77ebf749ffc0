/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knobs.h"

#include <ucp/firehose/table/types.h>
#include <ucs/base/strb.h>
#include <ucs/stat/stats.h>

#include <ucs/debug/log_def.h>
#include <uct/api/uct.h>

#include <limits.h>
#include <string.h>


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

static const char *windows_names[] = {
    [UCT_PREDREG_WINDOWS_PIN]      = "pin",
    [UCT_PREDREG_WINDOWS_FIREHOSE] = "firehose",
    [UCT_PREDREG_WINDOWS_LAST]     = NULL
};

static const char *pools_names[] = {
    [UCT_PREDREG_POOLS_STOCK] = "stock",
    [UCT_PREDREG_POOLS_LEAN]  = "lean",
    [UCT_PREDREG_POOLS_LAST]  = NULL
};

static const char *arena_keys_names[] = {
    [UCT_PREDREG_ARENA_KEYS_SLAB] = "slab",
    [UCT_PREDREG_ARENA_KEYS_USE]  = "use",
    [UCT_PREDREG_ARENA_KEYS_LAST] = NULL
};

/* UCX's words for a bool. yes, no, 1 and 0 are accepted as well */
static const char *bool_names[] = {"y", "n", NULL};


/* The beginning of a row: the knob's type, its name without the prefix, its default, its
 * field in uct_predreg_knobs_t, and its help */
#define ROW(_type, _name, _default, _member, _doc) \
    ROW_THAT(0, _type, _name, _default, _member, _doc)

/* The beginning of the row of a knob for papers and tests, which users are not shown */
#define HIDDEN(_type, _name, _default, _member, _doc) \
    ROW_THAT(1, _type, _name, _default, _member, _doc)

#define ROW_THAT(_is_hidden, _type, _name, _default, _member, _doc) \
    {_name, _default, _doc, ucs_offsetof(uct_predreg_knobs_t, _member), \
     _type, _is_hidden}, \
    sizeof(((uct_predreg_knobs_t*)NULL)->_member)

/* All knobs. A new knob needs a field in knobs.h and a row here. ucx_info, the manual page
 * and the messages take all they print from the row */
const uct_predreg_knob_t uct_predreg_knob_table[] = {
    {ROW(&uct_predreg_knob_name, "POLICY", "predict", policy,
     "What is done with a buffer's registration between its communications:\n"
     " predict      - deregister it, and register it again, ahead of the next\n"
     "                communication as predicted, in a helper thread\n"
     " on-demand    - register at every communication, deregister after it\n"
     " leave-pinned - leave everything to UCX and its own registration cache"),
     .names = ucs_rcache_pred_policy_names},

    {ROW(&uct_predreg_knob_list, "COMPONENTS", "ib", components,
     "Components of UCX whose memory domains are managed, separated by commas;\n"
     "'ucx_info -d' lists them. Memory of other components stays registered\n"
     "as in UCX's own caches.\n"
     "Empty: none."),
     .names = NULL},

    {ROW(&uct_predreg_knob_name, "HELPER", "conservative", helper,
     "Who registers ahead and deregisters, under the policy predict:\n"
     " conservative - a helper thread, in as many processes of the node as\n"
     "                there are processors that nobody uses, in those that use\n"
     "                most memory; in the others, as under progress\n"
     " aggressive   - a helper thread in every process\n"
     " progress     - the process itself, when UCP has nothing else to do and\n"
     "                when a communication ends\n"
     " off          - nobody; the policy becomes on-demand"),
     .names = helper_names, .is_replayed = 1},

    {ROW(&uct_predreg_knob_percent, "BUDGET", "1", budget,
     "What the policy predict may cost compared with leave-pinned, in percent\n"
     "of the run time, or, where processes share processors, of what each can\n"
     "have of it. Memory that it would cost more to give up stays registered.\n"
     "With 0 all of it does, but for what gives way where a bound leaves no\n"
     "room. What a bound costs is not counted. While processes wait for\n"
     "memory, more is given up, for as much time as they wait, but not with 0."),
     .max = 100, .is_percent = 1, .is_replayed = 1},

    {ROW(&uct_predreg_knob_bool, "UNWIND", "y", unwind,
     "Tell communications apart by the whole path of calls that leads to them,\n"
     "for which the stack is unwound when a path is new. If n, by the caller\n"
     "and the depth of the stack alone."),
     .names = bool_names},

    {ROW(&uct_predreg_knob_number, "MAX_PINNED", "inf", max_pinned,
     "Bound on the memory of communication buffers that a process has\n"
     "registered at any time. Memory that UCX registers for itself does not\n"
     "count. All of it is used, as far as BUDGET keeps memory registered; for\n"
     "room, what is expected to be used last gives way. What does not fit goes\n"
     "other ways: in pieces, or by copying; but MPI windows and other memory that\n"
     "is mapped for peers have to fit, unless WINDOWS is firehose."),
     .min = UCS_RCACHE_PRED_MIN_BYTES, .max = ULONG_MAX, .is_bytes = 1, .is_replayed = 1},

    {ROW(&uct_predreg_knob_number, "MAX_REGIONS", "inf", max_regions,
     "Bound on the number of registrations of communication buffers that a\n"
     "process has at any time."),
     .min = UCT_PREDREG_MIN_REGIONS, .max = ULONG_MAX, .is_replayed = 1},

    {ROW(&uct_predreg_knob_number, "NODE_MAX_PINNED", "inf", node_max_pinned,
     "As MAX_PINNED, for all processes of this user on a node together. The\n"
     "same value should be given to all of them."),
     .min = UCS_RCACHE_PRED_MIN_BYTES, .max = ULONG_MAX, .is_bytes = 1, .is_replayed = 1},

    {ROW(&uct_predreg_knob_number, "NODE_MAX_REGIONS", "inf", node_max_regions,
     "As MAX_REGIONS, for all processes of this user on a node together."),
     .min = UCT_PREDREG_MIN_REGIONS, .max = ULONG_MAX, .is_replayed = 1},

    {ROW(&uct_predreg_knob_number, "KEYS", "0", keys,
     "How many registrations of a device all processes of the job on a node\n"
     "should have at a time: buffers that are needed later give way, and buffers\n"
     "beside each other are registered together. What cannot give way may exceed\n"
     "it. 0: as many as turn out to be possible when the device refuses one.\n"
     "inf: any number, whatever the device refuses."),
     .min = 0, .max = ULONG_MAX},

    {ROW(&uct_predreg_knob_bool, "EAGER", "n", eager,
     "Send small buffers that a program sends again and again without copying\n"
     "them into memory of UCX: they are registered where that pays, which\n"
     "'ucx_predreg calibrate' tells."),
     .names = bool_names},

    {ROW(&uct_predreg_knob_number, "ARENA", "0", arena,
     "Memory of an arena at most. Large anonymous mappings, such as those of\n"
     "malloc, come from it, in slabs of up to 64M; a slab is registered when\n"
     "memory of it is first communicated, and then what is in it needs no\n"
     "registration. Slabs count as pinned, within the bounds. 0: none."),
     .min = UCT_PREDREG_MIN_SLAB, .max = UCT_PREDREG_MAX_ARENA, .is_bytes = 1,
     .is_zero_ok = 1},

    {ROW(&uct_predreg_knob_number, "ARENA_MIN", "128K", arena_min,
     "With ARENA, the shortest mapping that comes from it. malloc is told to map\n"
     "what is as long as that, once the program communicates such memory."),
     .min = UCT_PREDREG_MIN_ARENA_MIN, .max = UCT_PREDREG_MAX_ARENA_MIN,
     .is_bytes = 1},

    {ROW(&uct_predreg_knob_name, "ARENA_KEYS", "slab", arena_keys,
     "With ARENA, what a peer that was given access to a buffer may reach:\n"
     " slab - all memory of the arena that is registered with the buffer\n"
     " use  - the buffer alone: only what needs no access of a peer is answered\n"
     "        by the arena, about half of the uses, though as much is pinned.\n"
     "        UCX tells that from version 1.16 on"),
     .names = arena_keys_names},

    {ROW(&uct_predreg_knob_bool, "ARENA_STRICT", "n", arena_strict,
     "With ARENA, if y, memory is inaccessible as soon as the program has\n"
     "unmapped it; else at the latest after 10 ms, or it is in use again."),
     .names = bool_names},

    {ROW(&uct_predreg_knob_number, "FIREHOSE_M", "256M", firehose_m,
     "M of libucp_firehose.so, where the program gives none: memory that\n"
     "peers may have pinned in a process, as much for each of them. It counts\n"
     "within the bounds."),
     .min = UCP_FH_MIN_BYTES, .max = UCP_FH_MAX_BYTES, .is_bytes = 1},

    {ROW(&uct_predreg_knob_number, "FIREHOSE_MAXVICTIM", "64M",
         firehose_max_victim,
     "MAXVICTIM of libucp_firehose.so, where the program gives none: memory\n"
     "that a process pins for itself at most, and that stays pinned although\n"
     "nobody uses it. It counts within the bounds."),
     .min = UCP_FH_MIN_BYTES, .max = UCP_FH_MAX_BYTES, .is_bytes = 1},

    {ROW(&uct_predreg_knob_name, "WINDOWS", "pin", windows,
     "What is done with memory of 1M and more that a program maps for its peers,\n"
     "such as an MPI window or the heap of OpenSHMEM; in all processes of a job\n"
     "the same:\n"
     " pin      - all of it is pinned, as long as it is mapped\n"
     " firehose - what peers access, as libucp_firehose.so does, within FIREHOSE_M\n"
     "            and FIREHOSE_MAXVICTIM"),
     .names = windows_names},

    {ROW(&uct_predreg_knob_name, "POOLS", "stock", pools,
     "Memory that UCX registers for itself, for its transports RC, DC and UD:\n"
     " stock - as much as UCX does, 57M a process and more\n"
     " lean  - less: what messages are sent from grows in smaller steps, and the\n"
     "         receive queues of RC and DC are shorter where a node has more than\n"
     "         16 processes of the job. What the user has set of UCX stays"),
     .names = pools_names},

    {ROW(&uct_predreg_knob_name, "SUMMARY", "n", summary,
     "What to print when the process exits:\n"
     " n    - nothing\n"
     " text - counters of predictions and registered memory, for reading\n"
     " json - the same, one JSON object a process on a line"),
     .names = summary_names},

    {ROW(&uct_predreg_knob_string, "SUMMARY_FILE", "", summary_file,
     "File to append the summary to. Empty: standard error."),
     .names = NULL},

    {ROW(&uct_predreg_knob_string, "TRACE", "", trace,
     "Folder to write a trace to, one file a process: what it communicated\n"
     "from which buffers, and what was registered for it. It is made if need\n"
     "be. Empty: none."),
     .names = NULL},

    /* Knobs for the papers and the tests */

    {HIDDEN(&uct_predreg_knob_number, "WINDOW", "2", window,
     "Number of preceding communications that tell contexts of a call site\n"
     "apart."),
     .min = UCT_PREDREG_MIN_WINDOW, .max = UCS_RCACHE_PRED_MAX_WINDOW},

    {HIDDEN(&uct_predreg_knob_number, "HISTORY", "8", history,
     "Number of recent intervals between communications of one context; the\n"
     "shortest is the predicted period, unless they grow or shrink."),
     .min = UCT_PREDREG_MIN_HISTORY, .max = UCS_RCACHE_PRED_MAX_HISTORY,
     .is_replayed = 1},

    {HIDDEN(&uct_predreg_knob_number, "MAX_SITES", "393216", max_sites,
     "Number of communication contexts to remember at most. With few buffers\n"
     "there are no more than 16384."),
     .min = UCT_PREDREG_MIN_ENTRIES, .max = UCT_PREDREG_MAX_ENTRIES, .is_replayed = 1},

    {HIDDEN(&uct_predreg_knob_number, "KNOWN_REGIONS", "131072", known_regions,
     "Number of buffers to remember at most, registered or not. Up to 8192 are\n"
     "always remembered, and more if the program comes back to some that were\n"
     "forgotten. Registered ones are kept beyond it."),
     .min = UCT_PREDREG_MIN_ENTRIES, .max = UCT_PREDREG_MAX_ENTRIES, .is_replayed = 1},

    {HIDDEN(&uct_predreg_knob_number, "DQ_SIZE", "1024", dq_size,
     "Entries of the queue of ended communications on their way to the helper\n"
     "thread; a power of 2."),
     .min = UCT_PREDREG_MIN_DQ_SIZE, .max = UCT_PREDREG_MAX_DQ_SIZE,
     .is_power_of_2 = 1, .is_replayed = 1},

    {HIDDEN(&uct_predreg_knob_bool, "PIECES", "y", pieces,
     "Register a large buffer that a message is received into, and that was\n"
     "not predicted, piece by piece while the message arrives. If n, and in\n"
     "a recording on demand, only what does not fit the bounds is."),
     .names = bool_names, .is_replayed = 1},

    {HIDDEN(&uct_predreg_knob_percent, "EAGER_FRACTION", "25", eager_fraction,
     "With EAGER, after how many sends a small buffer is registered, in percent\n"
     "of the number of sends from which on that pays."),
     .min = UCT_PREDREG_MIN_FRACTION, .max = 100, .is_percent = 1,
     .is_finite = 1, .is_replayed = 1},

    {HIDDEN(&uct_predreg_knob_percent, "EAGER_ADAPT", "20", eager_adapt,
     "With EAGER, no new small buffers are counted once their table gets\n"
     "crowded while fewer than this percentage of them are registered."),
     .max = 100, .is_percent = 1, .is_finite = 1},

    {.field.name = NULL}
};

UCS_F_CTOR static void register_table(void)
{
    static const uct_predreg_config_table_t table = {
        .title  = "Predictive registration cache",
        .prefix = UCT_PREDREG_KNOB_PREFIX,
        .fields = &uct_predreg_knob_table[0].field,
        .stride = sizeof(uct_predreg_knob_table[0]),
        .size   = sizeof(uct_predreg_knobs_t)
    };

    UCS_STATIC_ASSERT(ucs_static_array_size(uct_predreg_knob_table) - 1 <=
                      UCT_PREDREG_CONFIG_MAX);
    uct_predreg_config_register(&table);
}

UCS_F_DTOR static void unregister_table(void)
{
    uct_predreg_config_unregister();
}


static void *value_of(const uct_predreg_knobs_t *knobs,
                      const uct_predreg_knob_t *knob)
{
    return UCS_PTR_BYTE_OFFSET(knobs, knob->field.offset);
}

/* Free the values of all knobs of the table that come before @a end */
static void release_until(uct_predreg_knobs_t *knobs,
                          const uct_predreg_knob_t *end)
{
    const uct_predreg_knob_t *knob;

    for (knob = uct_predreg_knob_table; knob < end; ++knob) {
        knob->field.type->release(value_of(knobs, knob), knob);
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
    const uct_predreg_knob_t *knob;
    char value[256];

    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        knob->field.type->write(value, sizeof(value), value_of(knobs, knob),
                                knob);
        cb(arg, knob->field.name, value);
    }
}

void uct_predreg_knobs_describe(void (*cb)(void *arg,
                                           const uct_predreg_knob_t *knob),
                                void *arg)
{
    const uct_predreg_knob_t *knob;

    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        if (!knob->field.is_hidden) {
            cb(arg, knob);
        }
    }
}

ucs_status_t uct_predreg_knobs_default(uct_predreg_knobs_t *knobs)
{
    const uct_predreg_knob_t *knob;

    knobs->is_refused = 0;
    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        if (!knob->field.type->read(knob->field.dfl_value,
                                    value_of(knobs, knob), knob)) {
            release_until(knobs, knob);
            *knobs = (uct_predreg_knobs_t){0}; /* A later cleanup frees nothing then */
            return UCS_ERR_NO_MEMORY;
        }
    }

    return UCS_OK;
}

ucs_status_t uct_predreg_knobs_set(uct_predreg_knobs_t *knobs, const char *name,
                                   const char *value)
{
    const uct_predreg_knob_t *knob;

    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        if (!strcmp(knob->field.name, name)) {
            break;
        }
    }

    if (knob->field.name == NULL) {
        ucs_error("there is no knob " UCT_PREDREG_ENV_PREFIX
                  UCT_PREDREG_KNOB_PREFIX "%s", name);
        return UCS_ERR_NO_ELEM;
    }

    knob->field.type->release(value_of(knobs, knob), knob);
    if (!knob->field.type->read(value, value_of(knobs, knob), knob)) {
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
    release_until(knobs, uct_predreg_knob_table +
                         ucs_static_array_size(uct_predreg_knob_table) - 1);
}

void uct_predreg_knobs_to_params(const uct_predreg_knobs_t *knobs,
                                 ucs_rcache_pred_params_t *params)
{
    /* A recording on demand tells what whole registrations cost */
    int is_whole = uct_predreg_is_traced(knobs) &&
                   (knobs->policy == UCS_RCACHE_PRED_POLICY_ON_DEMAND);

    *params = (ucs_rcache_pred_params_t){
        .policy        = knobs->policy,
        .helper        = knobs->helper,
        .budget        = knobs->budget / 100,
        .history       = knobs->history,
        .max_sites     = knobs->max_sites,
        .known_regions = knobs->known_regions,
        .max_bytes     = knobs->max_pinned,
        .max_regions   = knobs->max_regions,
        .pieces        = knobs->pieces && !is_whole,
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
