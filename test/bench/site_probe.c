/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * How well does the library tell call sites apart? To be preloaded into a
 * program instead of the library: identifies the context of each communication
 * as the library does, by the path of calls; by return address and stack depth
 * alone; and by unwinding the stack. Prints at exit where these differ and what
 * they cost. See docs/benchmarks.md.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_util.h"
#include "site_count.h"

#include <ucs/base/hash.h>
#include <ucs/host/unwind.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <uct/ib/predreg/preload/length.h>
#include <uct/ib/predreg/preload/preload.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HAVE_LIBUNWIND
#  define UNW_LOCAL_ONLY
#  include <libunwind.h>
#endif

#define PROBE_MAX_CALLS  (1u << 20)  /* Calls after so many are only counted */
#define PROBE_MAX_FRAMES 128
#define PROBE_MAX_WINDOW 2
/* So many of the innermost return addresses are tried as a context of their
 * own */
#define PROBE_MAX_INNER  8

/* At so many calls each way is also timed in a loop, of so many rounds */
#define PROBE_WARM_CALLS 32
#define PROBE_WARM_LOOPS 200


/* Return addresses, from the program's call of UCP outwards, as hashes */
typedef struct probe_stack {
    uint64_t all;
    /* Hashes of the innermost 1, 2, ... addresses */
    uint64_t inner[PROBE_MAX_INNER];
    unsigned count;                   /* 0: the call was not found */
} probe_stack_t;

#ifdef HAVE_LIBUNWIND
#  define PROBE_NUM_WAYS 4
#else
#  define PROBE_NUM_WAYS 3
#endif

/* A communication as it was seen */
typedef struct probe_call {
    probe_stack_t             unwound;
    ucs_rcache_pred_context_t context;  /* Without window, by depth */
    uint64_t                  path;     /* In place of the depth */
    uint64_t                  window[PROBE_MAX_WINDOW + 1]; /* By its length */
    uint64_t                  address;
    uint64_t                  length;   /* 0 if not contiguous */
    uint64_t                  time[PROBE_NUM_WAYS]; /* Time of each way, ns */
    /* Time that is measured for no work at all, ns */
    uint64_t                  clock;
} probe_call_t;

/* A way to identify the context of a call */
typedef struct probe_way {
    const char *name;
    int        is_path;                  /* As the library */
    unsigned   (*unwind)(void **frames); /* NULL: by the window of the library,
                                            and the path or the depth */
} probe_way_t;


static unsigned unwind_glibc(void **frames)
{
    return backtrace(frames, PROBE_MAX_FRAMES);
}

#ifdef HAVE_LIBUNWIND
static unsigned unwind_libunwind(void **frames)
{
    return unw_backtrace(frames, PROBE_MAX_FRAMES);
}
#endif

/* Unwinding is taken for the truth about which contexts there are */
static const probe_way_t probe_ways[PROBE_NUM_WAYS] = {
    {.name = "return address and stack depth"},
    {.name = "path of calls", .is_path = 1},
    {.name = "unwinding with glibc", .unwind = unwind_glibc},
#ifdef HAVE_LIBUNWIND
    {.name = "unwinding with libunwind", .unwind = unwind_libunwind},
#endif
};

#define PROBE_PATH  1
#define PROBE_EXACT 2

static struct {
    ucs_callpath_table_t *paths;  /* Constant */
    _Atomic uint64_t unwinds;     /* Of the paths */
    probe_call_t     *calls;      /* Written by whoever took the index */
    _Atomic uint64_t num_calls;
    _Atomic unsigned num_warm;    /* Calls that were to be timed in loops */
    uint64_t         warm_time[PROBE_WARM_CALLS][PROBE_NUM_WAYS]; /* A loop, ns.
                                     Written by whoever took the index */
} probe;

/* As in preload_ucp.c */
static __thread __attribute__((tls_model("initial-exec")))
ucs_rcache_pred_window_t probe_window;
static __thread __attribute__((tls_model("initial-exec")))
ucs_callpath_thread_t probe_thread;
static __thread __attribute__((tls_model("initial-exec")))
unsigned probe_depth;


/* The function of UCP that is overridden here; a program that is probed has one
 * UCX */
static void *probe_resolve(const char *name)
{
    void *handle = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void *addr   = (handle == NULL) ? NULL : dlsym(handle, name);

    if (addr == NULL) {
        fprintf(stderr, "site_probe: %s was called, but libucp.so.0 of this "
                "process has no such function\n", name);
        abort();
    }
    return addr;
}

#define PROBE_REAL(_name) \
    ({ \
        static _Atomic(void*) real; \
        /* Relaxed: threads that come here at a time find the same address */ \
        void *addr = atomic_load_explicit(&real, memory_order_relaxed); \
        if (addr == NULL) { \
            addr = probe_resolve(#_name); \
            atomic_store_explicit(&real, addr, memory_order_relaxed); \
        } \
        (__typeof__(&_name))addr; \
    })

static unsigned probe_unwind_path(const void *caller,
                                  ucs_callpath_frame_t *frames, unsigned max)
{
    atomic_fetch_add(&probe.unwinds, 1);
    return ucs_host_unwind(caller, frames, max);
}

static const ucs_callpath_ops_t probe_callpath_ops = {
    .stack  = ucs_host_stack,
    .unwind = probe_unwind_path
};

/* The frames below the program's call of UCP are those of this library */
static UCS_F_NOINLINE void probe_unwind(const probe_way_t *way,
                                        const void *caller,
                                        probe_stack_t *unwound)
{
    uint64_t hash = 0;
    void *frames[PROBE_MAX_FRAMES];
    unsigned count, first, i;

    count = way->unwind(frames);
    for (first = 0; (first < count) && (frames[first] != caller); ++first);

    unwound->count = count - first;
    for (i = 0; i < ucs_max(unwound->count, PROBE_MAX_INNER); ++i) {
        if (i < unwound->count) {
            hash  = (hash ^ (uintptr_t)frames[first + i]) *
                    UCS_HASH_GOLDEN;
            hash ^= hash >> 32;
        }
        if (i < PROBE_MAX_INNER) {
            unwound->inner[i] = hash;
        }
    }
    unwound->all = hash;
}

/* Identify a call in one of the ways; only this is timed */
static UCS_F_NOINLINE void
probe_identify(const probe_way_t *way, ucs_rcache_pred_comm_t comm,
               const void *address, const void *caller, const void *stack,
               probe_stack_t *unwound, uint64_t *path)
{
    ucs_rcache_pred_window_t window = probe_window;
    ucs_rcache_pred_context_t context;

    if (way->unwind != NULL) {
        probe_unwind(way, caller, unwound);
        return;
    }

    if (way->is_path) {
        *path = ucs_callpath_find(probe.paths, &probe_thread, caller, stack);
    } else {
        *path = (uintptr_t)stack;
    }
    ucs_rcache_pred_context_add(&window, PROBE_MAX_WINDOW, comm, address,
                                caller, *path, &context);
    asm volatile("" :: "r"(&window), "r"(&context) : "memory");
}

static uint64_t probe_time_clock(void)
{
    uint64_t begin = bench_now();

    return bench_now() - begin;
}

static void probe_time_warm(ucs_rcache_pred_comm_t comm, const void *address,
                            const void *caller, const void *stack)
{
    probe_stack_t unwound;
    unsigned index, way, i;
    uint64_t begin, path;

    index = atomic_fetch_add(&probe.num_warm, 1);
    if (index >= PROBE_WARM_CALLS) {
        return;
    }

    for (way = 0; way < PROBE_NUM_WAYS; ++way) {
        begin = bench_now();
        for (i = 0; i < PROBE_WARM_LOOPS; ++i) {
            probe_identify(&probe_ways[way], comm, address, caller, stack,
                           &unwound, &path);
        }
        probe.warm_time[index][way] = bench_now() - begin;
    }
}

/* Identify the call in all ways, and time each */
static void probe_time(ucs_rcache_pred_comm_t comm, const void *address,
                       const void *caller, const void *stack,
                       probe_call_t *call)
{
    probe_stack_t unwound;
    uint64_t begin, path;
    unsigned way;

    for (way = 0; way < PROBE_NUM_WAYS; ++way) {
        begin = bench_now();
        probe_identify(&probe_ways[way], comm, address, caller, stack,
                       &unwound, &path);
        call->time[way] = bench_now() - begin;
        if (way == PROBE_EXACT) {
            call->unwound = unwound;
        } else if (way == PROBE_PATH) {
            call->path = path;
        }
    }
    call->clock = probe_time_clock();
}

/* A communication of the program */
static UCS_F_NOINLINE void
probe_record(ucs_rcache_pred_comm_t comm, const void *address, size_t length,
             const void *caller, const void *stack)
{
    ucs_rcache_pred_context_t context;
    ucs_rcache_pred_window_t window;
    probe_call_t call;
    uint64_t index;
    unsigned i;

    probe_time(comm, address, caller, stack, &call);
    probe_time_warm(comm, address, caller, stack);
    call.address = (uintptr_t)address;
    call.length  = length;
    for (i = 0; i <= PROBE_MAX_WINDOW; ++i) {
        window = probe_window;
        ucs_rcache_pred_context_add(&window, i, comm, address, caller,
                                    (uintptr_t)stack, &context);
        call.window[i] = context.window;
    }

    probe_window        = window;
    call.context        = context;
    call.context.window = 0;

    index = atomic_fetch_add(&probe.num_calls, 1);
    if (index < PROBE_MAX_CALLS) {
        probe.calls[index] = call;
    }
}

static UCS_F_ALWAYS_INLINE void
record(ucs_rcache_pred_comm_t comm, const void *buffer, size_t count,
       ucp_datatype_t datatype, const void *caller, const void *stack)
{
    size_t length = predreg_length(count, datatype);

    if ((probe_depth > 0) || (length < UCT_PREDREG_MIN_LENGTH)) {
        return;
    }

    if (length == PREDREG_LENGTH_UNKNOWN) {
        length = 0;
    }

    ++probe_depth; /* Unwinding may allocate and take locks */
    probe_record(comm, buffer, length, caller, stack);
    --probe_depth;
}

#define PREDREG_COMM(_name, _ret, _comm, _params, _args, _buffer, _count, \
                     _options) \
    PREDREG_EXPORT _ret _name _params \
    { \
        _ret ret; \
        \
        record(UCS_RCACHE_PRED_COMM_##_comm, _buffer, _count, \
               PREDREG_DATATYPE_##_options, \
               __builtin_return_address(0), __builtin_frame_address(0)); \
        ++probe_depth; \
        ret = PROBE_REAL(_name) _args; \
        --probe_depth; \
        return ret; \
    }

#include "../gtest/common/ucp_comms.h"


/* What goes into a row of the table */
typedef struct probe_row {
    unsigned window;  /* Its length */
    int      buffer;  /* Whether buffer and length are part of the context, as
                         they are of the library's signature */
    unsigned inner;   /* How many return addresses the cheap way knows; 0: it
                         is by the path */
} probe_row_t;

static void probe_identities(const probe_call_t *call, const probe_row_t *row,
                             site_call_t *ids)
{
    uint64_t address                = row->buffer ? call->address : 0;
    uint64_t length                 = row->buffer ? call->length : 0;
    ucs_rcache_pred_context_t cheap = call->context;
    ucs_rcache_pred_context_t exact = {.caller = call->unwound.all};

    if (row->inner == 0) {
        cheap.stack = call->path;
    } else if (row->inner > 1) {
        cheap.caller = call->unwound.inner[row->inner - 1];
    }

    cheap.window = exact.window = call->window[row->window];
    ids->cheap   = ucs_rcache_pred_signature(&cheap, 0, address, length);
    ids->exact   = ucs_rcache_pred_signature(&exact, 0, address, length);
}

static void probe_print_row(FILE *out, const probe_row_t *row, site_call_t *ids,
                            size_t num_calls)
{
    site_counts_t counts;
    char inner[16];
    size_t i;

    for (i = 0; i < num_calls; ++i) {
        probe_identities(&probe.calls[i], row, &ids[i]);
    }

    if (site_count(ids, num_calls, &counts) != 0) {
        fprintf(out, "out of memory\n");
        return;
    }

    snprintf(inner, sizeof(inner), (row->inner == 0) ? "path" : "%u",
             row->inner);
    fprintf(out, "%6u  %-6s %9s %9zu %9zu %9zu %9zu %9.2f %%\n", row->window,
            row->buffer ? "yes" : "no", inner, counts.exact, counts.cheap,
            counts.merged, counts.split, 100. * counts.right / num_calls);
}

static int probe_compare_times(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The median of a time over all calls. The offset tells which field of a call
 * it is. */
static double probe_median(uint64_t *times, size_t num_calls, size_t offset)
{
    size_t i;

    for (i = 0; i < num_calls; ++i) {
        times[i] = *(uint64_t*)UCS_PTR_BYTE_OFFSET(&probe.calls[i], offset);
    }
    qsort(times, num_calls, sizeof(*times), probe_compare_times);
    return times[num_calls / 2];
}

/* Medians and the fastest loop: other work on the machine spoils a mean */
static void probe_print_costs(FILE *out, uint64_t *times, size_t num_calls)
{
    unsigned num_warm = (probe.num_warm < PROBE_WARM_CALLS) ? probe.num_warm :
                                                              PROBE_WARM_CALLS;
    double clock      = probe_median(times, num_calls,
                                     ucs_offsetof(probe_call_t, clock));
    double time;
    uint64_t warm;
    unsigned way, i;

    fprintf(out, "%-32s %10s %10s\n", "ns", "in place", "warm");
    for (way = 0; way < PROBE_NUM_WAYS; ++way) {
        time = probe_median(times, num_calls,
                            ucs_offsetof(probe_call_t, time[way])) - clock;
        warm = probe.warm_time[0][way];
        for (i = 1; i < num_warm; ++i) {
            warm = ucs_min(warm, probe.warm_time[i][way]);
        }
        fprintf(out, "%-32s %10.1f %10.1f\n", probe_ways[way].name, time,
                (double)warm / PROBE_WARM_LOOPS);
    }
}

static void probe_print_frames(FILE *out, size_t num_calls)
{
    size_t frames = 0, failed = 0, i;

    for (i = 0; i < num_calls; ++i) {
        frames += probe.calls[i].unwound.count;
        failed += (probe.calls[i].unwound.count == 0);
    }
    fprintf(out, "%.1f frames each; %zu whose caller unwinding did not find; "
            "%lu unwindings for paths\n", (double)frames / num_calls, failed,
            atomic_load(&probe.unwinds));
}

static void probe_print(FILE *out, site_call_t *ids, size_t num_calls)
{
    static const probe_row_t rows[] = {
        {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {2, 1, 0},
        {0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {2, 1, 1},
        {2, 1, 2}, {2, 1, 3}, {2, 1, 4}, {2, 1, 6}, {2, 1, 8}
    };
    unsigned i;

    fprintf(out, "site_probe: %s, process %d: %zu communications of %u bytes "
            "and more, %lu more not recorded\n", program_invocation_short_name,
            getpid(), num_calls, UCT_PREDREG_MIN_LENGTH,
            probe.num_calls - num_calls);
    probe_print_frames(out, num_calls);
    fprintf(out, "%6s  %-6s %9s %9s %9s %9s %9s %11s\n", "window", "buffer",
            "addresses", "unwound", "cheap", "merged", "split", "calls right");
    for (i = 0; i < ucs_static_array_size(rows); ++i) {
        probe_print_row(out, &rows[i], ids, num_calls);
    }
    /* The memory of the table is not used any more, and has room for more than
     * one number a call */
    probe_print_costs(out, (uint64_t*)ids, num_calls);
}

UCS_F_CTOR static void probe_init(void)
{
    void *frames[PROBE_MAX_FRAMES];
    unsigned way;

    /* Pages are only taken when they are written */
    probe.calls = mmap(NULL, PROBE_MAX_CALLS * sizeof(*probe.calls),
                       PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe.calls == MAP_FAILED) {
        perror("site_probe: mmap");
        exit(1);
    }

    if (ucs_callpath_table_create(&probe_callpath_ops, &probe.paths) !=
        UCS_OK) {
        fprintf(stderr, "site_probe: out of memory\n");
        exit(1);
    }

    /* The first unwinding loads libraries */
    for (way = PROBE_EXACT; way < PROBE_NUM_WAYS; ++way) {
        probe_ways[way].unwind(frames);
    }
}

/* It is written in one piece, since other ranks write to the same file */
UCS_F_DTOR static void probe_fini(void)
{
    size_t num_calls = (probe.num_calls < PROBE_MAX_CALLS) ?
                       probe.num_calls : PROBE_MAX_CALLS;
    char *text       = NULL;
    size_t size      = 0;
    site_call_t *ids;
    FILE *out;

    if (num_calls == 0) {
        return;
    }

    ids = malloc(num_calls * sizeof(*ids));
    out = open_memstream(&text, &size);
    if ((ids == NULL) || (out == NULL)) {
        fprintf(stderr, "site_probe: out of memory\n");
        return;
    }

    probe_print(out, ids, num_calls);
    fclose(out);
    fputs(text, stderr);
    free(text);
    free(ids);
}
