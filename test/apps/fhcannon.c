/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Multiply matrices by Cannon's algorithm, with a square number of processes.
 * Each has a block of A, of B, and of their product; after each step a block
 * of A goes to the left, one of B upwards, a row of the block at a time, by
 * puts or gets of Firehose. The product is checked.
 */

#include "fhjob.h"

#define MAX_WINDOW 64
#define CHECKS     3


typedef struct {
    fhjob_t job;
    int     size;   /* Rows of a matrix */
    int     iters;  /* Multiplications */
    int     gets;
    int     window; /* Transfers under way */
    int     side;   /* Processes in a row */
    int     rows;   /* Of a block */
    double  *product;
} cannon_t;


static cannon_t cannon_app = {
    .job    = {
        .name = "fhcannon", .procs = 4, .libraries = 1, .share = 1 << 20,
        .max_victim = 256 << 10, .bucket = 4096
    },
    .size   = 128,
    .iters  = 4,
    .window = 16
};


static void usage(void)
{
    printf("usage: fhcannon [options]\n"
           "  --size N         rows of a matrix, a multiple of the root of\n"
           "                   procs (128)\n"
           "  --iters N        multiplications (4)\n"
           "  --gets           blocks are got, not put\n"
           "  --window N       transfers under way, 1 to %d (16)\n" FHJOB_HELP,
           MAX_WINDOW);
}

/* Small whole numbers, so that sums of their products are exact */
static double element(int matrix, int row, int column)
{
    return (double)(app_mix(((uint64_t)matrix << 60) + ((uint64_t)row << 30) +
                            column + 1) % 9) - 4;
}

/* A process has two blocks of each matrix, one that it works with and one
 * that the next comes to. @return the offset of one in its memory */
static size_t block_offset(const cannon_t *cannon, int matrix, int which)
{
    return sizeof(double) * cannon->rows * cannon->rows *
           ((matrix * 2) + which);
}

static double *block(const cannon_t *cannon, int matrix, int which)
{
    return (double*)(cannon->job.memory +
                     block_offset(cannon, matrix, which));
}

/* The process that is so many to the right and below */
static int neighbour(const cannon_t *cannon, int right, int below)
{
    int side   = cannon->side;
    int row    = cannon->job.rank / side;
    int column = cannon->job.rank % side;

    return (((row + below + side) % side) * side) +
           ((column + right + side) % side);
}

/* The blocks that Cannon's algorithm begins with are made where they belong */
static void make_blocks(cannon_t *cannon)
{
    int row    = cannon->job.rank / cannon->side;
    int column = cannon->job.rank % cannon->side;
    int middle = (row + column) % cannon->side;
    int rows   = cannon->rows;
    int i, j;

    for (i = 0; i < rows; ++i) {
        for (j = 0; j < rows; ++j) {
            block(cannon, 0, 0)[(i * rows) + j] =
                    element(0, (row * rows) + i, (middle * rows) + j);
            block(cannon, 1, 0)[(i * rows) + j] =
                    element(1, (middle * rows) + i, (column * rows) + j);
        }
    }
}

static void multiply(cannon_t *cannon, int which)
{
    const double *a = block(cannon, 0, which);
    const double *b = block(cannon, 1, which);
    int rows        = cannon->rows;
    int i, j, k;

    for (i = 0; i < rows; ++i) {
        for (k = 0; k < rows; ++k) {
            for (j = 0; j < rows; ++j) {
                cannon->product[(i * rows) + j] += a[(i * rows) + k] *
                                                   b[(k * rows) + j];
            }
        }
    }
}

/* Begin to move a row of a block to its next process, or here */
static ucs_status_ptr_t
begin_row(cannon_t *cannon, fhjob_worker_t *worker, int matrix, int which,
          int row)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    int step                  = cannon->gets ? 1 : -1;
    int peer                  = (matrix == 0) ? neighbour(cannon, step, 0) :
                                                neighbour(cannon, 0, step);
    size_t length             = sizeof(double) * cannon->rows;
    size_t from               = block_offset(cannon, matrix, which) +
                                (length * row);
    size_t to                 = block_offset(cannon, matrix, !which) +
                                (length * row);
    uint64_t base             = cannon->job.shared->bases[peer];

    return cannon->gets ?
        ucp_fh_get_nbx(worker->fh_worker, peer, cannon->job.memory + to, length,
                       base + from, &param) :
        ucp_fh_put_nbx(worker->fh_worker, peer, cannon->job.memory + from,
                       length, base + to, &param);
}

static void shift(cannon_t *cannon, fhjob_worker_t *worker, int which)
{
    ucs_status_ptr_t requests[MAX_WINDOW] = {};
    fhjob_t *job                          = &cannon->job;
    int i, slot;

    for (i = 0; i < 2 * cannon->rows; ++i) {
        slot           = i % cannon->window;
        fhjob_wait(job, worker, requests[slot]);
        requests[slot] = begin_row(cannon, worker, i / cannon->rows, which,
                                   i % cannon->rows);
    }
    for (i = 0; i < cannon->window; ++i) {
        fhjob_wait(job, worker, requests[i]);
    }
    fhjob_flush(job, worker);
}

/* @return which of the blocks are those to begin with in the next
 * multiplication */
static int run_once(cannon_t *cannon, fhjob_worker_t *worker, int which)
{
    int step;

    memset(cannon->product, 0,
           sizeof(double) * cannon->rows * cannon->rows);
    for (step = 0; step < cannon->side; ++step) {
        multiply(cannon, which);
        shift(cannon, worker, which);
        fhjob_barrier(&cannon->job);
        which = !which;
    }
    return which;
}

/* Multiply a matrix, whose elements a function knows, with a vector */
static void
multiply_vector(const cannon_t *cannon, int matrix, const double *vector,
                double *result)
{
    int i, j;

    for (i = 0; i < cannon->size; ++i) {
        result[i] = 0;
        for (j = 0; j < cannon->size; ++j) {
            result[i] += element(matrix, i, j) * vector[j];
        }
    }
}

static double *allocate(size_t number)
{
    double *memory = calloc(number, sizeof(*memory));

    if (memory == NULL) {
        app_fatal("fhcannon: no memory");
    }
    return memory;
}

/* Each process has added what its block of the product makes of a vector;
 * the rows of it that are not A times B times this vector are wrong
 * (Freivalds) */
static void check_vector(cannon_t *cannon, int check)
{
    fhjob_t *job   = &cannon->job;
    double *shared = (double*)job->shared->extra;
    int rows       = cannon->rows;
    int row        = job->rank / cannon->side;
    int column     = job->rank % cannon->side;
    double *vector = allocate(cannon->size);
    double *middle = allocate(cannon->size);
    double *right  = allocate(cannon->size);
    uint64_t errors = 0;
    double sum;
    int i, j;

    for (i = 0; i < cannon->size; ++i) {
        vector[i] = element(2 + check, i, 0);
    }
    for (i = 0; i < rows; ++i) {
        for (j = 0; j < rows; ++j) {
            shared[(column * cannon->size) + (row * rows) + i] +=
                    cannon->product[(i * rows) + j] *
                    vector[(column * rows) + j];
        }
    }
    fhjob_barrier(job);

    if (job->rank == 0) {
        multiply_vector(cannon, 1, vector, middle);
        multiply_vector(cannon, 0, middle, right);
        for (i = 0; i < cannon->size; ++i) {
            for (j = 0, sum = 0; j < cannon->side; ++j) {
                sum += shared[(j * cannon->size) + i];
            }
            errors += sum != right[i];
        }
        fhjob_errors(job, "rows of the product", errors);
        memset(shared, 0, job->extra);
    }
    fhjob_barrier(job);
    free(vector);
    free(middle);
    free(right);
}

static void run(fhjob_t *job)
{
    cannon_t *cannon = &cannon_app;
    int which        = 0;
    fhjob_worker_t worker;
    double seconds;
    int i;

    cannon->product = allocate(cannon->rows * cannon->rows);
    make_blocks(cannon);
    fhjob_worker_open(job, 0, &worker);
    fhjob_barrier(job);
    seconds = app_time();
    for (i = 0; i < cannon->iters; ++i) {
        which = run_once(cannon, &worker, which);
    }
    seconds = app_time() - seconds;
    for (i = 0; i < CHECKS; ++i) {
        check_vector(cannon, i);
    }
    fhjob_count(job);
    fhjob_print(job, "\"size\":%d,\"iters\":%d,\"gets\":%d,\"window\":%d,"
                "\"seconds\":%.6f", cannon->size, cannon->iters, cannon->gets,
                cannon->window, seconds);
    fhjob_worker_close(&worker);
    free(cannon->product);
}

int main(int argc, char **argv)
{
    cannon_t *cannon             = &cannon_app;
    const app_option_t options[] = {
        {"size", .count = &cannon->size},
        {"iters", .count = &cannon->iters},
        {"gets", .flag = &cannon->gets},
        {"window", .count = &cannon->window},
        FHJOB_OPTIONS(&cannon->job),
        {NULL}
    };

    app_parse(argc, argv, "fhcannon", options, usage);
    while ((cannon->side + 1) * (cannon->side + 1) <= cannon->job.procs) {
        ++cannon->side;
    }
    if ((cannon->side * cannon->side != cannon->job.procs) ||
        (cannon->size == 0) || (cannon->size % cannon->side != 0) ||
        (cannon->window < 1) || (cannon->window > MAX_WINDOW)) {
        app_fatal("fhcannon: --procs: accepted are 4, 9 and 16; --size: "
                  "multiples of the root of that; --window: 1 to %d",
                  MAX_WINDOW);
    }

    cannon->rows      = cannon->size / cannon->side;
    cannon->job.heap  = block_offset(cannon, 2, 0);
    cannon->job.extra = sizeof(double) * cannon->size * cannon->side;
    cannon->job.run   = run;
    return fhjob_run(&cannon->job);
}
