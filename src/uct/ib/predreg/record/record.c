/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h" /* PACKAGE_VERSION */
#endif

#include "record.h"

#include <ucs/base/clock.h>
#include <ucs/host/own_fd.h>
#include <ucs/node/cpus.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>


/* The most trace files with names that differ only by a number at the end. A process that
 * becomes another program (exec), or gets the process number of an earlier process, finds
 * a file of its name in the folder and needs another name. */
#define MAX_FILES    1000


/* What core.observer points to, once all fields are set. The argument of its functions is
 * the recorder */
static uct_predreg_observer_t observer;

/* Whether the making of the trace file was tried, with or without success. Under
 * core.lock; at the exit of the process the flag is read without the lock */
static int is_begun;

/* The processors to which threads of this process could be bound, and how long each
 * processor had been idle when the trace was begun. Written with is_begun */
static struct {
    cpu_set_t usable;
    uint64_t  time; /* ns */
    uint64_t  idle[CPU_SETSIZE];
} processors;

/* The shortest use so far, bytes. Relaxed: the number only decreases, and nothing else
 * depends on it. */
static _Atomic(uint64_t) shortest;


/* Remember the length of a use, if the use is the shortest so far */
static void note_length(uint64_t length)
{
    uint64_t value = ucs_relaxed_load(&shortest);

    while ((length < value) &&
           !atomic_compare_exchange_weak_explicit(&shortest, &value, length,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed));
}

static void on_event(void *recorder, const ucs_rcache_pred_event_t *event)
{
    if (event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) {
        note_length(event->length);
    }
    ucs_rcache_recorder_event(recorder, event);
}

static void on_site(void *recorder, const ucs_rcache_pred_context_t *context)
{
    ucs_rcache_recorder_site(recorder, context);
}

void uct_predreg_record_observe(uct_predreg_core_t *core)
{
    ucs_rcache_recorder_t *recorder;
    ucs_status_t status;

    if (!uct_predreg_is_traced(&core->knobs) || (core->observer != NULL)) {
        return;
    }

    status = ucs_rcache_recorder_create(&recorder);
    if (status != UCS_OK) {
        ucs_warn("no trace is recorded: %s", ucs_status_string(status));
        return;
    }

    observer = (uct_predreg_observer_t){
        .super   = {on_event, recorder},
        .site    = on_site,
        .mem_reg = uct_predreg_record_mem_reg
    };
    is_begun = 0;
    ucs_relaxed_store(&shortest, UINT64_MAX);
    core->observer = &observer;
}

static void host_name(char *name, size_t max)
{
    if (gethostname(name, max) != 0) {
        snprintf(name, max, "unknown");
    }
    name[max - 1] = '\0';
}

/*
 * Make the trace file. Each process has a file of its own, whose name tells the
 * rank, the host and the number of the process.
 * @return the descriptor of the file; -1 on an error, which is in errno.
 */
static int open_file(const uct_predreg_core_t *core, char *path, size_t max)
{
    const char *folder = core->knobs.trace;
    char host[HOST_NAME_MAX + 1];
    char who[32], suffix[16] = "";
    int fd = -1;
    unsigned i;

    host_name(host, sizeof(host));
    if (core->rank >= 0) {
        snprintf(who, sizeof(who), "rank-%04d", core->rank);
    } else {
        snprintf(who, sizeof(who), "proc");
    }

    /* Make the folder: if this node has a file system of its own, the folder that the
     * user has made may be missing here */
    snprintf(path, max, "%s", folder);
    if ((mkdir(folder, 0777) != 0) && (errno != EEXIST)) {
        return -1;
    }

    for (i = 1; (i < MAX_FILES) && (fd < 0); ++i) {
        snprintf(path, max, "%s/%s.%s.%d%s.trace", folder, who, host,
                 (int)getpid(), suffix);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if ((fd < 0) && (errno != EEXIST)) {
            return -1;
        }
        snprintf(suffix, sizeof(suffix), "-%u", i + 1);
    }

    return (fd < 0) ? fd : ucs_rcache_pred_own_fd_move(fd);
}

static void put_number(ucs_rcache_recorder_t *recorder, const char *key,
                       uint64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lu", (unsigned long)value);
    ucs_rcache_recorder_meta(recorder, key, text);
}

static void put_knob(void *arg, const char *name, const char *value)
{
    char key[64];

    snprintf(key, sizeof(key), "knob.%s", name);
    ucs_rcache_recorder_meta(arg, key, value);
}

/* Write the command line of the process into the trace, with spaces between the words */
static void put_command(ucs_rcache_recorder_t *recorder)
{
    char command[4096];
    ssize_t length, i;
    int fd;

    fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }

    length = read(fd, command, sizeof(command) - 1);
    close(fd);
    if (length <= 0) {
        return;
    }

    for (i = 0; i < length - 1; ++i) {
        if (command[i] == '\0') {
            command[i] = ' ';
        }
    }
    command[length] = '\0'; /* Needed only if the command line was cut off: else the last
                             * byte is zero */
    ucs_rcache_recorder_meta(recorder, "command", command);
}

/* Write one instant by two clocks, the trace's and the time of day, for putting traces of
 * several processes side by side. The two clocks are read one after the other, several
 * times: the quickest pair of readings counts, since an interruption in between is least
 * likely there. */
static void put_clocks(uct_predreg_core_t *core, const char *clock_key,
                       const char *realtime_key)
{
    ucs_rcache_recorder_t *recorder = uct_predreg_recorder(core);
    uint64_t best = UINT64_MAX, clock = 0, realtime = 0, before, after;
    uint64_t now;
    unsigned i;

    for (i = 0; i < 8; ++i) {
        before = ucs_rcache_pred_thread_now(NULL);
        now    = ucs_clock_ns(CLOCK_REALTIME);
        after  = ucs_rcache_pred_thread_now(NULL);
        if (after - before < best) {
            best     = after - before;
            clock    = before + best / 2;
            realtime = now;
        }
    }

    put_number(recorder, clock_key, clock);
    put_number(recorder, realtime_key, realtime);
}

/* Write what the process has of its node, and begin to watch the processors */
static void put_machine(ucs_rcache_recorder_t *recorder)
{
    struct utsname kernel;
    cpu_set_t bound;

    ucs_rcache_pred_cpus_usable(&processors.usable);
    processors.time = ucs_monotonic_ns();
    (void)ucs_rcache_pred_idle_read("", processors.idle);
    if (sched_getaffinity(getpid(), sizeof(bound), &bound) == 0) {
        put_number(recorder, "cpus", CPU_COUNT(&bound));
    }
    put_number(recorder, "node_cpus", CPU_COUNT(&processors.usable));
    put_number(recorder, "node_ranks", uct_predreg_job_local_size());
    if (uname(&kernel) == 0) {
        ucs_rcache_recorder_meta(recorder, "kernel", kernel.release);
    }
}

/* Write how many processors were idle while the process was recorded, and who has done the
 * helper's work at its end */
static void put_idle(uct_predreg_core_t *core, ucs_rcache_pred_mode_t mode)
{
    static uint64_t after[CPU_SETSIZE], helpers[CPU_SETSIZE]; /* Not on a small stack */
    cpu_set_t idle;

    (void)ucs_rcache_pred_idle_read("", after);
    ucs_rcache_pred_idle_find(processors.idle, after,
                              ucs_monotonic_ns() - processors.time, helpers, &idle);
    CPU_AND(&idle, &idle, &processors.usable);
    put_number(uct_predreg_recorder(core), "idle_cpus", CPU_COUNT(&idle));
    ucs_rcache_recorder_meta(uct_predreg_recorder(core), "helper",
                             ucs_rcache_pred_mode_names[mode]);
}

static void put_all_meta(uct_predreg_core_t *core)
{
    ucs_rcache_recorder_t *recorder = uct_predreg_recorder(core);
    const char *size                = uct_predreg_job_size();
    char ucx[UCT_PREDREG_UCX_VERSION_MAX];
    char host[HOST_NAME_MAX + 1];

    host_name(host, sizeof(host));
    if (core->rank >= 0) {
        put_number(recorder, "rank", core->rank);
    }
    if (size != NULL) {
        ucs_rcache_recorder_meta(recorder, "size", size);
    }
    put_number(recorder, "pid", getpid());
    ucs_rcache_recorder_meta(recorder, "host", host);
    put_command(recorder);
    ucs_rcache_recorder_meta(
            recorder, "policy",
            ucs_rcache_pred_policy_names[uct_predreg_policy(core)]);
    ucs_rcache_recorder_meta(recorder, "version", PACKAGE_VERSION);
    uct_predreg_ucx_version(core, ucx, sizeof(ucx));
    ucs_rcache_recorder_meta(recorder, "ucx_version", ucx);
    put_clocks(core, "clock_ns", "realtime_ns");
    put_number(recorder, "page_size", sysconf(_SC_PAGESIZE));
    put_machine(recorder);
    uct_predreg_knobs_for_each(&core->knobs, put_knob, recorder);
}

static void open_trace(uct_predreg_core_t *core)
{
    char path[PATH_MAX];
    int fd;

    fd = open_file(core, path, sizeof(path));
    if (fd < 0) {
        ucs_warn("UCX_RCACHE_PRED_TRACE=%s: cannot create %s: %m; expected is "
                 "a folder that can be written to; no trace is recorded",
                 core->knobs.trace, path);
        return;
    }

    if (ucs_rcache_recorder_start(uct_predreg_recorder(core), fd, path) != UCS_OK) {
        ucs_warn("no trace is recorded in %s", path);
        unlink(path);
        close(fd);
        return;
    }

    put_all_meta(core);
    /* Write the records about the process to the file at once: even a process that is
     * killed soon leaves a readable trace with its rank */
    ucs_rcache_recorder_flush(uct_predreg_recorder(core));
}

void uct_predreg_record_begin(uct_predreg_core_t *core)
{
    if ((core->observer != NULL) && !is_begun) {
        is_begun = 1;
        open_trace(core);
    }
}

void uct_predreg_record_domain(uct_predreg_core_t *core, uct_predreg_domain_t *domain,
                               const char *component)
{
    uct_predreg_record_begin(core);
    if (core->observer != NULL) {
        ucs_rcache_recorder_meta(uct_predreg_recorder(core), "component", component);
        ucs_rcache_recorder_domain(uct_predreg_recorder(core), domain->number,
                                   domain->name);
    }
}

static void put_counter(void *arg, const char *name, uint64_t value)
{
    ucs_rcache_recorder_counter(arg, name, value);
}

void uct_predreg_record_finish(uct_predreg_core_t *core)
{
    ucs_rcache_recorder_t *recorder = uct_predreg_recorder(core);
    ucs_rcache_pred_snapshot_t snapshot;

    if (recorder == NULL) {
        return;
    }

    ucs_rcache_recorder_stop(recorder);
    put_clocks(core, "clock_end_ns", "realtime_end_ns");
    uct_predreg_snapshot(core, &snapshot);
    put_idle(core, snapshot.mode);
    ucs_rcache_pred_counters_for_each(&snapshot, put_counter, recorder);
    ucs_rcache_recorder_finish(recorder);
    /* The recorder is not destroyed, since other threads may still communicate
     * and use it */
}

void uct_predreg_record_reset(uct_predreg_core_t *core)
{
    if (core->observer != NULL) {
        ucs_rcache_recorder_abandon(uct_predreg_recorder(core));
        core->observer = NULL;
    }
}

int uct_predreg_record_is_begun(const uct_predreg_core_t *core)
{
    return (core->observer != NULL) && is_begun;
}

uint64_t uct_predreg_record_shortest(void)
{
    return ucs_relaxed_load(&shortest);
}
