/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Two-dimensional FFTs of a matrix distributed by rows, in the manner of NAS
 * FT: few large buffers, an all-to-all between two phases of computation.
 *
 * Each iteration multiplies the matrix by phase factors, transforms it and
 * transforms it back. What must be left at the end, and the energy in between
 * (Parseval), are known without running the transform.
 */

#include "apps.h"
#include "options.h"

#include <complex.h>
#include <math.h>
#include <mpi.h>

#define TRANSPOSE_PI        3.14159265358979323846
#define TRANSPOSE_TOLERANCE 1e-9

/* The matrix is transposed in blocks that fit every processor's cache. */
#define TRANSPOSE_BLOCK     16


typedef double complex cplx_t;

typedef struct {
    int    n;       /* rows and columns of the matrix */
    int    rows;    /* rows of this rank */
    int    first;   /* the first of them */
    int    size;    /* ranks */
    cplx_t *data;   /* the matrix, or its transform transposed */
    cplx_t *packed; /* what is sent, by receiver */
    cplx_t *arrived; /* what is received, by sender */
    cplx_t *roots;  /* exp(-2 pi i k / n) */
} transpose_t;

typedef struct {
    double   loop_s;
    double   comm_s;
    double   max_error;
    double   checksum;
    uint64_t errors;
} transpose_result_t;


static void transpose_usage(void)
{
    printf("usage: transpose [options]\n"
           "  --n N      rows and columns, a power of 2 and a multiple of the\n"
           "             number of ranks (1024: 24 MB a rank with 2 ranks)\n"
           "  --iters I  iterations (8)\n"
           "  --json     print one line of JSON\n");
}

static void transpose_parse(int argc, char **argv, int *n, int *iters,
                            int *json)
{
    const app_option_t options[] = {
        {"n", .count = n},
        {"iters", .count = iters},
        {"json", .flag = json},
        {NULL}
    };

    app_parse(argc, argv, "transpose", options, transpose_usage);
    if ((*n < 2) || (*n > 32768) || ((*n & (*n - 1)) != 0)) {
        app_fatal("transpose: --n is %d: accepted are powers of 2 from 2 to "
                  "32768", *n);
    }
}

static cplx_t *transpose_alloc(size_t count)
{
    cplx_t *ptr = malloc(count * sizeof(*ptr));

    if (ptr == NULL) {
        app_fatal("transpose: out of memory");
    }

    return ptr;
}

static void transpose_init(transpose_t *t, int n, int rank, int size)
{
    size_t count;
    int k;

    if ((n % size) != 0) {
        app_fatal("transpose: %d ranks do not divide %d rows", size, n);
    }

    t->n       = n;
    t->size    = size;
    t->rows    = n / size;
    t->first   = rank * t->rows;
    count      = (size_t)t->rows * n;
    t->data    = transpose_alloc(count);
    t->packed  = transpose_alloc(count);
    t->arrived = transpose_alloc(count);
    t->roots   = transpose_alloc(n);
    for (k = 0; k < n; ++k) {
        t->roots[k] = cexp(-2.0 * TRANSPOSE_PI * I * k / n);
    }
}

static void transpose_cleanup(transpose_t *t)
{
    free(t->roots);
    free(t->arrived);
    free(t->packed);
    free(t->data);
}

/* The initial value of an element, from -0.5 to 0.5 in each part. */
static cplx_t transpose_initial(int row, int column)
{
    uint64_t x = app_mix(((uint64_t)row << 32) + column + 1);

    return ((double)(x & 0xffff) / 65536 - 0.5) +
           (I * ((double)((x >> 16) & 0xffff) / 65536 - 0.5));
}

/* The phase of an element in an iteration, in units of 2 pi / n. Integers add
 * up exactly, so the sum over the iterations is known exactly as well. */
static int transpose_phase(const transpose_t *t, int row, int column, int iter)
{
    return (int)((((int64_t)row * 3) + ((int64_t)column * 5) + iter) % t->n);
}

static void transpose_evolve(transpose_t *t, int iter)
{
    int i, j;

    for (i = 0; i < t->rows; ++i) {
        for (j = 0; j < t->n; ++j) {
            t->data[((size_t)i * t->n) + j] *=
                    t->roots[transpose_phase(t, t->first + i, j, iter)];
        }
    }
}

/* Fourier transform in place: iterative, radix 2. The inverse is not scaled. */
static void transpose_fft(const transpose_t *t, cplx_t *x, int inverse)
{
    int i, j, k, bit, half, step;
    cplx_t root, odd;

    for (i = 1, j = 0; i < t->n; ++i) {
        for (bit = t->n / 2; j & bit; bit /= 2) {
            j ^= bit;
        }
        j |= bit;
        if (i < j) {
            odd  = x[i];
            x[i] = x[j];
            x[j] = odd;
        }
    }

    for (half = 1; half < t->n; half *= 2) {
        step = t->n / (2 * half);
        for (k = 0; k < half; ++k) {
            root = inverse ? conj(t->roots[k * step]) : t->roots[k * step];
            for (i = k; i < t->n; i += 2 * half) {
                odd         = x[i + half] * root;
                x[i + half] = x[i] - odd;
                x[i]        = x[i] + odd;
            }
        }
    }
}

static void transpose_fft_rows(transpose_t *t, int inverse)
{
    int i;

    for (i = 0; i < t->rows; ++i) {
        transpose_fft(t, &t->data[(size_t)i * t->n], inverse);
    }
}

/* Transpose the whole matrix. @return the time of the exchange. */
static double transpose_exchange(transpose_t *t)
{
    size_t block = (size_t)t->rows * t->rows;
    int p, i, j, i0, j0;
    cplx_t *in, *out;
    double elapsed;

    for (p = 0; p < t->size; ++p) {
        for (i = 0; i < t->rows; ++i) {
            memcpy(&t->packed[(p * block) + ((size_t)i * t->rows)],
                   &t->data[((size_t)i * t->n) + (p * t->rows)],
                   t->rows * sizeof(*t->data));
        }
    }

    elapsed = app_time();
    MPI_Alltoall(t->packed, block, MPI_C_DOUBLE_COMPLEX, t->arrived, block,
                 MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    elapsed = app_time() - elapsed;

    for (p = 0; p < t->size; ++p) {
        in  = &t->arrived[p * block];
        out = &t->data[p * t->rows];
        for (i0 = 0; i0 < t->rows; i0 += TRANSPOSE_BLOCK) {
            for (j0 = 0; j0 < t->rows; j0 += TRANSPOSE_BLOCK) {
                for (i = i0; (i < (i0 + TRANSPOSE_BLOCK)) && (i < t->rows);
                     ++i) {
                    for (j = j0; (j < (j0 + TRANSPOSE_BLOCK)) && (j < t->rows);
                         ++j) {
                        out[((size_t)j * t->n) + i] =
                                in[((size_t)i * t->rows) + j];
                    }
                }
            }
        }
    }

    return elapsed;
}

/* The sum of all |x|^2, which a transform multiplies by a constant. */
static double transpose_energy(const transpose_t *t)
{
    size_t count = (size_t)t->rows * t->n;
    double sum   = 0, total;
    size_t i;

    for (i = 0; i < count; ++i) {
        sum += (creal(t->data[i]) * creal(t->data[i])) +
               (cimag(t->data[i]) * cimag(t->data[i]));
    }

    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

static void transpose_scale(transpose_t *t)
{
    size_t count = (size_t)t->rows * t->n;
    double scale = 1.0 / ((double)t->n * t->n);
    size_t i;

    for (i = 0; i < count; ++i) {
        t->data[i] *= scale;
    }
}

static void transpose_loop(transpose_t *t, int iters,
                           transpose_result_t *result)
{
    double area  = (double)t->n * t->n;
    double start = app_time();
    double before, after;
    int iter;

    before = transpose_energy(t);
    for (iter = 0; iter < iters; ++iter) {
        transpose_evolve(t, iter);
        transpose_fft_rows(t, 0);
        result->comm_s += transpose_exchange(t);
        transpose_fft_rows(t, 0);

        after = transpose_energy(t) / area;
        if (!(fabs(after - before) <= (TRANSPOSE_TOLERANCE * before))) {
            fprintf(stderr,
                    "transpose: iteration %d: energy %.15g, not %.15g\n", iter,
                    after, before);
            ++result->errors;
        }

        transpose_fft_rows(t, 1);
        result->comm_s += transpose_exchange(t);
        transpose_fft_rows(t, 1);
        transpose_scale(t);
    }

    result->loop_s   = app_time() - start;
    result->checksum = transpose_energy(t);
}

static void transpose_fill(transpose_t *t)
{
    int i, j;

    for (i = 0; i < t->rows; ++i) {
        for (j = 0; j < t->n; ++j) {
            t->data[((size_t)i * t->n) + j] = transpose_initial(t->first + i,
                                                                j);
        }
    }
}

static void transpose_verify(const transpose_t *t, int iters,
                             transpose_result_t *result)
{
    int i, j, iter, phase;
    cplx_t expected;
    double error;

    for (i = 0; i < t->rows; ++i) {
        for (j = 0; j < t->n; ++j) {
            for (iter = 0, phase = 0; iter < iters; ++iter) {
                phase = (phase + transpose_phase(t, t->first + i, j, iter)) %
                        t->n;
            }

            expected = transpose_initial(t->first + i, j) * t->roots[phase];
            error    = cabs(t->data[((size_t)i * t->n) + j] - expected);
            /* This way round the condition is true for NaN too */
            if (!(error <= TRANSPOSE_TOLERANCE)) {
                ++result->errors;
            }
            if (!(error <= result->max_error)) {
                result->max_error = error;
            }
        }
    }
}

static void transpose_print(const transpose_t *t, int iters, int json,
                            const transpose_result_t *result)
{
    size_t buffers = 3 * (size_t)t->rows * t->n * sizeof(cplx_t);

    if (json) {
        printf("{\"app\":\"transpose\",\"ranks\":%d,\"n\":%d,\"iters\":%d,"
               "\"buffer_bytes\":%zu,\"loop_s\":%.6f,\"comm_s\":%.6f,"
               "\"checksum\":%.12g,\"max_error\":%.3g,\"errors\":%llu}\n",
               t->size, t->n, iters, buffers, result->loop_s, result->comm_s,
               result->checksum, result->max_error,
               (unsigned long long)result->errors);
    } else {
        printf("transpose: %d ranks, %d x %d, %d iterations, %.1f MB of "
               "buffers a rank: loop %.3f s, exchange %.3f s, checksum %.12g, "
               "largest error %.3g, %llu errors\n",
               t->size, t->n, t->n, iters, buffers / 1048576.0, result->loop_s,
               result->comm_s, result->checksum, result->max_error,
               (unsigned long long)result->errors);
    }
}

int main(int argc, char **argv)
{
    transpose_result_t result = {0}, total;
    int n = 1024, iters = 8, json = 0;
    int rank, size;
    transpose_t t;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    transpose_parse(argc, argv, &n, &iters, &json);

    transpose_init(&t, n, rank, size);
    transpose_fill(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    transpose_loop(&t, iters, &result);
    transpose_verify(&t, iters, &result);

    total = result;
    MPI_Allreduce(&result.errors, &total.errors, 1, MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(&result.max_error, &total.max_error, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    if (rank == 0) {
        transpose_print(&t, iters, json, &total);
    }

    transpose_cleanup(&t);
    MPI_Finalize();
    return total.errors ? 1 : 0;
}
