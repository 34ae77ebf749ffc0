/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_text.h"

#include <ucs/rcache_pred/stats.h>

#include <ucs/config/parser.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

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

/* What UCX prints of a bool. It accepts yes, no, 1 and 0 as well */
static const char *bool_names[] = {"y", "n", NULL};


#define FIELD(_name) \
    ucs_offsetof(uct_predreg_knobs_t, _name), \
    sizeof(((uct_predreg_knobs_t*)NULL)->_name)

const uct_predreg_knob_values_t uct_predreg_knob_values[] = {
    {"POLICY", FIELD(policy), .names = ucs_rcache_pred_policy_names},
    {"HELPER", FIELD(helper), .names = helper_names},
    {"BUDGET", FIELD(budget), .max = 100, .is_percent = 1},
    {"WINDOW", FIELD(window), .min = UCT_PREDREG_MIN_WINDOW,
     .max = UCS_RCACHE_PRED_MAX_WINDOW},
    {"HISTORY", FIELD(history), .min = UCT_PREDREG_MIN_HISTORY,
     .max = UCS_RCACHE_PRED_MAX_HISTORY},
    {"MAX_SITES", FIELD(max_sites), .min = UCT_PREDREG_MIN_ENTRIES,
     .max = UCT_PREDREG_MAX_ENTRIES},
    {"KNOWN_REGIONS", FIELD(known_regions), .min = UCT_PREDREG_MIN_ENTRIES,
     .max = UCT_PREDREG_MAX_ENTRIES},
    {"DQ_SIZE", FIELD(dq_size), .min = UCT_PREDREG_MIN_DQ_SIZE,
     .max = UCT_PREDREG_MAX_DQ_SIZE, .is_power_of_2 = 1},
    {"MAX_PINNED", FIELD(max_pinned), .min = UCS_RCACHE_PRED_MIN_BYTES,
     .max = ULONG_MAX, .is_bytes = 1},
    {"MAX_REGIONS", FIELD(max_regions), .min = UCT_PREDREG_MIN_REGIONS,
     .max = ULONG_MAX},
    {"NODE_MAX_PINNED", FIELD(node_max_pinned),
     .min = UCS_RCACHE_PRED_MIN_BYTES, .max = ULONG_MAX, .is_bytes = 1},
    {"NODE_MAX_REGIONS", FIELD(node_max_regions),
     .min = UCT_PREDREG_MIN_REGIONS, .max = ULONG_MAX},
    {"PIECES", FIELD(pieces), .names = bool_names},
    {"SUMMARY", FIELD(summary), .names = summary_names},
    {NULL}
};


/* So much of a value that is not accepted is printed, in characters, so that the
 * message has room for what is accepted */
#define MAX_TYPED 100

static const uct_predreg_knob_values_t *find_values(const char *name)
{
    const uct_predreg_knob_values_t *values = uct_predreg_knob_values;

    while (strcmp(values->name, name)) {
        ++values;
    }
    return values;
}

/* Say that a value is not accepted, and note it in the knobs that it was to get
 * into. UCX is told that it was read: its own message would not have the whole
 * name of the variable.
 * @return what a function that reads a value for UCX returns. */
static int refuse(const uct_predreg_knob_values_t *values, const char *text,
                  void *dest)
{
    uct_predreg_knobs_t *knobs = UCS_PTR_BYTE_OFFSET(dest, -values->offset);
    UCS_STRING_BUFFER_ONSTACK(accepted, 256);

    uct_predreg_knob_accepted(values, &accepted);
    ucs_error(UCT_PREDREG_ENV_PREFIX UCT_PREDREG_KNOB_PREFIX
              "%s=%.*s%s is not accepted; accepted: %s", values->name,
              MAX_TYPED, text, (strlen(text) > MAX_TYPED) ? "..." : "",
              ucs_string_buffer_cstr(&accepted));
    knobs->is_refused = 1;
    return 1;
}

int uct_predreg_knob_read_number(const char *text, void *dest, const void *name)
{
    const uct_predreg_knob_values_t *values = find_values(name);
    unsigned long number;

    if (!uct_predreg_knob_parse(values, text, &number)) {
        return refuse(values, text, dest);
    }

    if (values->size == sizeof(unsigned)) {
        *(unsigned*)dest = number;
    } else {
        *(unsigned long*)dest = number;
    }
    return 1;
}

int uct_predreg_knob_read_percent(const char *text, void *dest, const void *name)
{
    const uct_predreg_knob_values_t *values = find_values(name);

    return uct_predreg_knob_parse_percent(values, text, dest) ||
           refuse(values, text, dest);
}

int uct_predreg_knob_write_percent(char *buf, size_t max, const void *src,
                         const void *name)
{
    uct_predreg_knob_print_percent(*(const double*)src, buf, max);
    return 1;
}

ucs_status_t uct_predreg_knob_clone_percent(const void *src, void *dest, const void *name)
{
    *(double*)dest = *(const double*)src;
    return UCS_OK;
}

int uct_predreg_knob_read_name(const char *text, void *dest, const void *name)
{
    const uct_predreg_knob_values_t *values = find_values(name);

    return ucs_config_sscanf_enum(text, dest, values->names) ||
           refuse(values, text, dest);
}

int uct_predreg_knob_read_bool(const char *text, void *dest, const void *name)
{
    return ucs_config_sscanf_bool(text, dest, NULL) ||
           refuse(find_values(name), text, dest);
}

int uct_predreg_knob_write_name(char *buf, size_t max, const void *src, const void *name)
{
    return ucs_config_sprintf_enum(buf, max, src, find_values(name)->names);
}

void uct_predreg_knob_help_name(char *buf, size_t max, const void *name)
{
    ucs_config_help_enum(buf, max, find_values(name)->names);
}

void uct_predreg_knob_help_number(char *buf, size_t max, const void *name)
{
    UCS_STRING_BUFFER_ONSTACK(accepted, 256);

    uct_predreg_knob_accepted(find_values(name), &accepted);
    ucs_strncpy_safe(buf, ucs_string_buffer_cstr(&accepted), max);
}
