/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * More buffers than anybody may want to have registered at a time: pairs of
 * ranks send each other one after the other, and each buffer is sent in one
 * iteration and received into in the next.
 */

#include "kernel.h"
#include "apps.h"
#include "options.h"


/* Bytes between two buffers, a page: their registrations are apart for the kernel as well */
#define GAP 4096

static int manybuf_num = 25;


static void manybuf_set_num(const char *value)
{
    uint64_t num = app_number("buffers", value);

    if ((num < 1) || (num > 32767)) {
        app_fatal("manybuf: --buffers: '%s'; accepted: 1 to 32767", value);
    }

    manybuf_num = num;
}

static void manybuf_transfer(kernel_t *k, uint8_t *buffer, int index)
{
    int peer = k->rank ^ 1;

    if (((k->iter + index + k->rank) % 2) == 0) {
        kernel_fill(k, buffer, k->size, index, peer);
        MPI_Send(buffer, k->size, MPI_BYTE, peer, index, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buffer, k->size, MPI_BYTE, peer, index, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        kernel_check(k, buffer, k->size, index, peer);
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "manybuf",
        .what        = "Many large buffers that take turns; an even number of "
                       "ranks.",
        .size_help   = "of a buffer",
        .size        = 8 * 1024 * 1024,
        .iters       = 2,
        .compute_ms  = 100,
        .option      = "buffers",
        .option_help = "  --buffers N      buffers of each rank (25)",
        .set_option  = manybuf_set_num
    };
    uint8_t **buffers;
    int i;

    kernel_begin(&k, argc, argv);
    if ((k.ranks % 2) != 0) {
        kernel_fatal(&k, "%d ranks: an even number is needed", k.ranks);
    }

    buffers = kernel_alloc(&k, manybuf_num * sizeof(*buffers));
    for (i = 0; i < manybuf_num; ++i) {
        buffers[i] = kernel_alloc(&k, k.size + GAP);
    }

    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        for (i = 0; i < manybuf_num; ++i) {
            manybuf_transfer(&k, buffers[i], i);
        }
        kernel_compute(&k, k.compute_ms);
    }

    return kernel_end(&k);
}
