/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What the programs that measure Firehose have in common. A program says what
 * its job is; the processes of the job are started here, on this machine,
 * without MPI, each with the library and memory that its peers may access.
 * What is to be known of all of them is in memory that they share, and the
 * last thing is one line of JSON.
 */

#ifndef TEST_APPS_FHJOB_H_
#define TEST_APPS_FHJOB_H_

#include "apps.h"
#include "options.h"

#include <ucp/firehose/api/firehose.h>

#include <pthread.h>

#define FHJOB_MAX_PROCS   16
#define FHJOB_MAX_THREADS 16
#define FHJOB_MAX_ADDRESS 4096
#define FHJOB_MAX_KEY     512
#define FHJOB_PAGE        4096 /* Bytes; contents are made in pages */

/* What processes share. Each writes what is its own, and the others read it
 * after a barrier */
typedef struct {
    pthread_barrier_t barrier;
    uint64_t          bases[FHJOB_MAX_PROCS];   /* Of their memory */
    ucp_fh_stats_t    stats[FHJOB_MAX_PROCS];   /* fhjob_count() */
    size_t            address_lengths[FHJOB_MAX_PROCS];
    char              addresses[FHJOB_MAX_PROCS][FHJOB_MAX_THREADS]
                               [FHJOB_MAX_ADDRESS]; /* Of their libraries */
    char              ucp_addresses[FHJOB_MAX_PROCS][FHJOB_MAX_ADDRESS];
    char              keys[FHJOB_MAX_PROCS][FHJOB_MAX_KEY];
    uint64_t          errors;  /* Of all, added atomically */
    int               is_over; /* Atomic: those who serve may end */
    uint64_t          extra[]; /* The program's own */
} fhjob_shared_t;


typedef struct fhjob {
    /* Set by the program before fhjob_run(), some of it by options */
    const char     *name;
    void           (*run)(struct fhjob *job); /* In each process */
    int            procs;
    int            libraries;  /* Of a process, 0 and more */
    size_t         heap;       /* Bytes of a process that peers may access */
    size_t         share;      /* Bytes that each process may have pinned of a
                                  peer, by all of its libraries together */
    size_t         max_victim; /* Bytes, of all libraries of a process */
    size_t         bucket;
    size_t         extra;      /* Bytes of fhjob_shared_t::extra */

    /* Set by fhjob_run() */
    int            rank;
    ucp_context_h  context;
    ucp_fh_h       fhs[FHJOB_MAX_THREADS];
    ucp_fh_mem_h   mems[FHJOB_MAX_THREADS];
    uint8_t        *memory;    /* Of so many bytes as heap, zeros */
    fhjob_shared_t *shared;
} fhjob_t;


/* How a thread accesses memory of peers */
typedef struct {
    ucp_worker_h    ucp_worker;
    ucp_fh_worker_h fh_worker;
} fhjob_worker_t;


/* Rows of a list of options, and what --help says of them */
#define FHJOB_OPTIONS(_job) \
    {"procs", .count = &(_job)->procs}, \
    {"share", .size = &(_job)->share}, \
    {"maxvictim", .size = &(_job)->max_victim}, \
    {"bucket", .size = &(_job)->bucket}

#define FHJOB_HELP \
    "  --procs N        processes, 2 to 16\n" \
    "  --share BYTES    that each process may have pinned of a peer\n" \
    "  --maxvictim BYTES\n" \
    "  --bucket BYTES   4k and more; 0: what the library chooses\n"


/* Start the processes, and wait for them. @return the exit status */
int fhjob_run(fhjob_t *job);

/* End the program unless it is UCS_OK. */
void fhjob_check(const fhjob_t *job, ucs_status_t status, const char *what);

/* Wait for all processes. */
void fhjob_barrier(fhjob_t *job);

/* Something was wrong so many times. Any thread. */
void fhjob_errors(fhjob_t *job, const char *what, uint64_t number);

/* A thread begins and ends to use one of the libraries. */
void fhjob_worker_open(fhjob_t *job, int library, fhjob_worker_t *w);
void fhjob_worker_close(fhjob_worker_t *w);

/* Wait for what was begun on a worker, and free it. */
void fhjob_wait(fhjob_t *job, fhjob_worker_t *w, ucs_status_ptr_t request);

/* Complete all that was begun on a worker, here and at the peers. */
void fhjob_flush(fhjob_t *job, fhjob_worker_t *w);

/* What the libraries of this process have counted, all together. */
void fhjob_query(const fhjob_t *job, ucp_fh_stats_t *stats);

/* Take down what was counted by now. Then each process waits for all. */
void fhjob_count(fhjob_t *job);

/* The first process prints the result: what all of them have in common, and
 * what is said here, '"name":value' with commas between. After
 * fhjob_count(). */
void fhjob_print(const fhjob_t *job, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* Memory of this process that it has pinned on its own, for operations to
 * use. */
ucp_mem_h fhjob_map(fhjob_t *job, void *memory, size_t length);

/* Make parameters of an operation whose buffer is in such memory. */
ucp_request_param_t fhjob_param(ucp_mem_h memh);


/* A page has a stamp, and after it what all pages have. The stamp says where
 * the page is, and which operation wrote it; 0 stands for what was there
 * before. */
void fhjob_fill_page(void *page);
void fhjob_stamp_page(void *page, uint64_t number, uint64_t op);

/* @return whether it has the stamp */
int fhjob_has_stamp(const void *page, uint64_t number, uint64_t op);

/* @return whether it has that, and the rest is right; with @a op 0, all
 * zeros are right as well */
int fhjob_check_page(const void *page, uint64_t number, uint64_t op);

#endif
