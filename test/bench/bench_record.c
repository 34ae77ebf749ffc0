/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * What recording a trace adds to a use of registered memory: begin + end of the
 * cache with a recorder for its sink beside one without, the look for a call
 * site that is known, the unwinding of one that is not, and what the thread
 * that writes takes for an event. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_pred.h"
#include "bench_util.h"
#include "uring_reg.h"

#include <trace/recorder.h>
#include <tools/trace/trace.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_NUM_REGIONS 16
#define RECORD_SIZE        16384
#define RECORD_BATCH       512    /* Uses that are timed together */
#define RECORD_PAUSE_USEC  150000 /* The writer empties the ring meanwhile */

typedef enum {
    RECORD_OFF,
    RECORD_ON,
    RECORD_LAST
} record_subject_t;

static struct {
    unsigned              rounds;
    unsigned              batches;  /* In a round */
    bench_region_t        regions[RECORD_LAST][RECORD_NUM_REGIONS];
    bench_pred_t          pred[RECORD_LAST];
    ucs_rcache_recorder_t *recorder;
    char                  path[64];
} record = {
    .rounds  = 21,
    .batches = 8
};


/* ns a use */
static double record_batch(record_subject_t subject)
{
    bench_pred_t *pred = &record.pred[subject];
    bench_region_t *region;
    uint64_t start;
    unsigned i;
    void *memh;

    start = bench_now();
    for (i = 0; i < RECORD_BATCH; ++i) {
        region = &record.regions[subject][i % RECORD_NUM_REGIONS];
        BENCH_CHECK(ucs_rcache_pred_begin(pred->domain, region->address,
                                          region->length, 0, &pred->context,
                                          &memh));
        BENCH_CHECK(ucs_rcache_pred_end(pred->domain, memh));
    }
    return (double)(bench_now() - start) / RECORD_BATCH;
}

/* ns a look for a site that is known */
static double record_site_batch(void)
{
    ucs_rcache_pred_context_t context = record.pred[RECORD_ON].context;
    uint64_t start;
    unsigned i;

    start = bench_now();
    for (i = 0; i < RECORD_BATCH; ++i) {
        context.stack = i % RECORD_NUM_REGIONS;
        ucs_rcache_recorder_site(record.recorder, &context);
    }
    return (double)(bench_now() - start) / RECORD_BATCH;
}

/* us to unwind a call site that is not known */
static double record_new_site(void)
{
    static uint64_t stack             = RECORD_NUM_REGIONS;
    ucs_rcache_pred_context_t context = record.pred[RECORD_ON].context;
    uint64_t start;

    context.stack = stack++;
    start         = bench_now();
    ucs_rcache_recorder_site(record.recorder, &context);
    return (bench_now() - start) / BENCH_USEC;
}

/* The subjects take turns, batch by batch, and the value of a round is the
 * median. A batch has no more events than the ring holds, since those that are
 * dropped cost less. */
static void record_round(bench_sample_t *samples, bench_sample_t *sites)
{
    bench_sample_t batches[RECORD_LAST], site_batches;
    unsigned i, subject;

    for (subject = 0; subject < RECORD_LAST; ++subject) {
        bench_sample_init(&batches[subject], record.batches);
    }
    bench_sample_init(&site_batches, record.batches);

    for (i = 0; i < record.batches; ++i) {
        for (subject = 0; subject < RECORD_LAST; ++subject) {
            bench_sample_add(&batches[subject], record_batch(subject));
            bench_pred_drain(&record.pred[subject]);
        }
        bench_sample_add(&site_batches, record_site_batch());
    }

    for (subject = 0; subject < RECORD_LAST; ++subject) {
        bench_sample_add(&samples[subject],
                         bench_sample_median(&batches[subject]));
        bench_sample_cleanup(&batches[subject]);
    }
    bench_sample_add(sites, bench_sample_median(&site_batches));
    bench_sample_cleanup(&site_batches);
}

static void record_use_table(void)
{
    bench_sample_t samples[RECORD_LAST], sites;
    double off, on;
    unsigned i;

    for (i = 0; i < RECORD_LAST; ++i) {
        bench_sample_init(&samples[i], record.rounds);
    }
    bench_sample_init(&sites, record.rounds);
    for (i = 0; i < record.rounds; ++i) {
        record_round(samples, &sites);
        usleep(RECORD_PAUSE_USEC);
    }

    off = bench_sample_median(&samples[RECORD_OFF]);
    on  = bench_sample_median(&samples[RECORD_ON]);
    printf("\nbegin + end on a hit, ns (%u regions; median and minimum of %u "
           "rounds)\n", RECORD_NUM_REGIONS, record.rounds);
    printf("  not recorded        %6.1f %6.1f\n", off,
           bench_sample_min(&samples[RECORD_OFF]));
    printf("  recorded            %6.1f %6.1f\n", on,
           bench_sample_min(&samples[RECORD_ON]));
    printf("  added               %6.1f\n", on - off);
    printf("look for a call site  %6.1f %6.1f\n", bench_sample_median(&sites),
           bench_sample_min(&sites));

    for (i = 0; i < RECORD_LAST; ++i) {
        bench_sample_cleanup(&samples[i]);
    }
    bench_sample_cleanup(&sites);
}

static void record_site_table(void)
{
    bench_sample_t sites;
    unsigned i;

    bench_sample_init(&sites, record.rounds * 10);
    for (i = 0; i < record.rounds * 10; ++i) {
        bench_sample_add(&sites, record_new_site());
    }
    printf("a new call site, us   %6.1f %6.1f\n", bench_sample_median(&sites),
           bench_sample_min(&sites));
    bench_sample_cleanup(&sites);
}

static double record_cpu(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (ts.tv_sec * 1e9) + ts.tv_nsec;
}

/* The writer's time is what the process took and this thread did not */
static double record_writer_cpu(void)
{
    return record_cpu(CLOCK_PROCESS_CPUTIME_ID) -
           record_cpu(CLOCK_THREAD_CPUTIME_ID);
}

static void record_start(ucs_rcache_pred_sink_t *sink)
{
    int fd;

    strcpy(record.path, "/tmp/bench_record.XXXXXX");
    fd = mkstemp(record.path);
    BENCH_ASSERT(fd >= 0, "cannot make a file in /tmp");
    BENCH_CHECK(ucs_rcache_recorder_create(&record.recorder));
    BENCH_CHECK(ucs_rcache_recorder_start(record.recorder, fd, record.path));
    sink->event = ucs_rcache_recorder_event;
    sink->arg   = record.recorder;
}

static void record_finish(double cpu)
{
    ucs_rcache_trace_t *trace;
    struct stat st;

    ucs_rcache_recorder_stop(record.recorder);
    cpu = record_writer_cpu() - cpu;
    ucs_rcache_recorder_finish(record.recorder);
    ucs_rcache_recorder_destroy(record.recorder);

    BENCH_CHECK(ucs_rcache_trace_load(record.path, &trace));
    BENCH_ASSERT(stat(record.path, &st) == 0, "the trace is gone");
    BENCH_ASSERT(trace->num_events > 0, "nothing was recorded");
    BENCH_ASSERT(trace->lost == 0, "not a benchmark of recording: events were "
                 "lost; fewer batches (-b) or a quieter machine may help");
    printf("\nwritten: %zu events of %.1f bytes, %.1f ns of the writing thread "
           "each\n", trace->num_events,
           (double)st.st_size / trace->num_events, cpu / trace->num_events);
    ucs_rcache_trace_free(trace);
    unlink(record.path);
}

static void record_map_regions(void)
{
    const size_t page = sysconf(_SC_PAGESIZE);
    unsigned subject, i;
    bench_region_t *region;
    char *base;

    for (subject = 0; subject < RECORD_LAST; ++subject) {
        /* There is a page between two regions, so that they are not taken for
         * one */
        base = bench_map(RECORD_NUM_REGIONS * (RECORD_SIZE + page));
        for (i = 0; i < RECORD_NUM_REGIONS; ++i) {
            region          = &record.regions[subject][i];
            region->address = base + (i * (RECORD_SIZE + page));
            region->length  = RECORD_SIZE;
        }
    }
}

static void record_run(void)
{
    ucs_rcache_pred_sink_t sink;
    unsigned subject;
    double cpu;

    record_start(&sink);
    for (subject = 0; subject < RECORD_LAST; ++subject) {
        bench_pred_init(&record.pred[subject], record.regions[subject],
                        RECORD_NUM_REGIONS, RECORD_BATCH,
                        (subject == RECORD_ON) ? &sink : NULL);
    }

    cpu = record_writer_cpu();
    bench_pin(0); /* The system chooses where the writer runs */
    record_use_table();
    record_site_table();
    for (subject = 0; subject < RECORD_LAST; ++subject) {
        bench_pred_cleanup(&record.pred[subject]);
    }
    record_finish(cpu);
}

int main(int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "r:b:h")) != -1) {
        switch (c) {
        case 'r':
            record.rounds = bench_parse_count("-r", optarg);
            break;
        case 'b':
            record.batches = bench_parse_count("-b", optarg);
            break;
        default:
            printf("Usage: %s [options]\n\n"
                   "  -r ROUNDS   rounds of which median and minimum are "
                   "printed (%u)\n"
                   "  -b BATCHES  batches of %d uses in a round (%u)\n",
                   argv[0], record.rounds, RECORD_BATCH, record.batches);
            return (c == 'h') ? 0 : 2;
        }
    }

    bench_raise_memlock(RECORD_LAST * RECORD_NUM_REGIONS * RECORD_SIZE);
    if (uring_reg_init(URING_REG_MAX_SLOTS) != UCS_OK) {
        printf("SKIP: no registered buffers of io_uring here\n");
        return BENCH_SKIP;
    }

    bench_print_machine();
    record_map_regions();
    record_run();
    uring_reg_cleanup();
    return 0;
}
