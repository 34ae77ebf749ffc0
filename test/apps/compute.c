/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "compute.h"
#include "apps.h"

#include <mpi.h>

/* A shorter measurement would be one of the clock and the scheduler, s */
#define COMPUTE_CALIBRATION 0.05


/* The compiler must neither foresee the result of the work nor drop it. */
static _Thread_local volatile double compute_value = 2.0;


void __attribute__((noinline)) app_compute(uint64_t work)
{
    double x = compute_value;
    uint64_t i;

    for (i = 0; i < work; ++i) {
        /* The value goes towards 1 and, unlike a sum, stays a normal number */
        x = (x * 0.999999) + 0.000001;
    }

    compute_value = x;
}

uint64_t app_work_per_ms(void)
{
    uint64_t work = 1000;
    double elapsed, rate, sum;
    int size;

    for (;;) {
        elapsed = app_time();
        app_compute(work);
        elapsed = app_time() - elapsed;
        if (elapsed > COMPUTE_CALIBRATION) {
            break;
        }
        work *= 2;
    }

    rate = work / (elapsed * 1e3);
    MPI_Allreduce(&rate, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return sum / size;
}
