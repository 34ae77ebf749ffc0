/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The communication of a conjugate gradient solver on a matrix distributed in
 * two dimensions, in the manner of NAS CG: partial products are added up within
 * the rows of a process grid, the result goes to the transpose partner, and two
 * dot products follow. Many such steps with little computation in between make
 * an iteration; one more step at its end is called from elsewhere.
 */

#include "kernel.h"

#define CG_STEPS     8
#define CG_TRANSPOSE 32 /* Number of the step; those before it are of rows */


typedef struct {
    /* Columns of the process grid, which has as many rows, or half as many */
    int     cols;
    int     row;
    int     col;
    int     transpose; /* rank of the transpose partner */
    uint8_t *w;        /* partial products */
    uint8_t *q;        /* those of others */
    uint8_t *p;        /* the vector, as the transpose partner sends it */
} cg_t;


static void cg_init(kernel_t *k, cg_t *cg)
{
    int wide; /* columns of the grid for each of its rows */

    if ((k->ranks & (k->ranks - 1)) != 0) {
        kernel_fatal(k, "%d ranks: accepted are powers of 2", k->ranks);
    }

    for (cg->cols = 1; cg->cols * cg->cols < k->ranks; cg->cols *= 2);
    wide          = cg->cols * cg->cols / k->ranks;
    cg->row       = k->rank / cg->cols;
    cg->col       = k->rank % cg->cols;
    cg->transpose = ((cg->col / wide) * cg->cols) + (cg->row * wide) +
                    (cg->col % wide);
    cg->w         = kernel_alloc(k, k->size);
    cg->q         = kernel_alloc(k, k->size);
    cg->p         = kernel_alloc(k, k->size);
}

/* Recursive halving: in each step one half of what is left is sent to be added
 * up by the partner, who sends the other half. What remains, added up over the
 * row, goes to the transpose partner. */
static void cg_multiply(kernel_t *k, cg_t *cg)
{
    size_t start  = 0;
    size_t length = k->size;
    size_t send;
    int bit;

    for (bit = cg->cols / 2; bit > 0; bit /= 2) {
        length /= 2;
        send    = start + ((cg->col & bit) ? 0 : length);
        start  += (cg->col & bit) ? length : 0;
        kernel_exchange(k, cg->w + send, cg->q + start, length, bit,
                        (cg->row * cg->cols) + (cg->col ^ bit));
    }

    if (cg->transpose != k->rank) {
        kernel_exchange(k, cg->w + start, cg->p, length, CG_TRANSPOSE,
                        cg->transpose);
    }
}

static void cg_dot_product(kernel_t *k)
{
    double local    = (double)(k->rank + 1) * (k->iter + 1);
    double expected = 0.5 * k->ranks * (k->ranks + 1) * (k->iter + 1);
    double sum;

    MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (sum != expected) {
        kernel_error(k, "the sum is %g, not %g", sum, expected);
    }
}

static void cg_iteration(kernel_t *k, cg_t *cg)
{
    int i;

    for (i = 0; i < CG_STEPS; ++i) {
        kernel_compute(k, (double)k->compute_ms / CG_STEPS);
        cg_multiply(k, cg);
        cg_dot_product(k);
        cg_dot_product(k);
    }

    /* As in CG, the residual takes one more product and one more sum */
    cg_multiply(k, cg);
    cg_dot_product(k);
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name       = "cg",
        .what       = "Exchanges of a conjugate gradient solver; a power of 2 "
                      "ranks.",
        .size_help  = "of the vector of a rank",
        .size       = 1024 * 1024,
        .iters      = 6,
        .compute_ms = 80
    };
    cg_t cg;

    kernel_begin(&k, argc, argv);
    cg_init(&k, &cg);
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        cg_iteration(&k, &cg);
    }

    return kernel_end(&k);
}
