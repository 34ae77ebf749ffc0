/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * How long puts to a window take: rank 0 puts to random places of a part of
 * rank 1's window, with a flush after some of them. Rank 1 checks in the end
 * that each place has what was put there last.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>
#include <string.h>

#define MAX_FLUSH 4096
#define PAGE      4096
#define ALIGN     (2 << 20)

typedef struct {
    size_t   window; /* Bytes of the window */
    size_t   set;    /* Bytes of it that are put to */
    size_t   size;   /* Bytes of a put */
    int      ops;
    int      flush;  /* After so many puts */
    size_t   shift;  /* Where the window begins, after a multiple of ALIGN */
    /* Not options */
    uint64_t places;
    uint64_t *last;  /* By place: the put that was the last one, from 1 on */
    uint64_t op;
    uint64_t random;
    uint8_t  *buffers;
    MPI_Win  win;
} winputs_t;


static void usage(void)
{
    printf("usage: winputs [options], on two ranks\n"
           "  --window BYTES  of the window (64m)\n"
           "  --set BYTES     of it that are put to (8m)\n"
           "  --size BYTES    of a put, a multiple of 8 (64k)\n"
           "  --ops N         puts, besides one to each page before (5000)\n"
           "  --flush N       a flush after so many, 1 to %d (4)\n"
           "  --shift BYTES   the window begins so much after a multiple of\n"
           "                  2 MB (16, as memory of malloc() does)\n",
           MAX_FLUSH);
}

static void parse(int argc, char **argv, winputs_t *app)
{
    const app_option_t options[] = {
        {"window", .size = &app->window},
        {"set", .size = &app->set},
        {"size", .size = &app->size},
        {"ops", .count = &app->ops},
        {"flush", .count = &app->flush},
        {"shift", .size = &app->shift},
        {NULL}
    };

    app_parse(argc, argv, "winputs", options, usage);
    if ((app->size == 0) || (app->size % 8 != 0)) {
        app_fatal("--size: %zu: accepted are multiples of 8", app->size);
    }

    if ((app->flush < 1) || (app->flush > MAX_FLUSH)) {
        app_fatal("--flush: %d: accepted are 1 to %d", app->flush, MAX_FLUSH);
    }

    app->places = app->set / app->size;
    if ((app->set > app->window) || (app->places < (uint64_t)app->flush * 2)) {
        app_fatal("--set: %zu: accepted are %zu, twice what is put between two "
                  "flushes, to %zu, the window", app->set,
                  2 * app->flush * app->size, app->window);
    }
}

static void *app_alloc(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL) {
        app_fatal("winputs: no memory");
    }
    return memory;
}

static uint8_t *make_memory(const winputs_t *app)
{
    size_t length = app->shift + app->window;
    void *memory;

    if (posix_memalign(&memory, ALIGN, length) != 0) {
        app_fatal("winputs: no memory");
    }

    memset(memory, 1, length); /* Whoever pins it does not wait for pages */
    return (uint8_t*)memory + app->shift;
}

/* The words of a place after the put with a number */
static uint64_t word_of(uint64_t op, uint64_t place, size_t index)
{
    return (op << 40) ^ (place << 20) ^ index;
}

static void put(winputs_t *app, int slot, uint64_t place)
{
    uint8_t *buffer = app->buffers + (slot * app->size);
    uint64_t *words = (uint64_t*)buffer;

    /* Its first and last words change each time; filling all of them would take
     * longer than the put */
    app->last[place]             = ++app->op;
    words[0]                     = word_of(app->op, place, 0);
    words[(app->size / 8) - 1]   = word_of(app->op, place, (app->size / 8) - 1);
    MPI_Put(buffer, app->size, MPI_BYTE, 1, place * app->size, app->size,
            MPI_BYTE, app->win);
}

/* Once to each page, or to each place if that is more */
static void warm_up(winputs_t *app)
{
    uint64_t step = (app->size < PAGE) ? PAGE / app->size : 1;
    uint64_t place;

    for (place = 0; place < app->places; place += step) {
        put(app, app->op % app->flush, place);
        if (app->op % app->flush == 0) {
            MPI_Win_flush(1, app->win);
        }
    }
    MPI_Win_flush(1, app->win);
}

/* Places between two flushes differ, since puts to one would have no order */
static uint64_t next_place(winputs_t *app, uint64_t flushed)
{
    uint64_t place;

    do {
        place = app_random_below(&app->random, app->places);
    } while (app->last[place] > flushed);
    return place;
}

static void run(winputs_t *app)
{
    uint64_t flushed = app->op;
    int i;

    for (i = 0; i < app->ops; ++i) {
        put(app, i % app->flush, next_place(app, flushed));
        if ((i + 1) % app->flush == 0) {
            MPI_Win_flush(1, app->win);
            flushed = app->op;
        }
    }
    MPI_Win_flush(1, app->win);
}

static int check(const winputs_t *app, const uint8_t *memory)
{
    size_t last = (app->size / 8) - 1;
    int errors  = 0;
    uint64_t place;
    const uint64_t *words;

    for (place = 0; place < app->places; ++place) {
        if (app->last[place] == 0) {
            continue;
        }

        words   = (const uint64_t*)(memory + (place * app->size));
        errors += (words[0] != word_of(app->last[place], place, 0)) &&
                  (last > 0);
        errors += words[last] != word_of(app->last[place], place, last);
    }

    return errors;
}

int main(int argc, char **argv)
{
    winputs_t app = {
        .window = 64 << 20,
        .set    = 8 << 20,
        .size   = 64 << 10,
        .ops    = 5000,
        .flush  = 4,
        .shift  = 16,
        .random = 1
    };
    double seconds = 0;
    int errors     = 0;
    int rank, ranks;
    uint8_t *memory;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv, &app);
    if (ranks != 2) {
        app_fatal("winputs: %d ranks; accepted are 2", ranks);
    }

    memory      = make_memory(&app);
    app.buffers = app_alloc(app.flush * app.size);
    app.last    = app_alloc(app.places * sizeof(*app.last));
    MPI_Win_create(memory, app.window, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &app.win);
    MPI_Win_lock_all(0, app.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        warm_up(&app);
        seconds = app_time();
        run(&app);
        seconds = app_time() - seconds;
    }
    MPI_Win_unlock_all(app.win);
    MPI_Bcast(app.last, app.places, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        errors = check(&app, memory);
    }
    MPI_Bcast(&errors, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"window\":%zu,\"set\":%zu,\"size\":%zu,\"ops\":%d,"
               "\"flush\":%d,\"seconds\":%.6f,\"mbps\":%.1f,\"us\":%.3f,"
               "\"errors\":%d}\n", app.window, app.set, app.size, app.ops,
               app.flush, seconds, app.ops * (double)app.size / seconds / 1e6,
               seconds / app.ops * 1e6, errors);
    }
    MPI_Win_free(&app.win);
    MPI_Finalize();
    return errors > 0;
}
