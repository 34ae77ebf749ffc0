/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Pipelined sweeps over a two-dimensional process grid, in the manner of NAS
 * LU, SP and BT: a wave of blocks goes from one corner of the grid to the
 * other, and one goes back; then neighbours exchange whole faces, and a long
 * computation follows.
 */

#include "kernel.h"

#define WAVE_BLOCKS 4
/* Part of the computation of an iteration that is done in each block */
#define WAVE_SHARE  0.02

/* Step numbers of messages */
#define WAVE_FORWARD  0
#define WAVE_BACKWARD WAVE_BLOCKS
#define WAVE_FACES    (2 * WAVE_BLOCKS)


typedef enum {
    WEST,
    NORTH,
    EAST,
    SOUTH,
    NUM_SIDES
} wave_side_t;

typedef struct {
    int     peer[NUM_SIDES]; /* ranks, MPI_PROC_NULL at the border */
    uint8_t *in[NUM_SIDES];  /* Buffers for what comes from there in sweeps */
    uint8_t *out[NUM_SIDES]; /* Buffers for what goes there in sweeps */
    uint8_t *face_in[NUM_SIDES];
    uint8_t *face_out[NUM_SIDES];
} wave_t;


static void wave_init(const kernel_t *k, wave_t *wave)
{
    int dims[2] = {0, 0};
    int row, col, side;

    MPI_Dims_create(k->ranks, 2, dims);
    row = k->rank / dims[1];
    col = k->rank % dims[1];
    wave->peer[WEST]  = (col > 0) ? (k->rank - 1) : MPI_PROC_NULL;
    wave->peer[EAST]  = (col < dims[1] - 1) ? (k->rank + 1) : MPI_PROC_NULL;
    wave->peer[NORTH] = (row > 0) ? (k->rank - dims[1]) : MPI_PROC_NULL;
    wave->peer[SOUTH] = (row < dims[0] - 1) ? (k->rank + dims[1]) :
                                              MPI_PROC_NULL;

    for (side = 0; side < NUM_SIDES; ++side) {
        wave->in[side]       = kernel_alloc(k, k->size);
        wave->out[side]      = kernel_alloc(k, k->size);
        wave->face_in[side]  = kernel_alloc(k, k->size);
        wave->face_out[side] = kernel_alloc(k, k->size);
    }
}

static void wave_receive(kernel_t *k, wave_t *wave, wave_side_t side,
                         size_t offset, size_t length, int step)
{
    if (wave->peer[side] == MPI_PROC_NULL) {
        return;
    }

    MPI_Recv(wave->in[side] + offset, length, MPI_BYTE, wave->peer[side], step,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    kernel_check(k, wave->in[side] + offset, length, step, wave->peer[side]);
}

static void wave_send(kernel_t *k, wave_t *wave, wave_side_t side,
                      size_t offset, size_t length, int step)
{
    if (wave->peer[side] == MPI_PROC_NULL) {
        return;
    }

    kernel_fill(k, wave->out[side] + offset, length, step, wave->peer[side]);
    MPI_Send(wave->out[side] + offset, length, MPI_BYTE, wave->peer[side], step,
             MPI_COMM_WORLD);
}

/* A block is computed when those of two neighbours have come. After it, two
 * others can be computed. */
static void wave_sweep(kernel_t *k, wave_t *wave, wave_side_t from1,
                       wave_side_t from2, wave_side_t to1, wave_side_t to2,
                       int first_step)
{
    size_t length = k->size / WAVE_BLOCKS;
    int block;

    for (block = 0; block < WAVE_BLOCKS; ++block) {
        wave_receive(k, wave, from1, block * length, length,
                     first_step + block);
        wave_receive(k, wave, from2, block * length, length,
                     first_step + block);
        kernel_compute(k, k->compute_ms * WAVE_SHARE);
        wave_send(k, wave, to1, block * length, length, first_step + block);
        wave_send(k, wave, to2, block * length, length, first_step + block);
    }
}

static void wave_faces(kernel_t *k, wave_t *wave)
{
    MPI_Request requests[2 * NUM_SIDES];
    int num = 0;
    int side;

    for (side = 0; side < NUM_SIDES; ++side) {
        if (wave->peer[side] == MPI_PROC_NULL) {
            continue;
        }

        MPI_Irecv(wave->face_in[side], k->size, MPI_BYTE, wave->peer[side],
                  WAVE_FACES, MPI_COMM_WORLD, &requests[num++]);
        kernel_fill(k, wave->face_out[side], k->size, WAVE_FACES,
                    wave->peer[side]);
        MPI_Isend(wave->face_out[side], k->size, MPI_BYTE, wave->peer[side],
                  WAVE_FACES, MPI_COMM_WORLD, &requests[num++]);
    }

    MPI_Waitall(num, requests, MPI_STATUSES_IGNORE);
    for (side = 0; side < NUM_SIDES; ++side) {
        if (wave->peer[side] != MPI_PROC_NULL) {
            kernel_check(k, wave->face_in[side], k->size, WAVE_FACES,
                         wave->peer[side]);
        }
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name       = "wavefront",
        .what       = "Sweeps over a process grid, exchange of faces, and "
                      "computation; 2 ranks or more.",
        .size_help  = "of a face; a sweep sends it in 4 blocks",
        .size       = 1024 * 1024,
        .iters      = 6,
        .compute_ms = 500
    };
    wave_t wave;

    kernel_begin(&k, argc, argv);
    wave_init(&k, &wave);
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        wave_sweep(&k, &wave, WEST, NORTH, EAST, SOUTH, WAVE_FORWARD);
        wave_sweep(&k, &wave, EAST, SOUTH, WEST, NORTH, WAVE_BACKWARD);
        wave_faces(&k, &wave);
        kernel_compute(&k, k.compute_ms * (1 - (2 * WAVE_BLOCKS * WAVE_SHARE)));
    }

    return kernel_end(&k);
}
