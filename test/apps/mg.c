/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The communication of a multigrid solver, in the manner of NAS MG: on each grid of a
 * V-cycle, from the finest to the coarsest and back, neighbours exchange the faces of
 * their parts. All grids use the same buffers, each for a quarter of the bytes that the
 * next finer one has there.
 */

#include "kernel.h"

#define MG_GRIDS 6

/* The operations on a grid. In the parentheses, what NAS MG calls them */
typedef enum {
    MG_RESTRICT, /* to this grid (rprj3) */
    MG_RESIDUAL, /* (resid) */
    MG_SMOOTH,   /* (psinv) */
    MG_NORM,     /* the residual once more, after the cycle */
    MG_OPS
} mg_op_t;

/* How many of them the finest grid has, which take nearly all of the time */
#define MG_FINEST_OPS 3

/* To the previous rank and to the next one of the ring */
#define MG_SIDES 2

typedef struct {
    int     peer[MG_SIDES];
    uint8_t *in[MG_SIDES];
    uint8_t *out[MG_SIDES];
} mg_t;


static void mg_init(const kernel_t *k, mg_t *mg)
{
    int side;

    if (k->ranks % 2 != 0) {
        kernel_fatal(k, "%d ranks: accepted are even numbers", k->ranks);
    }

    mg->peer[0] = (k->rank + k->ranks - 1) % k->ranks;
    mg->peer[1] = (k->rank + 1) % k->ranks;
    for (side = 0; side < MG_SIDES; ++side) {
        mg->in[side]  = kernel_alloc(k, k->size);
        mg->out[side] = kernel_alloc(k, k->size);
    }
}

/* Compute on a grid, which has an eighth of the points of the next finer one, and
 * exchange its faces. Ranks with even numbers begin with the next rank, and those with odd
 * ones with the previous one */
static void mg_step(kernel_t *k, mg_t *mg, int grid, mg_op_t op)
{
    size_t size = k->size >> (2 * grid);
    int i, side;

    kernel_compute(k, (double)k->compute_ms / MG_FINEST_OPS / (1 << (3 * grid)));
    for (i = 0; i < MG_SIDES; ++i) {
        side = (k->rank + i + 1) % MG_SIDES;
        kernel_exchange(k, mg->out[side], mg->in[side], size,
                        (((grid * MG_OPS) + op) * MG_SIDES) +
                        ((k->rank + side) % MG_SIDES),
                        mg->peer[side]);
    }
}

static void mg_cycle(kernel_t *k, mg_t *mg)
{
    int grid;

    for (grid = 1; grid < MG_GRIDS; ++grid) {
        mg_step(k, mg, grid, MG_RESTRICT);
    }
    mg_step(k, mg, MG_GRIDS - 1, MG_SMOOTH);
    for (grid = MG_GRIDS - 2; grid >= 0; --grid) {
        mg_step(k, mg, grid, MG_RESIDUAL);
        mg_step(k, mg, grid, MG_SMOOTH);
    }
    mg_step(k, mg, 0, MG_NORM);
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name       = "mg",
        .what       = "Exchanges of a multigrid solver; an even number of ranks.",
        .size_help  = "of a face of the finest grid",
        .size       = 1024 * 1024,
        .iters      = 6,
        .compute_ms = 80
    };
    mg_t mg;

    kernel_begin(&k, argc, argv);
    mg_init(&k, &mg);
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        mg_cycle(&k, &mg);
    }

    return kernel_end(&k);
}
