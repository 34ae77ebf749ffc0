/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * MPI with OpenMP: each rank sends buffers in turns, to another rank or to itself, and
 * between two messages its threads compute. How many there are can change from phase to
 * phase, so that processors are idle in some and busy in others.
 */

#include "kernel.h"
#include "apps.h"
#include "options.h"

#include <omp.h>

/* Buffers of a rank that take turns */
#define HYBRID_BUFFERS 64

/* Bytes at each end of a message that are written and checked: all of them would take the
 * first thread as long as it computes */
#define HYBRID_CHECKED 64

/* The number of phases that can be told, and iterations until the next one */
#define HYBRID_MAX_PHASES 16
#define HYBRID_PHASE      500


static int hybrid_threads[HYBRID_MAX_PHASES];
static int hybrid_num_phases;


/* A list of numbers with commas */
static void hybrid_set_threads(const char *value)
{
    const char *text = value;
    char *end;
    long num;

    for (hybrid_num_phases = 0;; text = end + 1) {
        num = strtol(text, &end, 10);
        if ((end == text) || (num < 1) || (num > 1024) ||
            ((*end != ',') && (*end != '\0')) ||
            (hybrid_num_phases == HYBRID_MAX_PHASES)) {
            app_fatal("hybrid: --threads: '%s'; accepted: up to %d numbers from 1 to "
                      "1024, with commas", value, HYBRID_MAX_PHASES);
        }

        hybrid_threads[hybrid_num_phases++] = num;
        if (*end == '\0') {
            return;
        }
    }
}

static void hybrid_exchange(kernel_t *k, uint8_t *send, uint8_t *recv)
{
    int peer   = (k->ranks == 1) ? k->rank : (k->rank ^ 1);
    size_t end = k->size - HYBRID_CHECKED;

    kernel_fill(k, send, HYBRID_CHECKED, 0, peer);
    kernel_fill(k, send + end, HYBRID_CHECKED, 1, peer);
    MPI_Sendrecv(send, k->size, MPI_BYTE, peer, 0, recv, k->size, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    kernel_check(k, recv, HYBRID_CHECKED, 0, peer);
    kernel_check(k, recv + end, HYBRID_CHECKED, 1, peer);
}

/* All threads of this phase compute, and wait for each other */
static void hybrid_compute(const kernel_t *k)
{
    int phase = (k->iter / HYBRID_PHASE) % hybrid_num_phases;

#pragma omp parallel num_threads(hybrid_threads[phase])
    kernel_compute(k, k->compute_ms);
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "hybrid",
        .what        = "Messages between which threads compute; 1 rank or an even "
                       "number.",
        .size_help   = "of a buffer",
        .size        = 1024 * 1024,
        .iters       = 2000,
        .compute_ms  = 1,
        .alone       = 1,
        .option      = "threads",
        .option_help = "  --threads LIST   threads of each rank, in turns of 500\n"
                       "                   iterations (OMP_NUM_THREADS)",
        .set_option  = hybrid_set_threads
    };
    uint8_t *send[HYBRID_BUFFERS], *recv;
    int i;

    hybrid_threads[0] = omp_get_max_threads();
    hybrid_num_phases = 1;
    kernel_begin(&k, argc, argv);
    if ((k.ranks > 1) && ((k.ranks % 2) != 0)) {
        kernel_fatal(&k, "%d ranks: 1 or an even number is needed", k.ranks);
    }
    if (k.size < 2 * HYBRID_CHECKED) {
        kernel_fatal(&k, "--size is %zu; accepted are %d and more", k.size,
                     2 * HYBRID_CHECKED);
    }

    recv = kernel_alloc(&k, k.size);
    for (i = 0; i < HYBRID_BUFFERS; ++i) {
        send[i] = kernel_alloc(&k, k.size);
        memset(send[i], i, k.size); /* Who sends it has written it */
    }

    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        hybrid_exchange(&k, send[k.iter % HYBRID_BUFFERS], recv);
        hybrid_compute(&k);
    }

    return kernel_end(&k);
}
