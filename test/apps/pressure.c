/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A program that has more memory than its control group has room for: each rank computes
 * over pages of its own, in random order, and now and then exchanges large buffers with its
 * neighbours in a ring. As long as the buffers are registered, the kernel can take none of
 * their pages away.
 */

#include "kernel.h"
#include "apps.h"
#include "options.h"

#include <stdlib.h>

#define PAGE_BYTES 4096

/* How often each page of a rank's own memory is touched between two exchanges, on average */
#define WALKS 100


typedef struct {
    int      count;
    char     **sent;
    char     **received;
    size_t   pages;
    uint64_t *own;  /* A word of each page changes */
} memory_t;

static size_t length = 1024 * 1024; /* of a buffer */


static void set_length(const char *value)
{
    length = app_number("buffer", value);
}

static char **alloc_buffers(const kernel_t *k, int count)
{
    char **buffers = calloc(count, sizeof(*buffers));
    int i;

    if (buffers == NULL) {
        kernel_fatal(k, "out of memory");
    }

    for (i = 0; i < count; ++i) {
        buffers[i] = kernel_alloc(k, length);
    }
    return buffers;
}

static void exchange(kernel_t *k, const memory_t *m)
{
    int next     = (k->rank + 1) % k->ranks;
    int previous = (k->rank + k->ranks - 1) % k->ranks;
    int i;

    for (i = 0; i < m->count; ++i) {
        kernel_fill(k, m->sent[i], length, i, next);
        MPI_Sendrecv(m->sent[i], length, MPI_BYTE, next, i, m->received[i],
                     length, MPI_BYTE, previous, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        kernel_check(k, m->received[i], length, i, previous);
    }
}

/* Add 1 to a word of as many pages, chosen at random, as there are pages */
static void walk(const memory_t *m, uint64_t *seed)
{
    size_t i;

    for (i = 0; i < m->pages; ++i) {
        *seed = app_mix(*seed);
        m->own[(*seed % m->pages) * (PAGE_BYTES / sizeof(*m->own))] += 1;
    }
}

static void compute(kernel_t *k, const memory_t *m)
{
    uint64_t seed = app_mix(k->rank * k->iters + k->iter + 1);
    uint64_t sum  = 0;
    size_t i;

    for (i = 0; i < WALKS; ++i) {
        walk(m, &seed);
    }
    for (i = 0; i < m->pages; ++i) {
        sum += m->own[i * (PAGE_BYTES / sizeof(*m->own))];
    }
    if (sum != (k->iter + 1) * WALKS * m->pages) {
        kernel_error(k, "the pages of rank %d have another sum", k->rank);
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "pressure",
        .what        = "More memory than a control group has room for; 2 ranks and more.",
        .size_help   = "of the memory over which each rank computes",
        .size        = 200 * 1024 * 1024,
        .iters       = 6,
        .option      = "buffer",
        .option_help = "  --buffer BYTES   of each buffer (1m); all together have --size",
        .set_option  = set_length
    };
    memory_t m;
    int count;

    kernel_begin(&k, argc, argv);
    if ((length == 0) || (k.size < 2 * length)) {
        kernel_fatal(&k, "--size has to be two buffers or more");
    }
    count = k.size / length / 2;
    m = (memory_t){
        .count    = count,
        .sent     = alloc_buffers(&k, count),
        .received = alloc_buffers(&k, count),
        .pages    = k.size / PAGE_BYTES,
        .own      = kernel_alloc(&k, k.size + PAGE_BYTES)
    };
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        exchange(&k, &m);
        compute(&k, &m);
    }

    free(m.sent);
    free(m.received);
    return kernel_end(&k);
}
