/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What the kernels have in common: options, buffers, messages that are checked
 * byte by byte, and the result. A kernel says what it is, communicates, and
 * leaves the rest to this file.
 */

#ifndef TEST_APPS_KERNEL_H_
#define TEST_APPS_KERNEL_H_

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>


typedef struct kernel {
    /* Set by the kernel before kernel_begin */
    const char *name;
    const char *what;        /* it does, and with how many ranks */
    const char *size_help;   /* what --size is the size of */
    size_t     size;         /* default, then as asked for: of each rank */
    int        iters;        /* default, then as asked for */
    int        compute_ms;   /* default, then as asked for: in an iteration */
    int        alone;        /* whether 1 rank will do */
    const char *option;      /* an option of its own, which takes a value, or
                                NULL */
    const char *option_help;
    void       (*set_option)(const char *value);

    /* Set by kernel_begin */
    int        rank;
    int        ranks;
    int        strong;       /* size was of all ranks together */
    int        huge;         /* one of so many buffers is in huge pages */
    int        json;
    uint64_t   work_per_ms;

    /* The iteration under way: set by the kernel, part of every message */
    int        iter;

    double     begin;
    uint64_t   errors;       /* of this rank */
} kernel_t;


/* End the program with status 2, and say why it cannot run. */
void kernel_fatal(const kernel_t *k, const char *fmt, ...)
        __attribute__((format(printf, 2, 3), noreturn));

/* Initialize MPI and parse the command line. Bad arguments end the program. */
void kernel_begin(kernel_t *k, int argc, char **argv);

/* Allocate memory in a mapping of its own, filled with zeros. It is freed when
 * the program ends. */
void *kernel_alloc(const kernel_t *k, size_t size);

/* Wait until all ranks are ready, and measure the time from now on. */
void kernel_start(kernel_t *k);

/* Compute for about so long. */
void kernel_compute(const kernel_t *k, double ms);

/* Write the message that goes from this rank to another in this iteration.
 * step tells apart several messages between the two. */
void kernel_fill(const kernel_t *k, void *buffer, size_t size, int step,
                 int to);

/* Check the message from another rank, and report and count wrong bytes. */
void kernel_check(kernel_t *k, const void *buffer, size_t size, int step,
                  int from);

/* Report that something other than the bytes of a message is wrong. */
void kernel_error(kernel_t *k, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Write a message, exchange it with another rank, and check what comes. */
void kernel_exchange(kernel_t *k, void *send, void *recv, size_t size, int step,
                     int peer);

/* Print the result and finalize MPI. @return the exit status. */
int kernel_end(kernel_t *k);

#endif
