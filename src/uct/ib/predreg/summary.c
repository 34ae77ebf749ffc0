/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <ucs/debug/log_def.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NSEC_PER_SEC 1e9
#define MIB          (1024. * 1024.)


/* Everything a summary says. Negative: not known under this policy */
typedef struct summary {
    ucs_rcache_pred_stats_t stats;
    int                     rank;  /* -1: not a rank */
    int                     known; /* stats are there */
    const char              *helper;
    double                  helper_cpu;
} summary_t;


static const char *mode_names[] = {
    [UCS_RCACHE_PRED_MODE_NONE]     = "off",
    [UCS_RCACHE_PRED_MODE_THREAD]   = "thread",
    [UCS_RCACHE_PRED_MODE_PROGRESS] = "progress"
};


/* What the launchers call the rank: Open MPI, PMIx, PMI (MPICH, Slurm) */
static int process_rank(void)
{
    static const char *names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                  "PMI_RANK", "SLURM_PROCID"};
    const char *value;
    unsigned i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        value = getenv(names[i]);
        if (value != NULL) {
            return atoi(value);
        }
    }

    return -1;
}

void uct_predreg_summary_note_pinned(void)
{
    unsigned long kib = 0;
    char line[128];
    FILE *status;

    if (uct_predreg_core.knobs.summary == UCT_PREDREG_SUMMARY_NONE) {
        return;
    }

    status = fopen("/proc/self/status", "r");
    if (status == NULL) {
        return;
    }

    while (fgets(line, sizeof(line), status) != NULL) {
        if (sscanf(line, "VmPin: %lu kB", &kib) == 1) {
            break;
        }
    }
    fclose(status);

    /* Relaxed: a number */
    if (kib * 1024 > atomic_load_explicit(&uct_predreg_core.kernel_pinned,
                                          memory_order_relaxed)) {
        atomic_store_explicit(&uct_predreg_core.kernel_pinned, kib * 1024,
                              memory_order_relaxed);
    }
}

static void summary_collect(summary_t *summary)
{
    memset(summary, 0, sizeof(*summary));
    summary->rank  = process_rank();
    summary->known = (uct_predreg_core.pred != NULL);
    if (!summary->known) {
        summary->stats.uses = uct_predreg_core.passed_uses;
        return;
    }

    ucs_rcache_pred_get_stats(uct_predreg_core.pred, &summary->stats);
    summary->helper =
            mode_names[ucs_rcache_pred_get_mode(uct_predreg_core.pred)];
    summary->helper_cpu =
            ucs_rcache_pred_thread_cpu_time(uct_predreg_core.thread) /
            NSEC_PER_SEC;
}

static double percent(uint64_t part, uint64_t whole)
{
    return (whole == 0) ? 0 : (100. * part / whole);
}

static int summary_format_text(const summary_t *summary, char *buf, size_t max)
{
    const ucs_rcache_pred_stats_t *stats = &summary->stats;
    char who[32];

    if (summary->rank >= 0) {
        snprintf(who, sizeof(who), "rank %d", summary->rank);
    } else {
        snprintf(who, sizeof(who), "pid %d", (int)getpid());
    }

    if (!summary->known) {
        return snprintf(buf, max,
                        "predreg %s: leave-pinned, uses %lu, pinned by the "
                        "kernel's count at the end %.1f MiB, of it by UCX's "
                        "pools %.1f MiB\n", who, (unsigned long)stats->uses,
                        uct_predreg_core.kernel_pinned / MIB,
                        uct_predreg_core.pool_bytes / MIB);
    }

    return snprintf(
            buf, max,
            "predreg %s: %s, uses %lu, hits %lu (%.1f %%), late %lu, early %lu, "
            "wasted %lu, registered MiB now %.1f peak %.1f average %.1f, "
            "critical-path registrations %lu taking %.3f ms, helper %s, rounds "
            "%lu, CPU %.3f ms\n",
            who, uct_predreg_policy_names[uct_predreg_policy()],
            (unsigned long)stats->uses, (unsigned long)stats->hits,
            percent(stats->hits, stats->uses), (unsigned long)stats->late,
            (unsigned long)stats->early, (unsigned long)stats->wasted,
            stats->bytes_now / MIB, stats->bytes_peak / MIB,
            stats->bytes_avg / MIB, (unsigned long)stats->regs_critical,
            stats->time_critical / 1e6, summary->helper,
            (unsigned long)stats->helper_rounds,
            summary->helper_cpu * 1e3);
}

static int summary_format_json(const summary_t *summary, char *buf, size_t max)
{
    const ucs_rcache_pred_stats_t *stats = &summary->stats;
    int known                            = summary->known;
    size_t used                          = 0;
    unsigned long usec;
    unsigned i;
    char rank[16];

#define ADD(_fmt, ...) \
    used += snprintf(buf + used, max - used, _fmt, ##__VA_ARGS__)
#define ADD_COUNTS(_name, _values, _num) \
    if (known) { \
        ADD("\"%s\":[", _name); \
        for (i = 0; i < (_num); ++i) { \
            ADD("%s%lu", (i == 0) ? "" : ",", (unsigned long)(_values)[i]); \
        } \
        ADD("],"); \
    } else { \
        ADD("\"%s\":null,", _name); \
    }
#define ADD_COUNT(_name, _value) \
    if (known) { \
        ADD("\"%s\":%lu,", _name, (unsigned long)(_value)); \
    } else { \
        ADD("\"%s\":null,", _name); \
    }
/* Not as a floating-point number, whose format depends on the locale */
#define ADD_SECONDS(_name, _value) \
    if (known) { \
        usec = (_value) * 1e6; \
        ADD("\"%s\":%lu.%06lu,", _name, usec / 1000000, usec % 1000000); \
    } else { \
        ADD("\"%s\":null,", _name); \
    }

    snprintf(rank, sizeof(rank), (summary->rank < 0) ? "null" : "%d",
             summary->rank);
    ADD("{\"rank\":%s,\"pid\":%d,\"policy\":\"%s\",\"uses\":%lu,", rank,
        (int)getpid(), uct_predreg_policy_names[uct_predreg_policy()],
        (unsigned long)stats->uses);
    if (known) {
        ADD("\"helper\":\"%s\",", summary->helper);
    } else {
        ADD("\"helper\":null,");
    }
    ADD_COUNT("hits", stats->hits);
    ADD_COUNT("late", stats->late);
    ADD_COUNT("early", stats->early);
    ADD_COUNT("wasted", stats->wasted);
    ADD_COUNT("bytes_now", stats->bytes_now);
    ADD_COUNT("bytes_peak", stats->bytes_peak);
    ADD_COUNT("bytes_avg", stats->bytes_avg);
    ADD("\"pool_bytes\":%lu,", (unsigned long)uct_predreg_core.pool_bytes);
    ADD("\"kernel_pinned_bytes\":%lu,",
        (unsigned long)uct_predreg_core.kernel_pinned);
    ADD_COUNT("regs_critical", stats->regs_critical);
    ADD_COUNT("regs_helper", stats->regs_helper);
    ADD_COUNT("deregs", stats->deregs);
    ADD_COUNT("evictions", stats->evictions);
    ADD_COUNT("reg_failures", stats->reg_failures);
    ADD_COUNT("refused", stats->refused);
    ADD_COUNT("lazy", stats->lazy);
    ADD_COUNT("pieces", stats->pieces);
    ADD_COUNT("regions_peak", stats->regions_peak);
    ADD_COUNT("dq_dropped", stats->dq_dropped);
    ADD_COUNT("unmapped", stats->unmapped);
    ADD_COUNTS("prediction_errors", stats->prediction_errors,
               UCS_RCACHE_PRED_ERROR_CLASSES);
    ADD_COUNT("helper_rounds", stats->helper_rounds);
    ADD_SECONDS("critical_path_seconds", stats->time_critical / NSEC_PER_SEC);
    ADD_SECONDS("helper_cpu_seconds", summary->helper_cpu);
    ADD_SECONDS("duration_seconds", stats->duration / NSEC_PER_SEC);
    --used; /* The last comma */
    ADD("}\n");
    return used;
#undef ADD_SECONDS
#undef ADD_COUNT
#undef ADD_COUNTS
#undef ADD
}

/* One write, so that lines of several processes do not mix */
static void summary_write(const char *text, size_t length)
{
    const char *path = uct_predreg_core.knobs.summary_file;
    int fd           = STDERR_FILENO;

    if ((path != NULL) && (path[0] != '\0')) {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0) {
            ucs_warn("cannot write the summary to %s: %m; it goes to standard "
                     "error", path);
            fd = STDERR_FILENO;
        }
    }

    if (write(fd, text, length) != (ssize_t)length) {
        ucs_warn("the summary could not be written: %m");
    }

    if (fd != STDERR_FILENO) {
        close(fd);
    }
}

void uct_predreg_summary_print(void)
{
    summary_t summary;
    char text[2048];
    int length;

    if ((uct_predreg_core.num_opened == 0) ||
        (uct_predreg_core.knobs.summary == UCT_PREDREG_SUMMARY_NONE)) {
        return;
    }

    summary_collect(&summary);
    length = (uct_predreg_core.knobs.summary == UCT_PREDREG_SUMMARY_JSON) ?
             summary_format_json(&summary, text, sizeof(text)) :
             summary_format_text(&summary, text, sizeof(text));
    summary_write(text, length);
}
