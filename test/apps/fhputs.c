/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Bandwidth of random puts or gets to one peer, in parts of its memory that
 * may be more than what it may have pinned: by Firehose, with all of it pinned
 * beforehand, and by asking the peer each time (Figure 3 of Bell and
 * Nishtala). All pages are checked.
 */

#include "fhputs.h"

#include <sched.h>

/* So often in a row nothing happens before others may have the processor */
#define MAX_IDLE 64

static puts_t puts_app = {
    .job    = {
        .name = "fhputs", .procs = 2, .libraries = 1, .heap = 8 << 20,
        .share = 8 << 20, .max_victim = 2 << 20
    },
    .ops    = 2000,
    .window = 4,
    .size   = 64 << 10
};

/* What the schemes but rendezvous need */
static fhjob_worker_t firehose_worker;
static fhplain_t plain;


static void usage(void)
{
    printf("usage: fhputs [options]\n"
           "  --scheme NAME    firehose, pinned or rendezvous (firehose)\n"
           "  --keep           a rendezvous unpins only what share and\n"
           "                   maxvictim have no room for, the oldest first\n"
           "  --gets           gets, not puts\n"
           "  --set BYTES      of the peer that are accessed (8m)\n"
           "  --size BYTES     of an operation, whole pages (64k)\n"
           "  --align BYTES    of offsets, whole pages (as size)\n"
           "  --ops N          (2000)\n"
           "  --warm N         operations before the clock starts, besides\n"
           "                   one at each multiple of size (0)\n"
           "  --window N       operations under way, 1 to %d (4)\n" FHJOB_HELP,
           PUTS_MAX_WINDOW);
}

/* Firehose. The library of the peer does its part by itself */

static void firehose_open(puts_t *puts)
{
    if (puts->job.rank == 0) {
        fhjob_worker_open(&puts->job, 0, &firehose_worker);
    }
}

static void firehose_serve(puts_t *puts)
{
}

static void firehose_begin(puts_t *puts, puts_slot_t *slot)
{
    ucp_request_param_t param = fhjob_param(puts->memh);
    uint64_t remote           = puts->job.shared->bases[1] + slot->offset;
    ucp_fh_worker_h worker    = firehose_worker.fh_worker;

    slot->request = puts->gets ?
        ucp_fh_get_nbx(worker, 1, slot->buffer, puts->size, remote, &param) :
        ucp_fh_put_nbx(worker, 1, slot->buffer, puts->size, remote, &param);
}

static int firehose_has_ended(puts_t *puts, puts_slot_t *slot)
{
    ucs_status_t status = UCS_PTR_STATUS(slot->request);

    if (UCS_PTR_IS_PTR(slot->request)) {
        status = ucp_fh_request_check_status(slot->request);
        if (status == UCS_INPROGRESS) {
            return 0;
        }
        ucp_fh_request_free(slot->request);
    }

    fhjob_check(&puts->job, status, "put or get");
    return 1;
}

static unsigned firehose_progress(puts_t *puts)
{
    return ucp_fh_worker_progress(firehose_worker.fh_worker);
}

static void firehose_flush(puts_t *puts)
{
    fhjob_flush(&puts->job, &firehose_worker);
}

static void firehose_end(puts_t *puts)
{
}

static void firehose_close(puts_t *puts)
{
    if (puts->job.rank == 0) {
        fhjob_worker_close(&firehose_worker);
    }
}

static const puts_scheme_t puts_firehose = {
    .name      = "firehose",
    .libraries = 1,
    .open      = firehose_open,
    .serve     = firehose_serve,
    .begin     = firehose_begin,
    .has_ended = firehose_has_ended,
    .progress  = firehose_progress,
    .flush     = firehose_flush,
    .end       = firehose_end,
    .close     = firehose_close
};

/* All of the peer's memory is pinned, and its key known */

static void pinned_open(puts_t *puts)
{
    fhplain_open(&plain, &puts->job, 1 - puts->job.rank);
    if (puts->job.rank == 1) {
        fhplain_pin(&plain);
    }
    fhjob_barrier(&puts->job);
    if (puts->job.rank == 0) {
        fhplain_unpack(&plain, 1);
    }
}

static void pinned_serve(puts_t *puts)
{
    fhplain_serve(&plain, NULL, NULL);
}

static void pinned_begin(puts_t *puts, puts_slot_t *slot)
{
    ucp_request_param_t param = fhjob_param(puts->memh);
    uint64_t remote           = puts->job.shared->bases[1] + slot->offset;

    slot->request = puts->gets ?
        ucp_get_nbx(plain.ep, slot->buffer, puts->size, remote, plain.rkey,
                    &param) :
        ucp_put_nbx(plain.ep, slot->buffer, puts->size, remote, plain.rkey,
                    &param);
}

static int pinned_has_ended(puts_t *puts, puts_slot_t *slot)
{
    return fhplain_has_ended(&plain, slot->request);
}

static unsigned pinned_progress(puts_t *puts)
{
    return ucp_worker_progress(plain.worker);
}

static void pinned_flush(puts_t *puts)
{
    fhplain_flush(&plain);
}

static void pinned_end(puts_t *puts)
{
    fhplain_end_service(&plain);
}

static void pinned_close(puts_t *puts)
{
    fhplain_close(&plain);
}

static const puts_scheme_t puts_pinned = {
    .name      = "pinned",
    .open      = pinned_open,
    .serve     = pinned_serve,
    .begin     = pinned_begin,
    .has_ended = pinned_has_ended,
    .progress  = pinned_progress,
    .flush     = pinned_flush,
    .end       = pinned_end,
    .close     = pinned_close
};

static const puts_scheme_t *const schemes[] = {
    &puts_firehose, &puts_pinned, &puts_rendezvous
};


static void set_scheme(const char *value)
{
    int i;

    for (i = 0; i < 3; ++i) {
        if (!strcmp(value, schemes[i]->name)) {
            puts_app.scheme = schemes[i];
            return;
        }
    }

    app_fatal("--scheme: '%s'; accepted: firehose, pinned and rendezvous",
              value);
}

/* The operation that wrote a page last, from 1 on; 0: none has */
static uint64_t *last_of(puts_t *puts, size_t offset)
{
    return &puts->job.shared->extra[offset / FHJOB_PAGE];
}

/* After a put or get */
static void finish(puts_t *puts, puts_slot_t *slot, uint64_t op)
{
    size_t at, errors = 0;
    int idle          = 0;
    int is_right;

    if (!slot->is_busy) {
        return;
    }

    while (!puts->scheme->has_ended(puts, slot)) {
        if (puts->scheme->progress(puts) > 0) {
            idle = 0;
        } else if (++idle > MAX_IDLE) {
            sched_yield();
        }
    }
    slot->is_busy = 0;

    /* Of what was read all stamps are looked at, and now and then all of it */
    for (at = 0; puts->gets && (at < puts->size); at += FHJOB_PAGE) {
        is_right = (op % 64 == 0) ?
            fhjob_check_page(slot->buffer + at,
                             (slot->offset + at) / FHJOB_PAGE, 1) :
            fhjob_has_stamp(slot->buffer + at,
                            (slot->offset + at) / FHJOB_PAGE, 1);
        errors  += !is_right;
    }
    fhjob_errors(&puts->job, "pages that were read", errors);
}

/* Where an operation may go: puts of the same page would have no order */
static int is_free(const puts_t *puts, size_t offset)
{
    int i;

    for (i = 0; i < puts->window; ++i) {
        if (puts->slots[i].is_busy &&
            (puts->slots[i].offset < offset + puts->size) &&
            (offset < puts->slots[i].offset + puts->size)) {
            return 0;
        }
    }

    return 1;
}

static void begin(puts_t *puts, puts_slot_t *slot, uint64_t op)
{
    size_t at;

    for (at = 0; at < puts->size; at += FHJOB_PAGE) {
        if (!puts->gets) {
            fhjob_stamp_page(slot->buffer + at,
                             (slot->offset + at) / FHJOB_PAGE, op);
            *last_of(puts, slot->offset + at) = op;
        } else {
            fhjob_stamp_page(slot->buffer + at, 0, 0);
        }
    }
    slot->is_busy = 1;
    puts->scheme->begin(puts, slot);
}

static void finish_all(puts_t *puts)
{
    int i;

    for (i = 0; i < puts->window; ++i) {
        finish(puts, &puts->slots[i], 0);
    }
    puts->scheme->flush(puts);
}

/* Each place once, so that a scheme which learns has learnt.
 * @return the last operation's number */
static uint64_t warm_up(puts_t *puts)
{
    uint64_t op = 0;
    puts_slot_t *slot;
    size_t offset;

    for (offset = 0; offset + puts->size <= puts->job.heap;
         offset += puts->size) {
        slot = &puts->slots[op % puts->window];
        finish(puts, slot, op);
        slot->offset = offset;
        begin(puts, slot, ++op);
    }
    finish_all(puts);
    return op;
}

/* Operations at random places. @return the last one's number */
static uint64_t run_random(puts_t *puts, uint64_t op, int num, uint64_t *random)
{
    uint64_t places = ((puts->job.heap - puts->size) / puts->align) + 1;
    uint64_t end    = op + num;
    puts_slot_t *slot;

    while (op < end) {
        slot = &puts->slots[op % puts->window];
        finish(puts, slot, op);
        do {
            slot->offset = puts->align * app_random_below(random, places);
        } while (!is_free(puts, slot->offset));
        begin(puts, slot, ++op);
    }
    finish_all(puts);
    return op;
}

static void make_slots(puts_t *puts)
{
    size_t bytes = puts->size * puts->window;
    uint8_t *buffers;
    size_t at;
    int i;

    if (posix_memalign((void**)&buffers, FHJOB_PAGE, bytes) != 0) {
        app_fatal("fhputs: no memory");
    }

    for (at = 0; at < bytes; at += FHJOB_PAGE) {
        fhjob_fill_page(buffers + at);
    }
    puts->memh = fhjob_map(&puts->job, buffers, bytes);
    for (i = 0; i < puts->window; ++i) {
        puts->slots[i].buffer = buffers + (puts->size * i);
    }
}

static void fill_memory(puts_t *puts)
{
    size_t at;

    for (at = 0; at < puts->job.heap; at += FHJOB_PAGE) {
        fhjob_fill_page(puts->job.memory + at);
        fhjob_stamp_page(puts->job.memory + at, at / FHJOB_PAGE, 1);
    }
}

/* The peer looks at its memory */
static void check_memory(puts_t *puts)
{
    size_t at, errors = 0;

    for (at = 0; at < puts->job.heap; at += FHJOB_PAGE) {
        errors += !fhjob_check_page(puts->job.memory + at, at / FHJOB_PAGE,
                                    *last_of(puts, at));
    }
    fhjob_errors(&puts->job, "pages that were written", errors);
}

/* @return processor time of all threads of this process, seconds */
static double get_cpu_time(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec + (ts.tv_nsec * 1e-9);
}

static void run_source(puts_t *puts, double *seconds_p, double *cpu_p)
{
    uint64_t random = 1;
    uint64_t op;

    make_slots(puts);
    op         = warm_up(puts);
    op         = run_random(puts, op, puts->warm, &random);
    *seconds_p = app_time();
    *cpu_p     = get_cpu_time();
    run_random(puts, op, puts->ops, &random);
    *seconds_p = app_time() - *seconds_p;
    *cpu_p     = get_cpu_time() - *cpu_p;
    puts->scheme->end(puts);
}

static void run(fhjob_t *job)
{
    puts_t *puts   = &puts_app;
    double seconds = 1;
    double cpu     = 0;

    if (puts->gets && (job->rank == 1)) {
        fill_memory(puts);
    }

    puts->scheme->open(puts);
    fhjob_barrier(&puts->job);
    if (job->rank == 0) {
        run_source(puts, &seconds, &cpu);
    } else {
        puts->scheme->serve(puts);
    }
    fhjob_barrier(&puts->job);
    if (!puts->gets && (job->rank == 1)) {
        check_memory(puts);
    }
    fhjob_count(&puts->job);
    fhjob_print(&puts->job,
                "\"scheme\":\"%s%s\",\"gets\":%d,\"size\":%zu,\"align\":%zu,"
                "\"ops\":%d,\"window\":%d,\"seconds\":%.6f,\"mbps\":%.1f,"
                "\"cpu_us\":%.3f",
                puts->scheme->name, puts->keep ? "-keep" : "", puts->gets,
                puts->size, puts->align, puts->ops, puts->window, seconds,
                puts->ops * (double)puts->size / seconds / 1e6,
                cpu / puts->ops * 1e6);
    puts->scheme->close(puts);
    if (puts->memh != NULL) {
        fhjob_check(job, ucp_mem_unmap(job->context, puts->memh), "unmap");
    }
}

static void check_options(puts_t *puts)
{
    if ((puts->window < 1) || (puts->window > PUTS_MAX_WINDOW)) {
        app_fatal("--window: %d: accepted are 1 to %d", puts->window,
                  PUTS_MAX_WINDOW);
    }

    if ((puts->size == 0) || (puts->size % FHJOB_PAGE != 0) ||
        (puts->align == 0) || (puts->align % FHJOB_PAGE != 0)) {
        app_fatal("--size, --align: accepted are multiples of %d", FHJOB_PAGE);
    }

    if (puts->job.heap < 2 * puts->window * puts->size) {
        app_fatal("--set: %zu: accepted is room for twice the window, %zu and "
                  "more", puts->job.heap, 2 * puts->window * puts->size);
    }
}

int main(int argc, char **argv)
{
    puts_t *puts                 = &puts_app;
    const app_option_t options[] = {
        {"scheme", .function = set_scheme},
        {"keep", .flag = &puts->keep},
        {"gets", .flag = &puts->gets},
        {"set", .size = &puts->job.heap},
        {"size", .size = &puts->size},
        {"align", .size = &puts->align},
        {"ops", .count = &puts->ops},
        {"warm", .count = &puts->warm},
        {"window", .count = &puts->window},
        FHJOB_OPTIONS(&puts->job),
        {NULL}
    };

    puts->scheme = &puts_firehose;
    app_parse(argc, argv, "fhputs", options, usage);
    if (puts->align == 0) {
        puts->align = puts->size;
    }
    check_options(puts);
    puts->job.procs     = 2;
    puts->job.libraries = puts->scheme->libraries;
    puts->job.run       = run;
    puts->job.extra     = puts->job.heap / FHJOB_PAGE * sizeof(uint64_t);
    return fhjob_run(&puts->job);
}
