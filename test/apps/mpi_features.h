/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Parts of MPI that programs use and that the other programs here do not. Each
 * feature is a function that all ranks call together; what arrives is compared
 * byte by byte, and what is wrong is reported and counted.
 */

#ifndef TEST_APPS_MPI_FEATURES_H_
#define TEST_APPS_MPI_FEATURES_H_

#include "apps.h"

#include <mpi.h>

/* What memory has where nothing may arrive */
#define FEATURES_UNTOUCHED 0xa5


typedef struct {
    int        rank;
    int        size;    /* Ranks */
    size_t     bytes;   /* Of a message; a multiple of 4096 */
    int        rounds;  /* How often each feature is used */
    uint64_t   errors;  /* Wrong bytes seen by this rank */
    const char *name;   /* Of the feature */
    const char *program;/* argv[0], for MPI_Comm_spawn */
} features_t;

typedef void (*features_func_t)(features_t *f);


/* Memory of its own mapping, so that it leaves no address behind that UCX does
 * not know of. Every byte is FEATURES_UNTOUCHED. */
void *features_alloc(size_t size);

void features_free(void *ptr, size_t size);

/* What rank "from" sends to rank "to" in a round. */
uint64_t features_key(int round, int from, int to);

/* Report and count the bytes that are not those of the message. */
void features_check(features_t *f, const void *buffer, size_t length,
                    uint64_t key, uint64_t offset);

/* Report and count the bytes that were written to and should not. */
void features_check_untouched(features_t *f, const void *buffer, size_t length);

/* Count an error, and say what it is. */
void features_wrong(features_t *f, const char *what, long long value,
                    long long expected);

/* Send to the next and receive from the previous rank of a communicator, and
 * check it. */
void features_ring(features_t *f, MPI_Comm comm, int round);

/* mpi_features_messages.c */
void features_persistent(features_t *f);
void features_modes(features_t *f);
void features_probe(features_t *f);
void features_cancel(features_t *f);
void features_truncate(features_t *f);

/* mpi_features_types.c */
void features_vector(features_t *f);
void features_struct(features_t *f);
void features_subarray(features_t *f);

/* mpi_features_comms.c */
void features_comms(features_t *f);
void features_intercomm(features_t *f);
void features_spawn(features_t *f);
void features_spawned(features_t *f, MPI_Comm parent);
void features_shared(features_t *f);

/* mpi_features_collectives.c */
void features_rooted(features_t *f);
void features_all(features_t *f);
void features_reductions(features_t *f);
void features_overlapped(features_t *f);

/* mpi_features_windows.c */
void features_windows(features_t *f);
void features_dynamic(features_t *f);
void features_atomics(features_t *f);

#endif
