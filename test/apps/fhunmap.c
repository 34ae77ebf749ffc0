/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Exposed memory that is unmapped without having been withdrawn, while a peer has
 * firehoses on it: as a whole, in part, replaced by something else, and over and over
 * by several threads. Nothing else may be written to, and nothing may crash.
 */

#include "fhjob.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE  20 /* Seconds until what should be unmapped is taken to stay */
#define PAGES     64 /* Of exposed memory */
#define MAX_OWNER 8  /* Threads that expose memory */
#define FILL      0x5a
#define MAPPING   "fhunmap-memory"


typedef struct {
    fhjob_t job;
    int     threads; /* Of each process */
    int     rounds;  /* Of each thread that exposes memory */
    volatile sig_atomic_t has_handled; /* The handler of a signal has run */
} unmap_t;


static unmap_t unmap_app = {
    .job     = {
        .name = "fhunmap", .procs = 2, .libraries = 2, .heap = 1 << 20,
        .share = 1 << 20, .max_victim = 256 << 10, .bucket = 4096,
        .max_region = 64
    },
    .threads = 2,
    .rounds  = 200
};


static void usage(void)
{
    printf("usage: fhunmap [options]\n"
           "  --threads N      of each process, 1 to %d (2)\n"
           "  --rounds N       how often each of them unmaps memory (200)\n"
           FHJOB_HELP, MAX_OWNER);
}

static uint8_t *page_at(uint64_t base, int page)
{
    return (uint8_t*)base + ((size_t)page * FHJOB_PAGE);
}

/* @return where so many bytes can be mapped which begin with a bucket; nobody else gets
 *         the place */
static uint64_t reserve(const fhjob_t *job, size_t length)
{
    size_t all   = length + job->bucket;
    void *memory = mmap(NULL, all, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t start, place;

    if (memory == MAP_FAILED) {
        app_fatal("%s: mmap: %s", job->name, strerror(errno));
    }

    start = (uint64_t)memory;
    place = (start + job->bucket - 1) & ~((uint64_t)job->bucket - 1);
    if (place > start) {
        munmap(memory, place - start);
    }
    munmap((void*)(place + length), all - length - (place - start));
    return place;
}

/* Memory that can be told from all other, since it has a name */
static uint64_t map(const fhjob_t *job, int num, uint64_t place)
{
    size_t length = (size_t)num * FHJOB_PAGE;
    int fd        = memfd_create(MAPPING, 0);
    void *address = MAP_FAILED;

    if (place == 0) {
        place = reserve(job, length);
    }
    if ((fd >= 0) && (ftruncate(fd, length) == 0)) {
        address = mmap((void*)place, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_FIXED, fd, 0);
    }
    if (address == MAP_FAILED) {
        app_fatal("%s: mmap: %s", job->name, strerror(errno));
    }
    close(fd);
    return place;
}

/* Memory such as malloc() maps, or in large buckets */
static uint64_t map_anonymous(const fhjob_t *job)
{
    size_t length = PAGES * FHJOB_PAGE;
    int is_large  = (job->bucket > FHJOB_PAGE);
    void *address = mmap(is_large ? (void*)reserve(job, length) : NULL, length,
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS |
                                 (is_large ? MAP_FIXED : 0), -1, 0);

    if (address == MAP_FAILED) {
        app_fatal("%s: mmap: %s", job->name, strerror(errno));
    }
    return (uint64_t)address;
}

static void unmap(const fhjob_t *job, uint64_t base, int first, int num)
{
    if (munmap(page_at(base, first), (size_t)num * FHJOB_PAGE) != 0) {
        app_fatal("%s: munmap: %s", job->name, strerror(errno));
    }
}

static ucp_fh_mem_h expose_pages(fhjob_t *job, int library, uint64_t base,
                                 int first, int num)
{
    ucp_fh_mem_h mem;

    fhjob_check(job, ucp_fh_expose(job->fhs[library], page_at(base, first),
                                   (size_t)num * FHJOB_PAGE, &mem),
                "ucp_fh_expose");
    return mem;
}

static ucp_fh_mem_h expose(fhjob_t *job, uint64_t base)
{
    return expose_pages(job, 0, base, 0, PAGES);
}

/* @return whether a page is of map(). What others have mapped in its place since is
 *         not */
static int is_mapped(uint64_t base, int page)
{
    uint64_t address = (uint64_t)page_at(base, page);
    FILE *maps       = fopen("/proc/self/maps", "r");
    int is_there     = 0;
    unsigned long start, end;
    char line[512];

    while ((maps != NULL) && (fgets(line, sizeof(line), maps) != NULL)) {
        is_there |= (sscanf(line, "%lx-%lx", &start, &end) == 2) &&
                    (start <= address) && (address < end) &&
                    (strstr(line, MAPPING) != NULL);
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_there;
}

static void await_unmapped(fhjob_t *job, uint64_t base, int first, int num)
{
    double end = app_time() + PATIENCE;
    int page;

    for (page = first; page < first + num; ++page) {
        while (is_mapped(base, page) && (app_time() < end)) {
            usleep(100);
        }
        fhjob_errors(job, "pages that stay mapped", is_mapped(base, page));
    }
}

/* @return how the operation has ended */
static ucs_status_t
wait_status(fhjob_t *job, fhjob_worker_t *worker, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    while (ucp_fh_request_check_status(request) == UCS_INPROGRESS) {
        ucp_fh_worker_progress(worker->fh_worker);
    }

    status = ucp_fh_request_check_status(request);
    ucp_fh_request_free(request);
    return status;
}

static ucs_status_t put_page(fhjob_t *job, fhjob_worker_t *worker,
                             uint64_t base, int page, uint64_t op)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint8_t data[FHJOB_PAGE];

    fhjob_fill_page(data);
    fhjob_stamp_page(data, page, op);
    return wait_status(job, worker,
                       ucp_fh_put_nbx(worker->fh_worker, 0, data, sizeof(data),
                                      (uint64_t)page_at(base, page), &param));
}

static void expect_put(fhjob_t *job, fhjob_worker_t *worker, uint64_t base,
                       int page, uint64_t op, ucs_status_t expected)
{
    ucs_status_t status = put_page(job, worker, base, page, op);

    if (status != expected) {
        fprintf(stderr, "fhunmap: page %d: %s in place of %s\n", page,
                ucs_status_string(status), ucs_status_string(expected));
        fhjob_errors(job, "puts", 1);
    }
}

static void put_pages(fhjob_t *job, fhjob_worker_t *worker, uint64_t base,
                      int first, int num, uint64_t op)
{
    int page;

    for (page = first; page < first + num; ++page) {
        expect_put(job, worker, base, page, op, UCS_OK);
    }
    fhjob_flush(job, worker);
}

static void
check_pages(fhjob_t *job, uint64_t base, int first, int num, uint64_t op)
{
    int page;

    for (page = first; page < first + num; ++page) {
        fhjob_errors(job, "pages", !fhjob_check_page(page_at(base, page), page,
                                                     op));
    }
}

static void unexpose(fhjob_t *job, ucp_fh_mem_h mem)
{
    fhjob_check(job, ucp_fh_unexpose(mem), "ucp_fh_unexpose");
}

/* All of it, on which the peer has a firehose that it keeps */
static void unmapped_owner(fhjob_t *job)
{
    uint64_t base    = map(job, PAGES, 0);
    ucp_fh_mem_h mem = expose(job, base);

    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
    unmap(job, base, 0, PAGES);
    unmap(job, base, 0, PAGES); /* There is nothing, which is no error */
    usleep(50000);
    fhjob_errors(job, "pages that are gone too early", !is_mapped(base, 3));
    fhjob_barrier(job);
    fhjob_barrier(job);
    await_unmapped(job, base, 0, PAGES);
    fhjob_barrier(job);
    fhjob_barrier(job);
    unexpose(job, mem);
}

static void unmapped_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    ucp_fh_hold_h hold;
    uint64_t base;

    fhjob_barrier(job);
    base = job->shared->extra[0];
    put_pages(job, worker, base, 0, PAGES, 1);
    fhjob_check(job, ucp_fh_pin_remote(job->fhs[0], 0,
                                       (uint64_t)page_at(base, 3), FHJOB_PAGE,
                                       NULL, NULL, &hold),
                "ucp_fh_pin_remote");
    fhjob_barrier(job);
    fhjob_barrier(job);
    expect_put(job, worker, base, 3, 2, UCS_OK);
    fhjob_flush(job, worker);
    ucp_fh_release(hold);
    fhjob_barrier(job);
    fhjob_barrier(job);
    expect_put(job, worker, base, 3, 3, UCS_ERR_INVALID_ADDR);
    fhjob_barrier(job);
}

/* Some of the middle: the rest is still there */
static void partly_owner(fhjob_t *job)
{
    uint64_t base    = map(job, PAGES, 0);
    ucp_fh_mem_h mem = expose(job, base);

    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
    unmap(job, base, 16, 16);
    await_unmapped(job, base, 16, 16);
    fhjob_barrier(job);
    fhjob_barrier(job);
    check_pages(job, base, 0, 16, 2);
    check_pages(job, base, 32, 32, 2);

    /* What is in the place next is nobody's business */
    (void)map(job, 16, base + (16 * FHJOB_PAGE));
    unmap(job, base, 0, PAGES);
    await_unmapped(job, base, 0, PAGES);
    unexpose(job, mem);
}

static void partly_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    uint64_t base;

    fhjob_barrier(job);
    base = job->shared->extra[0];
    put_pages(job, worker, base, 0, PAGES, 1);
    fhjob_barrier(job);
    fhjob_barrier(job);
    put_pages(job, worker, base, 0, 16, 2);
    put_pages(job, worker, base, 32, 32, 2);
    expect_put(job, worker, base, 16, 3, UCS_ERR_INVALID_ADDR);
    expect_put(job, worker, base, 31, 3, UCS_ERR_INVALID_ADDR);
    fhjob_barrier(job);
}

/* Other memory in its place is new to the peer, too */
static void replaced_owner(fhjob_t *job)
{
    uint64_t base    = map(job, PAGES, 0);
    ucp_fh_mem_h mem = expose(job, base);
    ucp_fh_mem_h other;

    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
    (void)map(job, PAGES, base);
    other = expose(job, base);
    fhjob_barrier(job);
    fhjob_barrier(job);
    check_pages(job, base, 0, PAGES, 2);
    unexpose(job, mem);
    fhjob_barrier(job);
    fhjob_barrier(job);
    check_pages(job, base, 0, PAGES, 3);
    unexpose(job, other);
    unmap(job, base, 0, PAGES);
    fhjob_errors(job, "pages that are left", is_mapped(base, 0));
}

static void replaced_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    uint64_t base, op;

    fhjob_barrier(job);
    base = job->shared->extra[0];
    put_pages(job, worker, base, 0, PAGES, 1);
    for (op = 2; op <= 3; ++op) {
        fhjob_barrier(job);
        fhjob_barrier(job);
        put_pages(job, worker, base, 0, PAGES, op);
    }
    fhjob_barrier(job);
}

/* A firehose of the peer, on memory of which the owner has said where it is */
static ucp_fh_hold_h hold(fhjob_t *job, int library, int page)
{
    ucp_fh_hold_h ret;

    fhjob_check(job, ucp_fh_pin_remote(job->fhs[library], 0,
                                       (uint64_t)page_at(job->shared->extra[0],
                                                         page),
                                       FHJOB_PAGE, NULL, NULL, &ret),
                "ucp_fh_pin_remote");
    return ret;
}

static void hold_until_barrier(fhjob_t *job, int library, int page)
{
    ucp_fh_hold_h held;

    fhjob_barrier(job);
    held = hold(job, library, page);
    fhjob_barrier(job);
    fhjob_barrier(job);
    ucp_fh_release(held);
}

/* Exposed by two libraries, of which one is done with it earlier */
static void shared_owner(fhjob_t *job)
{
    uint64_t base      = map(job, PAGES, 0);
    ucp_fh_mem_h mem   = expose(job, base);
    ucp_fh_mem_h other = expose_pages(job, 1, base, 0, PAGES);

    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
    unmap(job, base, 0, PAGES);
    unexpose(job, mem);
    fhjob_errors(job, "shared pages that are gone too early",
                 !is_mapped(base, 3));
    fhjob_barrier(job);
    await_unmapped(job, base, 0, PAGES);
    unexpose(job, other);
}

static void shared_peer(fhjob_t *job)
{
    hold_until_barrier(job, 1, 3);
}

static void unmap_in_handler(int signal)
{
    munmap(page_at(unmap_app.job.shared->extra[0], 0), PAGES * FHJOB_PAGE);
    unmap_app.has_handled = 1;
}

/* By the handler of a signal, while its thread unmaps other memory, for which it is
 * busy for milliseconds */
static void handler_owner(fhjob_t *job)
{
    uint64_t base           = map(job, PAGES, 0);
    ucp_fh_mem_h mem        = expose(job, base);
    size_t length           = 128 << 20;
    uint64_t other          = reserve(job, length);
    struct itimerval timer  = {.it_value.tv_usec = 4000};
    struct sigaction action = {.sa_handler = unmap_in_handler};
    ucp_fh_mem_h first;

    if (mprotect((void*)other, length, PROT_READ | PROT_WRITE) != 0) {
        app_fatal("%s: mprotect: %s", job->name, strerror(errno));
    }
    memset((void*)other, FILL, length);
    first = expose(job, other);
    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    munmap((void*)other, length);
    while (!unmap_app.has_handled) {
        usleep(100);
    }
    usleep(20000);
    fhjob_errors(job, "pages that are gone since a handler unmapped them",
                 !is_mapped(base, 3));
    fhjob_barrier(job);
    await_unmapped(job, base, 0, PAGES);
    unexpose(job, mem);
    unexpose(job, first);
}

static void handler_peer(fhjob_t *job)
{
    hold_until_barrier(job, 0, 3);
}

/* Memory beside it is exposed once some of it is gone, in a bucket of both if buckets
 * are large; the rest of it goes then */
static void beside_owner(fhjob_t *job)
{
    uint64_t base    = map(job, PAGES, 0);
    ucp_fh_mem_h mem = expose_pages(job, 0, base, 0, 24);
    ucp_fh_mem_h beside;

    job->shared->extra[0] = base;
    unmap(job, base, 23, 1);
    beside = expose_pages(job, 0, base, 24, 8);
    unmap(job, base, 20, 3);
    await_unmapped(job, base, 20, 4);
    (void)map(job, 4, (uint64_t)page_at(base, 20)); /* A bucket has no holes */
    fhjob_barrier(job);
    fhjob_barrier(job);
    check_pages(job, base, 24, 8, 1);
    unexpose(job, mem);
    unexpose(job, beside);
    unmap(job, base, 0, PAGES);
}

static void beside_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    fhjob_barrier(job);
    put_pages(job, worker, job->shared->extra[0], 24, 8, 1);
    fhjob_barrier(job);
}

/* What waits to be exposed, since a peer has a firehose on what was there before, is
 * unmapped as well */
static void *expose_late(void *arg)
{
    fhjob_t *job = arg;

    return expose(job, job->shared->extra[0]);
}

static void late_owner(fhjob_t *job)
{
    uint64_t base    = map(job, PAGES, 0);
    ucp_fh_mem_h mem = expose(job, base);
    pthread_t thread;
    void *late;

    job->shared->extra[0] = base;
    fhjob_barrier(job);
    fhjob_barrier(job);
    (void)map(job, PAGES, base);
    if (pthread_create(&thread, NULL, expose_late, job) != 0) {
        app_fatal("fhunmap: pthread_create");
    }
    usleep(50000);
    unmap(job, base, 0, PAGES);
    usleep(50000);
    fhjob_barrier(job);
    pthread_join(thread, &late);
    await_unmapped(job, base, 0, PAGES);
    unexpose(job, mem);
    unexpose(job, late);
}

static void late_peer(fhjob_t *job)
{
    hold_until_barrier(job, 0, 3);
}

/* Memory that becomes shorter, but not by whole pages */
static void cut_owner(fhjob_t *job)
{
    size_t length     = PAGES * FHJOB_PAGE;
    uint64_t base     = map_anonymous(job);
    uint64_t other    = map_anonymous(job);
    uint64_t heap     = ((uint64_t)sbrk(0) + job->bucket - 1) &
                        ~((uint64_t)job->bucket - 1);
    size_t cut        = (PAGES / 2 * FHJOB_PAGE) + 100;
    ucp_fh_mem_h mem  = expose(job, base);
    ucp_fh_mem_h mem2;

    if (brk((void*)(heap + length)) != 0) {
        app_fatal("%s: brk: %s", job->name, strerror(errno));
    }
    memset((void*)heap, 0, length);
    mem2 = expose(job, heap);

    if ((mremap((void*)base, length, length - cut, 0) != (void*)base) ||
        (sbrk(-(intptr_t)cut) == (void*)-1)) {
        app_fatal("%s: memory cannot be cut: %s", job->name, strerror(errno));
    }
    (void)brk(NULL);
    unexpose(job, expose(job, other)); /* What was cut off is withdrawn before */
    job->shared->extra[0] = base;
    job->shared->extra[1] = heap;
    fhjob_barrier(job);
    fhjob_barrier(job);
    unexpose(job, mem);
    unexpose(job, mem2);
    unmap(job, base, 0, PAGES / 2);
    unmap(job, other, 0, PAGES);
}

static void cut_peer(fhjob_t *job, fhjob_worker_t *worker)
{
    int bucket_pages = job->bucket / FHJOB_PAGE;
    int last         = (PAGES / 2) - 1; /* The page that stays in part */
    int i;

    fhjob_barrier(job);
    for (i = 0; i < 2; ++i) {
        expect_put(job, worker, job->shared->extra[i], last - bucket_pages, 1,
                   UCS_OK);
        if (bucket_pages == 1) {
            expect_put(job, worker, job->shared->extra[i], last, 1, UCS_OK);
        }
        expect_put(job, worker, job->shared->extra[i], PAGES - 1, 1,
                   UCS_ERR_INVALID_ADDR);
    }
    fhjob_flush(job, worker);
    fhjob_barrier(job);
}

static int is_filled(const uint8_t *memory, size_t length)
{
    return (memory[0] == FILL) && (memcmp(memory, memory + 1, length - 1) == 0);
}

/* Over and over: a thread maps other memory at once, mostly in the same place, to which
 * nobody may write */
static void *storm_owner(void *arg)
{
    unmap_t *app = &unmap_app;
    fhjob_t *job = &app->job;
    int number   = (int)(intptr_t)arg;
    uint64_t base, other;
    ucp_fh_mem_h mem;
    int i;

    for (i = 0; i < app->rounds; ++i) {
        base = map_anonymous(job);
        mem  = expose(job, base);
        __atomic_store_n(&job->shared->extra[number], base, __ATOMIC_RELEASE);
        usleep(i % 3 * 500);
        unmap(job, base, (i % 2) * 8, PAGES - ((i % 2) * 8));
        other = map_anonymous(job);
        memset((void*)other, FILL, PAGES * FHJOB_PAGE);
        usleep(300);
        fhjob_errors(job, "bytes of other memory",
                     !is_filled((void*)other, PAGES * FHJOB_PAGE));
        unexpose(job, mem);
        unmap(job, other, 0, PAGES);
        if (i % 2 != 0) {
            unmap(job, base, 0, 8);
        }
    }
    return NULL;
}

static void *storm_peer(void *arg)
{
    unmap_t *app    = &unmap_app;
    fhjob_t *job    = &app->job;
    uint64_t random = (uintptr_t)arg + 1;
    fhjob_worker_t worker;
    ucs_status_t status;
    uint64_t base;

    fhjob_worker_open(job, 0, &worker);
    while (!__atomic_load_n(&job->shared->is_over, __ATOMIC_ACQUIRE)) {
        base = __atomic_load_n(&job->shared->extra[
                                       app_random_below(&random, app->threads)],
                               __ATOMIC_ACQUIRE);
        if (base == 0) {
            continue;
        }

        status = put_page(job, &worker, base, app_random_below(&random, PAGES),
                          1);
        fhjob_errors(job, "puts", (status != UCS_OK) &&
                                  (status != UCS_ERR_INVALID_ADDR));
    }
    fhjob_flush(job, &worker);
    fhjob_worker_close(&worker);
    return NULL;
}

static void storm(unmap_t *app)
{
    fhjob_t *job = &app->job;
    pthread_t threads[MAX_OWNER];
    int i;

    for (i = 0; i < app->threads; ++i) {
        job->shared->extra[i] = 0;
    }
    fhjob_barrier(job);
    for (i = 0; i < app->threads; ++i) {
        if (pthread_create(&threads[i], NULL,
                           (job->rank == 0) ? storm_owner : storm_peer,
                           (void*)(intptr_t)i) != 0) {
            app_fatal("fhunmap: pthread_create");
        }
    }
    for (i = 0; i < app->threads; ++i) {
        pthread_join(threads[i], NULL);
        if ((job->rank == 0) && (i == app->threads - 1)) {
            __atomic_store_n(&job->shared->is_over, 1, __ATOMIC_RELEASE);
        }
    }
}

static void run(fhjob_t *job)
{
    unmap_t *app = &unmap_app;
    fhjob_worker_t worker;

    fhjob_worker_open(job, 0, &worker);
    if (job->rank == 0) {
        unmapped_owner(job);
        partly_owner(job);
        replaced_owner(job);
        shared_owner(job);
        handler_owner(job);
        beside_owner(job);
        late_owner(job);
        cut_owner(job);
    } else if (job->rank == 1) {
        unmapped_peer(job, &worker);
        partly_peer(job, &worker);
        replaced_peer(job, &worker);
        shared_peer(job);
        handler_peer(job);
        beside_peer(job, &worker);
        late_peer(job);
        cut_peer(job, &worker);
    }
    fhjob_worker_close(&worker);
    storm(app);

    fhjob_count(job);
    fhjob_print(job, "\"threads\":%d,\"rounds\":%d", app->threads,
                app->rounds);
}

int main(int argc, char **argv)
{
    unmap_t *app                 = &unmap_app;
    const app_option_t options[] = {
        {"threads", .count = &app->threads},
        {"rounds", .count = &app->rounds},
        FHJOB_OPTIONS(&app->job),
        {NULL}
    };

    app_parse(argc, argv, "fhunmap", options, usage);
    if ((app->threads < 1) || (app->threads > MAX_OWNER)) {
        app_fatal("--threads: accepted are 1 to %d", MAX_OWNER);
    }
    if (app->job.procs != 2) {
        app_fatal("--procs: accepted are 2");
    }

    app->job.extra = MAX_OWNER * sizeof(uint64_t);
    app->job.run   = run;
    return fhjob_run(&app->job);
}
