/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <trace/format.h>
#include <ucs/host/own_fd.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NSEC_PER_SEC  1e9
#define NSEC_PER_MSEC 1e6
#define MIB           (1024. * 1024.)


/* The standard error that the program had at its start. Written by the initialising thread,
 * read at exit */
static ucs_rcache_pred_own_fd_t first_stderr = {.fd = -1};


static double percent(uint64_t part, uint64_t whole)
{
    return (whole == 0) ? 0 : (100. * part / whole);
}

static void format_who(const ucs_rcache_pred_snapshot_t *snapshot,
                       ucs_string_buffer_t *strb)
{
    int has_rank = (snapshot->rank >= 0);

    ucs_string_buffer_appendf(strb, "predreg %s %d: ", has_rank ? "rank" : "pid",
                              has_rank ? snapshot->rank : snapshot->pid);
}

/* Append the budget of the policy predict, and its cost so far. Nothing is appended for
 * other policies, which have no budget */
static void format_budget(const ucs_rcache_pred_snapshot_t *snapshot,
                          ucs_string_buffer_t *strb)
{
    const ucs_rcache_pred_stats_t *stats = &snapshot->stats;

    if (snapshot->policy != UCS_RCACHE_PRED_POLICY_PREDICT) {
        return;
    }

    if (isinf(snapshot->budget)) {
        ucs_string_buffer_appendf(strb, ", no budget");
    } else {
        ucs_string_buffer_appendf(strb, ", budget %g %%", snapshot->budget);
    }
    ucs_string_buffer_appendf(strb, ", spent %.3f s (%.2f %%)",
                              stats->budget_spent / NSEC_PER_SEC,
                              percent(stats->budget_spent, stats->budget_time));
    if (stats->room_lost > 0) {
        ucs_string_buffer_appendf(strb, ", lost for room %.3f s",
                                  stats->room_lost / NSEC_PER_SEC);
    }
    if (snapshot->pressure > 0) {
        ucs_string_buffer_appendf(strb, ", waits for memory %.3f s",
                                  snapshot->pressure / NSEC_PER_SEC);
    }
}

/* Append the memory of UCX's own pools, if there were any */
static void format_pools(const ucs_rcache_pred_snapshot_t *snapshot,
                         ucs_string_buffer_t *strb)
{
    if (snapshot->pool_bytes > 0) {
        ucs_string_buffer_appendf(strb, ", UCX's pools %.1f MiB",
                                  snapshot->pool_bytes / MIB);
        ucs_rcache_pred_pools_text(snapshot->pool_kinds, strb);
    }
}

/* Append the limit of keys, if one was learned */
static void format_keys_limit(const ucs_rcache_pred_snapshot_t *snapshot,
                              ucs_string_buffer_t *strb)
{
    if (snapshot->keys_limit != UINT64_MAX) {
        ucs_string_buffer_appendf(strb, ", keys that the job may have %lu",
                                  snapshot->keys_limit);
    }
}

/* Append the arena's counters, if there was an arena */
static void format_arena(const ucs_rcache_pred_snapshot_t *snapshot,
                         ucs_string_buffer_t *strb)
{
    const ucs_rcache_pred_subsystem_stats_t *arena =
            &snapshot->stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_ARENA];

    if (snapshot->arena_committed > 0) {
        ucs_string_buffer_appendf(strb,
                                  ", arena MiB now %.1f peak %.1f, uses "
                                  "answered %lu, mappings without room %lu",
                                  arena->bytes_now / MIB,
                                  arena->bytes_peak / MIB,
                                  snapshot->arena_answered,
                                  snapshot->arena_refused);
    }
}

/* Append Firehose's counters, if there was a Firehose */
static void format_firehose(const ucs_rcache_pred_snapshot_t *snapshot,
                            ucs_string_buffer_t *strb)
{
    const ucs_rcache_pred_subsystem_stats_t *firehose =
            &snapshot->stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE];

    if ((snapshot->firehose_requests > 0) || (firehose->bytes_peak > 0)) {
        ucs_string_buffer_appendf(strb,
                                  ", firehose MiB now %.1f peak %.1f, requests "
                                  "%lu, hits %lu (%.1f %%)",
                                  firehose->bytes_now / MIB,
                                  firehose->bytes_peak / MIB,
                                  snapshot->firehose_requests,
                                  snapshot->firehose_hits,
                                  percent(snapshot->firehose_hits,
                                          snapshot->firehose_requests));
    }
}

static void format_text(const ucs_rcache_pred_snapshot_t *snapshot,
                        const char *settings, ucs_string_buffer_t *strb)
{
    const ucs_rcache_pred_stats_t *stats = &snapshot->stats;

    format_who(snapshot, strb);
    if (snapshot->policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        ucs_string_buffer_appendf(
                strb,
                "leave-pinned, uses %lu, pinned by the kernel's count at the "
                "end %.1f MiB, of it by UCX's pools %.1f MiB", stats->uses,
                snapshot->kernel_pinned / MIB, snapshot->pool_bytes / MIB);
        ucs_rcache_pred_pools_text(snapshot->pool_kinds, strb);
        ucs_string_buffer_appendf(strb, "\n");
        return;
    }

    ucs_string_buffer_appendf(
            strb,
            "%s, uses %lu, hits %lu (%.1f %%), late %lu, early %lu, wasted "
            "%lu, refused %lu, registered MiB now %.1f peak %.1f average %.1f, "
            "keys now %lu peak %lu, critical-path registrations %lu, critical path "
            "%.3f ms, helper %s, rounds %lu, CPU %.3f ms",
            ucs_rcache_pred_policy_names[snapshot->policy], stats->uses,
            stats->hits, percent(stats->hits, stats->uses), stats->late,
            stats->early, stats->wasted, stats->refused,
            stats->bytes_now / MIB, stats->bytes_peak / MIB,
            stats->bytes_avg / MIB, snapshot->keys_now, snapshot->keys_peak,
            stats->regs_critical,
            stats->time_critical / NSEC_PER_MSEC,
            ucs_rcache_pred_mode_names[snapshot->mode], stats->helper_rounds,
            snapshot->helper_cpu / NSEC_PER_MSEC);
    format_pools(snapshot, strb);
    format_budget(snapshot, strb);
    format_keys_limit(snapshot, strb);
    format_arena(snapshot, strb);
    format_firehose(snapshot, strb);
    if (snapshot->eager_sends > 0) {
        ucs_string_buffer_appendf(strb, ", small sends %lu, without a copy %lu",
                                  snapshot->eager_sends, snapshot->eager_hot);
    }
    if (settings[0] != '\0') {
        ucs_string_buffer_appendf(strb, ", of UCX's cache %s", settings);
    }
    ucs_string_buffer_appendf(strb, "\n");
}

static void format_json(const ucs_rcache_pred_snapshot_t *snapshot,
                        const char *ucx, const char *settings,
                        ucs_string_buffer_t *strb)
{
    ucs_string_buffer_appendf(strb, "{\"type\":\"summary\",");
    ucs_rcache_pred_snapshot_to_json(snapshot, strb);
    ucs_string_buffer_appendf(strb,
                              ",\"ucx_settings\":\"%s\",\"ucx_version\":"
                              "\"%s\"}\n", settings, ucx);
}

/* Whether a file is a recording, which a summary at its end would damage */
static int is_trace(const char *path)
{
    char head[TRACE_MAGIC_SIZE] = {};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0) {
        (void)!read(fd, head, sizeof(head));
        close(fd);
    }
    return memcmp(head, TRACE_MAGIC, sizeof(head)) == 0;
}

/*
 * Open the file of the summary. If its folder is one that everybody may write to, such as
 * /tmp, another user may have put something else in the place of the file: a symbolic
 * link to a file of this user, or a pipe, at which the exit of the program would wait for
 * a reader.
 *
 * @param [out] reason_p  Why the file cannot be opened, or is not to be written to.
 */
static int summary_open(const char *path, const char **reason_p)
{
    struct stat st;
    int fd;

    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
              O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0) {
        *reason_p = (errno == ELOOP) ? "it is a symbolic link" :
                                       strerror(errno);
        return -1;
    }

    *reason_p = ((fstat(fd, &st) != 0) ||
                 (!S_ISCHR(st.st_mode) && (st.st_uid != geteuid()))) ?
                                                       "it belongs to another user" :
                (S_ISREG(st.st_mode) && is_trace(path)) ? "it is a trace" : NULL;
    if (*reason_p != NULL) {
        close(fd);
        return -1;
    }

    return fd;
}

void uct_predreg_summary_keep_stderr(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    (void)ucs_rcache_pred_own_fd_close(&first_stderr);
    if (fd >= 0) {
        (void)ucs_rcache_pred_own_fd_init(&first_stderr,
                                          ucs_rcache_pred_own_fd_move(fd));
    }
}

/* @return a descriptor of the standard error that the program had at its start; -1: the
 * program has closed all of its descriptors. */
static int find_stderr(void)
{
    ucs_rcache_pred_own_fd_t programs = first_stderr;

    if (ucs_rcache_pred_own_fd_is_ours(&first_stderr)) {
        return first_stderr.fd;
    }

    programs.fd = STDERR_FILENO;
    return ucs_rcache_pred_own_fd_is_ours(&programs) ? STDERR_FILENO : -1;
}

/* Write the text with a single call of write(), so that the lines of several processes do
 * not mix, and free the text */
static void summary_write(const char *path, ucs_string_buffer_t *text)
{
    size_t length = ucs_string_buffer_length(text);
    int file      = -1;
    const char *reason;
    int fd;

    if ((path != NULL) && (path[0] != '\0')) {
        file = summary_open(path, &reason);
        if (file < 0) {
            ucs_warn("UCX_RCACHE_PRED_SUMMARY_FILE=%s cannot be written to: %s; "
                     "the summary goes to standard error", path, reason);
        }
    }

    fd = (file >= 0) ? file : find_stderr();
    if ((fd >= 0) &&
        (ucs_rcache_pred_own_fd_write(fd, ucs_string_buffer_cstr(text), length,
                                      SIGPIPE) != (ssize_t)length)) {
        ucs_warn("the summary could not be written: %m");
    }

    if (file >= 0) {
        close(file);
    }
    ucs_string_buffer_cleanup(text);
}

void uct_predreg_summary_print(const ucs_rcache_pred_snapshot_t *snapshot,
                               const char *ucx, const char *settings,
                               const char *nothing,
                               uct_predreg_summary_format_t format,
                               const char *path)
{
    ucs_string_buffer_t strb = UCS_STRING_BUFFER_INITIALIZER;

    if (format == UCT_PREDREG_SUMMARY_JSON) {
        format_json(snapshot, ucx, settings, &strb);
    } else if (nothing != NULL) {
        format_who(snapshot, &strb);
        ucs_string_buffer_appendf(&strb, "nothing to manage: %s\n", nothing);
    } else {
        format_text(snapshot, settings, &strb);
    }
    summary_write(path, &strb);
}
