/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Thousands of buffers of many sizes, as programs of electronic structure have them, which
 * run out of the adapter's keys (openucx/ucx issue 6264): pairs of ranks exchange all
 * buffers, all ranks reduce an array in chunks, and some buffers are freed and
 * allocated anew between phases.
 */

#include "kernel.h"
#include "apps.h"
#include "options.h"

#include <stdlib.h>
#include <sys/mman.h>

/* A buffer has MIN_BYTES << n, n from 0 to MAX_SHIFT: 16 KB to 1 MB. Each size is half as
 * frequent as the one below */
#define MIN_BYTES (16 * 1024)
#define MAX_SHIFT 6

/* All ranks reduce an array in chunks of so many bytes */
#define CHUNK_BYTES (256 * 1024)

/* After so many iterations a phase ends: one of RENEWED buffers that are mappings of
 * their own is freed and allocated anew */
#define PHASE   4
#define RENEWED 4

/* So many buffers are exchanged at a time. Between two such groups the program computes */
#define GROUP 16


typedef struct {
    size_t bytes;
    char   *data;
    int    is_slice; /* of the array of all slices, and not a mapping of its own */
} buffer_t;

typedef struct {
    int      count;
    buffer_t *buffers;
    double   *reduced;
} chunks_t;

static int asked_buffers = 3000;


static void set_buffers(const char *value)
{
    asked_buffers = app_number("buffers", value);
}

/* All ranks have the same sizes */
static size_t buffer_bytes(int index)
{
    unsigned shift = __builtin_ctzll(app_mix(index + 1) | (1ull << MAX_SHIFT));

    return (size_t)MIN_BYTES << shift;
}

static void chunks_init(const kernel_t *k, chunks_t *c)
{
    size_t all = 0;
    char *slices;
    int i;

    c->count   = asked_buffers;
    c->buffers = calloc(c->count, sizeof(*c->buffers));
    if (c->buffers == NULL) {
        kernel_fatal(k, "out of memory");
    }

    for (i = 0; i < c->count; ++i) {
        c->buffers[i].bytes    = buffer_bytes(i);
        c->buffers[i].is_slice = i % 2;
        all                   += c->buffers[i].is_slice * c->buffers[i].bytes;
    }

    slices = kernel_alloc(k, all + 1);
    for (i = 0; i < c->count; ++i) {
        if (c->buffers[i].is_slice) {
            c->buffers[i].data = slices;
            slices            += c->buffers[i].bytes;
        } else {
            c->buffers[i].data = kernel_alloc(k, c->buffers[i].bytes);
        }
    }
    c->reduced = kernel_alloc(k, k->size);
}

static void chunks_cleanup(chunks_t *c)
{
    int i;

    for (i = 0; i < c->count; ++i) {
        if (!c->buffers[i].is_slice) {
            munmap(c->buffers[i].data, c->buffers[i].bytes);
        }
    }
    free(c->buffers);
}

/* In turns, each of two ranks sends a buffer which the other receives. The partner changes
 * with the buffer, among those whose number differs in one bit */
static int is_sender(const kernel_t *k, int index, int peer)
{
    return (k->rank < peer) == ((k->iter + index) % 2);
}

static int partner(const kernel_t *k, int index)
{
    int bits = __builtin_ctz(k->ranks);

    return k->rank ^ (1 << (index % bits));
}

static void exchange_group(kernel_t *k, const chunks_t *c, int first, int count)
{
    MPI_Request requests[GROUP];
    const buffer_t *buffer;
    int i, index, peer;

    for (i = 0; i < count; ++i) {
        index  = first + i;
        buffer = &c->buffers[index];
        peer   = partner(k, index);
        if (is_sender(k, index, peer)) {
            kernel_fill(k, buffer->data, buffer->bytes, index, peer);
            MPI_Isend(buffer->data, buffer->bytes, MPI_BYTE, peer, index,
                      MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(buffer->data, buffer->bytes, MPI_BYTE, peer, index,
                      MPI_COMM_WORLD, &requests[i]);
        }
    }

    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < count; ++i) {
        index  = first + i;
        buffer = &c->buffers[index];
        peer   = partner(k, index);
        if (!is_sender(k, index, peer)) {
            kernel_check(k, buffer->data, buffer->bytes, index, peer);
        }
    }
}

static void reduce_chunk(kernel_t *k, double *chunk, int count)
{
    int i;

    for (i = 0; i < count; ++i) {
        chunk[i] = k->rank + k->iter + i;
    }

    MPI_Allreduce(MPI_IN_PLACE, chunk, count, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    for (i = 0; i < count; ++i) {
        if (chunk[i] != k->ranks * ((k->ranks - 1) / 2.0 + k->iter + i)) {
            kernel_error(k, "element %d of a reduced chunk is %g", i, chunk[i]);
            break;
        }
    }
}

static void reduce(kernel_t *k, const chunks_t *c)
{
    size_t left   = k->size / sizeof(double);
    double *chunk = c->reduced;
    size_t count;

    for (; left > 0; left -= count, chunk += count) {
        count = CHUNK_BYTES / sizeof(double);
        count = (left < count) ? left : count;
        reduce_chunk(k, chunk, count);
    }
}

/* Which buffers are renewed changes from phase to phase */
static void renew(const kernel_t *k, chunks_t *c)
{
    int phase = k->iter / PHASE;
    buffer_t *buffer;
    int i;

    for (i = 0; i < c->count; ++i) {
        buffer = &c->buffers[i];
        if (!buffer->is_slice && ((i / 2 + phase) % RENEWED == 0)) {
            munmap(buffer->data, buffer->bytes);
            buffer->data = kernel_alloc(k, buffer->bytes);
        }
    }
}

static void chunks_iterate(kernel_t *k, chunks_t *c)
{
    int groups = (c->count + GROUP - 1) / GROUP;
    int first;

    for (first = 0; first < c->count; first += GROUP) {
        exchange_group(k, c, first,
                       (c->count - first < GROUP) ? c->count - first : GROUP);
        kernel_compute(k, (double)k->compute_ms / groups);
    }

    reduce(k, c);
    if (k->iter % PHASE == PHASE - 1) {
        renew(k, c);
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "chunks",
        .what        = "Thousands of buffers of 16 KB to 1 MB, half of them "
                       "touching; 2, 4, 8...\nranks.",
        .size_help   = "of the array that all ranks reduce",
        .size        = 8 * 1024 * 1024,
        .iters       = 12,
        .compute_ms  = 60,
        .option      = "buffers",
        .option_help = "  --buffers N      of each rank (3000)",
        .set_option  = set_buffers
    };
    chunks_t c;

    kernel_begin(&k, argc, argv);
    if ((k.ranks & (k.ranks - 1)) != 0) {
        kernel_fatal(&k, "%d ranks: a power of 2 is needed", k.ranks);
    }
    chunks_init(&k, &c);
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        chunks_iterate(&k, &c);
    }

    chunks_cleanup(&c);
    return kernel_end(&k);
}
