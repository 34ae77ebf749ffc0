/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <tools/base/fields.h>
#include <tools/predreg/common/command.h>

#include <ucs/sys/math.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** @file show.c
 *
 * Pure functions that append to a text: the columns of the table are one macro, which
 * their names, their widths and the rows expand.
 */

#define NSEC_PER_SEC 1e9

/* Bytes for the longest number in a column, with the 0 at its end */
#define CELL_SIZE 24


/* The changes of the counters in an interval */
typedef struct {
    double   seconds;
    uint64_t uses;
    uint64_t hits;
    uint64_t critical; /* ns */
    uint64_t spent;    /* Spent part of the budget, in processor time, ns */
    uint64_t budget;   /* Processor time of which the budget is a percentage, ns */
    uint64_t cpu;      /* Processor time of the helper, ns */
} rates_t;


/* Whether the counters of the library are known: under leave-pinned the library only
 * watches UCX's own cache */
static int is_known(const predreg_stat_proc_t *proc)
{
    return proc->state.snapshot.policy != UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
}

/* The counters of an interval, by their places in a snapshot */
#define RATES(_rate) \
    _rate(uses, stats.uses) \
    _rate(hits, stats.hits) \
    _rate(critical, stats.time_critical) \
    _rate(spent, stats.budget_spent) \
    _rate(budget, stats.budget_time) \
    _rate(cpu, helper_cpu)

/* @return the rates since an earlier look at the process.
 * @param [in] before  The earlier look; NULL: the rates are of the whole run. If a
 *                     counter has become smaller, another process has got the pid, and
 *                     counts from 0: then the rates are of the whole run as well. */
static rates_t rates_between(const predreg_stat_proc_t *proc,
                             const predreg_stat_proc_t *before)
{
    const ucs_rcache_pred_snapshot_t *now = &proc->state.snapshot;
    rates_t rates                         = {
        .seconds = now->stats.duration / NSEC_PER_SEC
    };
    int is_same_run                       = 1;
    const ucs_rcache_pred_snapshot_t *old;

#define WHOLE(_field, _place)   rates._field = now->_place;
#define IS_SAME(_field, _place) is_same_run &= (now->_place >= old->_place);
#define CHANGE(_field, _place)  rates._field -= old->_place;
    RATES(WHOLE)
    if (before == NULL) {
        return rates;
    }

    old = &before->state.snapshot;
    RATES(IS_SAME)
    if (is_same_run) {
        rates.seconds = (proc->looked - before->looked) / NSEC_PER_SEC;
        RATES(CHANGE)
    }
    return rates;
}

static const char * __attribute__((format(printf, 2, 3)))
cell_printf(char *cell, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(cell, CELL_SIZE, format, args);
    va_end(args);
    return cell;
}

/* Write a number of bytes in at most 5 characters */
static const char *cell_bytes(char *cell, uint64_t bytes)
{
    static const char units[] = "BKMGTPE";
    double value              = bytes;
    unsigned unit             = 0;

    while ((value >= 999.5) && (units[unit + 1] != '\0')) {
        value /= 1024;
        ++unit;
    }

    return cell_printf(cell, "%.*f%c", ((unit > 0) && (value < 99.95)) ? 1 : 0, value,
                       units[unit]);
}

static const char *cell_count(char *cell, uint64_t value)
{
    return cell_printf(cell, "%lu", value);
}

/* Write a number, or "-" if it is not known */
static const char *cell_known(char *cell, int is_known, int digits, double value)
{
    return is_known ? cell_printf(cell, "%.*f", digits, value) : "-";
}

/* Write a part of a whole in percent */
static const char *cell_percent(char *cell, double part, double whole)
{
    return cell_known(cell, whole > 0, 1, 100 * part / whole);
}

/* Write the budget in percent, if the policy has one */
static const char *cell_budget(char *cell,
                               const ucs_rcache_pred_snapshot_t *snapshot)
{
    return (snapshot->policy != UCS_RCACHE_PRED_POLICY_PREDICT) ? "-" :
           isinf(snapshot->budget) ? "inf" :
           cell_printf(cell, "%.4g", snapshot->budget);
}

/* The texts of numbers in the columns: of counters of the library, and of others */
#define BYTES(_field)   cell_bytes(cell, now->_field)
#define COUNT(_field)   cell_count(cell, now->_field)
#define SECONDS(_field) cell_known(cell, 1, 3, now->_field / NSEC_PER_SEC)
#define PART(_field)    cell_percent(cell, rates._field / NSEC_PER_SEC, rates.seconds)

/* The columns: width, name, whether the number is known under leave-pinned, too, and the
 * text of the number. "-" stands for an unknown number. */
#define COLUMNS(_column) \
    _column(4, "RANK", 1, cell_known(cell, now->rank >= 0, 0, now->rank)) \
    _column(7, "PID", 1, COUNT(pid)) \
    _column(-12, "POLICY", 1, ucs_rcache_pred_policy_names[now->policy]) \
    _column(-8, "HELPER", 0, ucs_rcache_pred_mode_names[now->mode]) \
    _column(5, "NOW", 0, BYTES(stats.bytes_now)) \
    _column(5, "PEAK", 0, BYTES(stats.bytes_peak)) \
    _column(5, "AVG", 0, BYTES(stats.bytes_avg)) \
    _column(6, "PINNED", 1, BYTES(kernel_pinned)) \
    _column(6, "USES/S", 1, \
            cell_known(cell, rates.seconds > 0, 0, rates.uses / rates.seconds)) \
    _column(5, "HIT%", 0, cell_percent(cell, rates.hits, rates.uses)) \
    _column(5, "LATE", 0, COUNT(stats.late)) \
    _column(5, "EARLY", 0, COUNT(stats.early)) \
    _column(6, "WASTED", 0, COUNT(stats.wasted)) \
    _column(7, "REFUSED", 0, COUNT(stats.refused)) \
    _column(5, "CRIT%", 0, PART(critical)) \
    _column(7, "BUDGET%", 0, cell_budget(cell, now)) \
    _column(6, "SPENT%", 0, cell_percent(cell, rates.spent, rates.budget)) \
    _column(7, "SPENT-S", 0, SECONDS(stats.budget_spent)) \
    _column(6, "ROOM-S", 0, SECONDS(stats.room_lost)) \
    _column(5, "CPU%", 0, PART(cpu)) \
    _column(8, "USES", 1, COUNT(stats.uses)) \
    _column(5, "ARENA", 0, BYTES(arena_committed)) \
    _column(8, "ANSWERED", 0, COUNT(arena_answered)) \
    _column(8, "FIREHOSE", 0, \
            BYTES(stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE].bytes_now)) \
    _column(6, "FHHIT%", 1, \
            cell_percent(cell, now->firehose_hits, now->firehose_requests)) \
    _column(5, "POOLS", 1, BYTES(pool_bytes)) \
    _column(5, "KEYS", 0, COUNT(keys_now)) \
    _column(5, "KPEAK", 0, COUNT(keys_peak)) \
    _column(6, "KLIMIT", 0, \
            cell_known(cell, now->keys_limit != UINT64_MAX, 0, now->keys_limit))

/* The cells of a line of the table */
#define NAME(_width, _name, _always, _value)  _name,
#define WIDTH(_width, _name, _always, _value) _width,
static const char names[][CELL_SIZE] = {COLUMNS(NAME)};
static const int widths[]            = {COLUMNS(WIDTH)};
#define NUM_COLUMNS ucs_static_array_size(names)

typedef char cells_t[NUM_COLUMNS][CELL_SIZE];


static void fill_cells(const predreg_stat_proc_t *proc, const predreg_stat_proc_t *before,
                       cells_t cells)
{
    const ucs_rcache_pred_snapshot_t *now = &proc->state.snapshot;
    int known                             = is_known(proc);
    rates_t rates                         = rates_between(proc, before);
    unsigned i                            = 0;
    char cell[CELL_SIZE];

#define COLUMN(_width, _name, _always, _value) \
    strcpy(cells[i++], (known || (_always)) ? (_value) : "-");
    COLUMNS(COLUMN)
#undef COLUMN
}

/* @return the index of a column; NUM_COLUMNS: there is none of that name. */
static unsigned find_column(const char *name)
{
    unsigned i;

    for (i = 0; (i < NUM_COLUMNS) && strcasecmp(name, names[i]); ++i);
    return i;
}

/* Whether some process has something in a column: from LATE on, 0 is nothing as well */
static int has_value(unsigned column, const cells_t *rows, unsigned num)
{
    const char *empty = (column < find_column("LATE")) ? "-" : "-0.B";
    unsigned i;

    for (i = 0; i < num; ++i) {
        if (strspn(rows[i][column], empty) < strlen(rows[i][column])) {
            return 1;
        }
    }
    return 0;
}

static void put_row(const char *command, int width, const cells_t cells, const int *shown,
                    const char *end, ucs_string_buffer_t *strb)
{
    unsigned i;

    ucs_string_buffer_appendf(strb, "%-*s", width, command);
    for (i = 0; i < NUM_COLUMNS; ++i) {
        if (shown[i]) {
            ucs_string_buffer_appendf(strb, " %*s", widths[i], cells[i]);
        }
    }
    ucs_string_buffer_appendf(strb, "%s\n", end);
}

void predreg_stat_table(const predreg_view_t *view, const predreg_view_t *before,
                        uint64_t wanted, int width, unsigned height, const char *end,
                        ucs_string_buffer_t *strb)
{
    cells_t *rows  = predreg_alloc(view->num_procs, sizeof(*rows));
    int name_width = strlen("COMMAND");
    int shown[NUM_COLUMNS];
    unsigned i;

    for (i = 0; i < view->num_procs; ++i) {
        name_width = ucs_max(name_width, (int)strlen(view->procs[i].state.command));
        fill_cells(&view->procs[i], predreg_view_find(before, view->procs[i].pid), rows[i]);
    }

    width -= name_width;
    for (i = 0; i < NUM_COLUMNS; ++i) {
        shown[i] = (wanted != 0) ? ((wanted >> i) & 1) :
                                   has_value(i, rows, view->num_procs);
        width   -= shown[i] ? (abs(widths[i]) + 1) : 0;
        shown[i] = shown[i] && (width >= 0);
    }

    put_row("COMMAND", name_width, names, shown, end, strb);
    for (i = 0; (i < view->num_procs) && (i < height); ++i) {
        put_row(view->procs[i].state.command, name_width, rows[i], shown, end, strb);
    }
    if (i < view->num_procs) {
        ucs_string_buffer_appendf(strb, "and %u more%s\n", view->num_procs - i, end);
    }
    free(rows);
}

/* Report a column that does not exist, with the names of those that do. @return the exit
 * status for a bad argument. */
static int unknown_column(const char *word)
{
    char *accepted = predreg_format("%s", "");
    int status;
    unsigned i;

    for (i = 0; i < NUM_COLUMNS; ++i) {
        accepted = predreg_list(accepted, names[i]);
    }
    status = predreg_error("--columns: there is no column '%s'; accepted: %s", word,
                           accepted);
    free(accepted);
    return status;
}

int predreg_stat_columns(const char *list, uint64_t *columns_p)
{
    char *copy = predreg_format("%s", list);
    int status = 0;
    unsigned i;

    predreg_for_each_word(word, copy, ",") {
        i = find_column(word);
        if (i == NUM_COLUMNS) {
            status = unknown_column(word);
        }
        *columns_p |= 1ul << i;
    }
    free(copy);
    return status;
}

void predreg_stat_title(const predreg_stat_proc_t *procs, unsigned num_procs,
                        ucs_string_buffer_t *line)
{
    const ucs_rcache_pred_live_state_t *bound = NULL;
    const ucs_rcache_pred_live_state_t *limit = NULL;
    uint64_t registered                        = 0;
    uint64_t pinned                            = 0;
    uint64_t keys                              = 0;
    uint64_t pool_sum                          = 0;
    int known                                  = 0;
    uint64_t pools[UCS_RCACHE_PRED_POOL_LAST]  = {};
    char cell[CELL_SIZE];
    unsigned i, kind;

    for (i = 0; i < num_procs; ++i) {
        for (kind = 0; kind < UCS_RCACHE_PRED_POOL_LAST; ++kind) {
            pools[kind] += procs[i].state.snapshot.pool_kinds[kind];
        }
        pool_sum += procs[i].state.snapshot.pool_bytes;
        pinned += procs[i].state.snapshot.kernel_pinned;
        if (is_known(&procs[i])) {
            known       = 1;
            registered += procs[i].state.snapshot.stats.bytes_now;
            keys       += procs[i].state.snapshot.keys_now;
        }
        if (procs[i].state.node_max_bytes != UINT64_MAX) {
            bound = &procs[i].state;
        }
        if (procs[i].state.snapshot.keys_limit <
            ((limit == NULL) ? UINT64_MAX : limit->snapshot.keys_limit)) {
            limit = &procs[i].state;
        }
    }

    ucs_string_buffer_appendf(line, "%u process%s", num_procs,
                              (num_procs == 1) ? "" : "es");
    if (known) {
        ucs_string_buffer_appendf(line, ", %s registered",
                                  cell_bytes(cell, registered));
    }
    ucs_string_buffer_appendf(line, ", %s pinned", cell_bytes(cell, pinned));
    if (pool_sum > 0) {
        ucs_string_buffer_appendf(line, ", %s in UCX's pools", cell_bytes(cell, pool_sum));
        ucs_rcache_pred_pools_text(pools, line);
    }
    if (known) {
        ucs_string_buffer_appendf(line, ", %lu keys", keys);
    }
    if (limit != NULL) {
        ucs_string_buffer_appendf(line, ", %lu of a device's limit of %lu",
                                  limit->node_keys, limit->snapshot.keys_limit);
    }
    if (bound != NULL) {
        ucs_string_buffer_appendf(line, ", %s of the node's bound of",
                                  cell_bytes(cell, bound->node_bytes));
        ucs_string_buffer_appendf(line, " %s",
                                  cell_bytes(cell, bound->node_max_bytes));
    }
}

void predreg_stat_json(const predreg_stat_proc_t *proc, uint64_t time_ms,
                       ucs_string_buffer_t *line)
{
    const ucs_rcache_pred_live_state_t *state = &proc->state;
    ucs_json_t *json                          = &(ucs_json_t){line, 0};

    /* Whole numbers are used, because the format of floating-point numbers
     * depends on the locale */
    ucs_json_begin(json, NULL, '{');
    ucs_json_string(json, "type", "stat");
    ucs_json_printf(json, "time", "%lu.%03lu,", time_ms / 1000, time_ms % 1000);
    ucs_rcache_pred_snapshot_to_json(&state->snapshot, line);
    ucs_json_printf(json, "age_seconds", "%lu.%06lu", proc->age / 1000000000ul,
                    (proc->age / 1000) % 1000000);
    if (state->node_max_bytes == UINT64_MAX) {
        ucs_json_string(json, "node_bytes", NULL);
        ucs_json_string(json, "node_max_bytes", NULL);
    } else {
        JSON_UINT(state, node_bytes);
        JSON_UINT(state, node_max_bytes);
    }
    if (state->snapshot.keys_limit == UINT64_MAX) {
        ucs_json_string(json, "node_keys", NULL);
    } else {
        JSON_UINT(state, node_keys);
    }
    JSON_STRING(state, command);
    ucs_json_end(json, '}');
}
