/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Keys that nobody uses where others lack some: half of the ranks exchange many buffers,
 * and compute from then on, with all of the buffers registered; the other half begins to
 * exchange as many.
 */

#include "kernel.h"
#include "apps.h"
#include "options.h"


/* Bytes between two buffers, a page: their registrations are apart for the kernel as well */
#define GAP 4096

static int asked_buffers = 100;


static void set_buffers(const char *value)
{
    asked_buffers = app_number("buffers", value);
}

/* Pairs of ranks send each other all buffers, by one of the two in turns */
static void exchange_all(kernel_t *k, uint8_t **buffers)
{
    int peer = k->rank ^ 1;
    int i;

    for (i = 0; i < asked_buffers; ++i) {
        if (((k->iter + i + k->rank) % 2) == 0) {
            kernel_fill(k, buffers[i], k->size, i, peer);
            MPI_Send(buffers[i], k->size, MPI_BYTE, peer, i, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffers[i], k->size, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            kernel_check(k, buffers[i], k->size, i, peer);
        }
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "idlekeys",
        .what        = "Half of the ranks exchange buffers once and compute, the other "
                       "half exchange\nas many in all iterations; a multiple of 4 ranks.",
        .size_help   = "of a buffer",
        .size        = 256 * 1024,
        .iters       = 20,
        .compute_ms  = 100,
        .option      = "buffers",
        .option_help = "  --buffers N      buffers of each rank (100)",
        .set_option  = set_buffers
    };
    uint8_t **buffers;
    double begin;
    int holds, i;

    kernel_begin(&k, argc, argv);
    if ((k.ranks % 4) != 0) {
        kernel_fatal(&k, "%d ranks: a multiple of 4 is needed", k.ranks);
    }

    holds   = (k.rank < k.ranks / 2);
    buffers = kernel_alloc(&k, asked_buffers * sizeof(*buffers));
    for (i = 0; i < asked_buffers; ++i) {
        buffers[i] = kernel_alloc(&k, k.size + GAP);
    }

    if (holds) {
        exchange_all(&k, buffers);
    }

    kernel_start(&k);
    begin = app_time();
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        if (holds) {
            kernel_compute(&k, k.compute_ms);
        } else {
            exchange_all(&k, buffers);
        }
    }

    if (k.rank == k.ranks - 1) {
        fprintf(stderr, "idlekeys: the exchanges took %.3f s\n", app_time() - begin);
    }
    return kernel_end(&k);
}
