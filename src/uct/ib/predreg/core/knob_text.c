/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_text.h"

#include <ucp/firehose/table/types.h>
#include <ucs/arena/memory/types.h>
#include <ucs/base/strb.h>
#include <ucs/rcache_pred/stats.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>


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

static const char *arena_register_names[] = {
    [UCT_PREDREG_ARENA_REGISTER_USE]   = "use",
    [UCT_PREDREG_ARENA_REGISTER_AHEAD] = "ahead",
    [UCT_PREDREG_ARENA_REGISTER_LAST]  = NULL
};

static const char *arena_keys_names[] = {
    [UCT_PREDREG_ARENA_KEYS_SLAB] = "slab",
    [UCT_PREDREG_ARENA_KEYS_USE]  = "use",
    [UCT_PREDREG_ARENA_KEYS_LAST] = NULL
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
    {"UNWIND", FIELD(unwind), .names = bool_names},
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
    {"EAGER", FIELD(eager), .names = bool_names},
    {"EAGER_FRACTION", FIELD(eager_fraction), .min = UCT_PREDREG_MIN_FRACTION,
     .max = 100, .is_percent = 1, .is_finite = 1},
    {"EAGER_ADAPT", FIELD(eager_adapt), .max = 100, .is_percent = 1,
     .is_finite = 1},
    {"ARENA", FIELD(arena), .min = UCT_PREDREG_MIN_SLAB,
     .max = UCT_PREDREG_MAX_ARENA, .is_bytes = 1, .is_zero_ok = 1},
    {"ARENA_SLAB", FIELD(arena_slab), .min = UCT_PREDREG_MIN_SLAB,
     .max = UCS_ARENA_MAX_SLAB, .is_bytes = 1, .is_power_of_2 = 1},
    {"ARENA_SLAB_MIN", FIELD(arena_slab_min), .min = UCT_PREDREG_MIN_SLAB,
     .max = UCS_ARENA_MAX_SLAB, .is_bytes = 1, .is_power_of_2 = 1},
    {"ARENA_REGISTER", FIELD(arena_register), .names = arena_register_names},
    {"ARENA_MIN", FIELD(arena_min), .min = UCT_PREDREG_MIN_ARENA_MIN,
     .max = UCT_PREDREG_MAX_ARENA_MIN, .is_bytes = 1},
    {"ARENA_KEYS", FIELD(arena_keys), .names = arena_keys_names},
    {"ARENA_STRICT", FIELD(arena_strict), .names = bool_names},
    {"FIREHOSE_M", FIELD(firehose_m), .min = UCP_FH_MIN_BYTES,
     .max = UCP_FH_MAX_BYTES, .is_bytes = 1},
    {"FIREHOSE_MAXVICTIM", FIELD(firehose_max_victim),
     .min = UCP_FH_MIN_BYTES, .max = UCP_FH_MAX_BYTES, .is_bytes = 1},
    {"WINDOWS", FIELD(windows), .names = windows_names},
    {"SUMMARY", FIELD(summary), .names = summary_names},
    {NULL}
};


/* So much of a value that is not accepted is printed, in characters, so that the
 * message has room for what is accepted */
#define MAX_TYPED 100

/* @param [in] arg  The knob's row in the table of knobs.c. */
static const uct_predreg_knob_values_t *find_values(const void *arg)
{
    const uct_predreg_config_field_t *knob  = arg;
    const uct_predreg_knob_values_t *values = uct_predreg_knob_values;

    while (strcmp(values->name, knob->name)) {
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
    UCS_RCACHE_PRED_STRB(accepted, 256);

    uct_predreg_knob_accepted(values, &accepted);
    ucs_error(UCT_PREDREG_ENV_PREFIX UCT_PREDREG_KNOB_PREFIX
              "%s=%.*s%s is not accepted; accepted: %s", values->name,
              MAX_TYPED, text, (strlen(text) > MAX_TYPED) ? "..." : "",
              ucs_string_buffer_cstr(&accepted));
    knobs->is_refused = 1;
    return 1;
}

/* What has no memory of its own is copied by this, and nothing is freed */

static ucs_status_t clone_plain(const void *src, void *dest, const void *knob)
{
    memcpy(dest, src, find_values(knob)->size);
    return UCS_OK;
}

static void release_nop(void *value, const void *knob)
{
}

static void help_accepted(char *buf, size_t max, const void *knob)
{
    UCS_RCACHE_PRED_STRB(accepted, 256);

    uct_predreg_knob_accepted(find_values(knob), &accepted);
    ucs_strncpy_safe(buf, ucs_string_buffer_cstr(&accepted), max);
}


static int read_number(const char *text, void *dest, const void *knob)
{
    const uct_predreg_knob_values_t *values = find_values(knob);
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

static int write_number(char *buf, size_t max, const void *src,
                        const void *knob)
{
    const uct_predreg_knob_values_t *values = find_values(knob);

    if (values->size == sizeof(unsigned)) {
        snprintf(buf, max, "%u", *(const unsigned*)src);
    } else if (values->is_bytes) {
        ucs_memunits_to_str(*(const size_t*)src, buf, max);
    } else if (*(const unsigned long*)src == ULONG_MAX) {
        ucs_strncpy_safe(buf, UCS_NUMERIC_INF_STR, max);
    } else {
        snprintf(buf, max, "%lu", *(const unsigned long*)src);
    }
    return 1;
}

const uct_predreg_config_type_t uct_predreg_knob_number = {
    read_number, write_number, clone_plain, release_nop, help_accepted
};


static int read_percent(const char *text, void *dest, const void *knob)
{
    const uct_predreg_knob_values_t *values = find_values(knob);

    return uct_predreg_knob_parse_percent(values, text, dest) ||
           refuse(values, text, dest);
}

static int write_percent(char *buf, size_t max, const void *src,
                         const void *knob)
{
    uct_predreg_knob_print_percent(*(const double*)src, buf, max);
    return 1;
}

const uct_predreg_config_type_t uct_predreg_knob_percent = {
    read_percent, write_percent, clone_plain, release_nop, help_accepted
};


/* @return the place of a text in a list, whatever the case of its letters; -1:
 * it is not in it. */
static int find_name(const char *text, const char *const *names)
{
    int i;

    for (i = 0; names[i] != NULL; ++i) {
        if (!strcasecmp(text, names[i])) {
            return i;
        }
    }
    return -1;
}

static int read_name(const char *text, void *dest, const void *knob)
{
    const uct_predreg_knob_values_t *values = find_values(knob);
    int place                               = find_name(text, values->names);

    if (place < 0) {
        return refuse(values, text, dest);
    }

    *(unsigned*)dest = place;
    return 1;
}

static int write_name(char *buf, size_t max, const void *src, const void *knob)
{
    ucs_strncpy_safe(buf, find_values(knob)->names[*(const unsigned*)src], max);
    return 1;
}

/* As UCX prints which names it accepts: [one|other] */
static void help_name(char *buf, size_t max, const void *knob)
{
    const char *const *names = find_values(knob)->names;
    size_t length            = 0;
    const char *const *name;

    for (name = names; (*name != NULL) && (length < max); ++name) {
        length += snprintf(buf + length, max - length, "%c%s",
                           (name == names) ? '[' : '|', *name);
    }
    if (length < max) {
        snprintf(buf + length, max - length, "]");
    }
}

const uct_predreg_config_type_t uct_predreg_knob_name = {
    read_name, write_name, clone_plain, release_nop, help_name
};


static int read_bool(const char *text, void *dest, const void *knob)
{
    static const char *yes[] = {"y", "yes", "1", NULL};
    static const char *no[]  = {"n", "no", "0", NULL};

    if (find_name(text, yes) >= 0) {
        *(int*)dest = 1;
        return 1;
    }

    if (find_name(text, no) >= 0) {
        *(int*)dest = 0;
        return 1;
    }

    return refuse(find_values(knob), text, dest);
}

static int write_bool(char *buf, size_t max, const void *src, const void *knob)
{
    ucs_strncpy_safe(buf, *(const int*)src ? "y" : "n", max);
    return 1;
}

const uct_predreg_config_type_t uct_predreg_knob_bool = {
    read_bool, write_bool, clone_plain, release_nop, help_name
};


static int read_string(const char *text, void *dest, const void *knob)
{
    *(char**)dest = strdup(text);
    return *(char**)dest != NULL;
}

static int write_string(char *buf, size_t max, const void *src,
                        const void *knob)
{
    ucs_strncpy_safe(buf, *(char *const*)src, max);
    return 1;
}

static ucs_status_t clone_string(const void *src, void *dest, const void *knob)
{
    return read_string(*(char *const*)src, dest, knob) ? UCS_OK :
                                                         UCS_ERR_NO_MEMORY;
}

static void release_string(void *value, const void *knob)
{
    free(*(char**)value);
}

static void help_string(char *buf, size_t max, const void *knob)
{
    ucs_strncpy_safe(buf, "string", max);
}

const uct_predreg_config_type_t uct_predreg_knob_string = {
    read_string, write_string, clone_string, release_string, help_string
};


/* The names of a list are in one block: the pointers to them, and after these
 * the text, cut into the names */
static int read_list(const char *text, void *dest, const void *knob)
{
    ucs_config_names_array_t *list = dest;
    size_t num                     = 1;
    const char *comma;
    char *copy, *name, *rest;

    for (comma = strchr(text, ','); comma != NULL;
         comma = strchr(comma + 1, ',')) {
        ++num;
    }

    *list       = (ucs_config_names_array_t){0};
    list->names = malloc(num * sizeof(*list->names) + strlen(text) + 1);
    if (list->names == NULL) {
        return 0;
    }

    copy = strcpy((char*)(list->names + num), text);
    for (name = strtok_r(copy, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        list->names[list->count++] = name;
    }
    return 1;
}

static int write_list(char *buf, size_t max, const void *src, const void *knob)
{
    const ucs_config_names_array_t *list = src;
    size_t length                        = 0;
    unsigned i;

    buf[0] = '\0';
    for (i = 0; (i < list->count) && (length < max); ++i) {
        length += snprintf(buf + length, max - length, "%s%s",
                           (i == 0) ? "" : ",", list->names[i]);
    }
    return 1;
}

static ucs_status_t clone_list(const void *src, void *dest, const void *knob)
{
    const ucs_config_names_array_t *list = src;
    size_t length                        = 1;
    ucs_status_t status;
    unsigned i;
    char *text;

    for (i = 0; i < list->count; ++i) {
        length += strlen(list->names[i]) + 1;
    }

    text = malloc(length);
    if (text == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    write_list(text, length, src, knob);
    status = read_list(text, dest, knob) ? UCS_OK : UCS_ERR_NO_MEMORY;
    free(text);
    return status;
}

static void release_list(void *value, const void *knob)
{
    ucs_config_names_array_t *list = value;

    free(list->names);
}

static void help_list(char *buf, size_t max, const void *knob)
{
    ucs_strncpy_safe(buf, "comma-separated list of: string", max);
}

const uct_predreg_config_type_t uct_predreg_knob_list = {
    read_list, write_list, clone_list, release_list, help_list
};
