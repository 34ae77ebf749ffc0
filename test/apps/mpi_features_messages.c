/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Ways to send and to receive.
 */

#include "mpi_features.h"

#define FEATURES_NUM_BUFFERS 3


/* Requests that are made once and started in each round, on buffers that stay */
void features_persistent(features_t *f)
{
    int next     = (f->rank + 1) % f->size;
    int previous = (f->rank + f->size - 1) % f->size;
    void *out[FEATURES_NUM_BUFFERS], *in[FEATURES_NUM_BUFFERS];
    MPI_Request requests[2 * FEATURES_NUM_BUFFERS];
    int i, round;

    for (i = 0; i < FEATURES_NUM_BUFFERS; ++i) {
        out[i] = features_alloc(f->bytes);
        in[i]  = features_alloc(f->bytes);
        MPI_Recv_init(in[i], f->bytes, MPI_BYTE, previous, i, MPI_COMM_WORLD,
                      &requests[i]);
        MPI_Send_init(out[i], f->bytes, MPI_BYTE, next, i, MPI_COMM_WORLD,
                      &requests[FEATURES_NUM_BUFFERS + i]);
    }

    for (round = 0; round < (5 * f->rounds); ++round) {
        for (i = 0; i < FEATURES_NUM_BUFFERS; ++i) {
            app_pattern_fill(out[i], f->bytes,
                             features_key(round, f->rank, next) + i, 0);
        }

        MPI_Startall(2 * FEATURES_NUM_BUFFERS, requests);
        MPI_Waitall(2 * FEATURES_NUM_BUFFERS, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < FEATURES_NUM_BUFFERS; ++i) {
            features_check(f, in[i], f->bytes,
                           features_key(round, previous, f->rank) + i, 0);
        }
    }

    for (i = 0; i < (2 * FEATURES_NUM_BUFFERS); ++i) {
        MPI_Request_free(&requests[i]);
    }
    for (i = 0; i < FEATURES_NUM_BUFFERS; ++i) {
        features_free(out[i], f->bytes);
        features_free(in[i], f->bytes);
    }
}

/* Synchronous, ready and buffered sends. The memory that was attached for the
 * latter is unmapped while the receiver may still be at work. */
void features_modes(features_t *f)
{
    size_t attached_size = f->bytes + MPI_BSEND_OVERHEAD;
    int next             = (f->rank + 1) % f->size;
    int previous         = (f->rank + f->size - 1) % f->size;
    void *out            = features_alloc(f->bytes);
    void *in[3], *attached;
    MPI_Request requests[4];
    int i, round, size;

    for (round = 0; round < f->rounds; ++round) {
        attached = features_alloc(attached_size);
        MPI_Buffer_attach(attached, attached_size);
        for (i = 0; i < 3; ++i) {
            in[i] = features_alloc(f->bytes);
            MPI_Irecv(in[i], f->bytes, MPI_BYTE, previous, i, MPI_COMM_WORLD,
                      &requests[i]);
        }
        app_pattern_fill(out, f->bytes, features_key(round, f->rank, next), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Issend(out, f->bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD,
                   &requests[3]);
        MPI_Rsend(out, f->bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD);
        MPI_Bsend(out, f->bytes, MPI_BYTE, next, 2, MPI_COMM_WORLD);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Buffer_detach(&attached, &size);
        features_free(attached, attached_size);
        for (i = 0; i < 3; ++i) {
            features_check(f, in[i], f->bytes,
                           features_key(round, previous, f->rank), 0);
            features_free(in[i], f->bytes);
        }
    }

    features_free(out, f->bytes);
}

/* Memory for a message is taken when its size is known, of any sender */
void features_probe(features_t *f)
{
    int next  = (f->rank + 1) % f->size;
    void *out = features_alloc(f->bytes);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int round, length, expected;
    void *in;

    for (round = 0; round < f->rounds; ++round) {
        expected = f->bytes - round;
        app_pattern_fill(out, expected, features_key(round, f->rank, next), 0);
        MPI_Isend(out, expected, MPI_BYTE, next, round, MPI_COMM_WORLD,
                  &request);
        MPI_Mprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &length);
        if (length != expected) {
            features_wrong(f, "probed length", length, expected);
        }

        in = features_alloc(f->bytes);
        MPI_Mrecv(in, length, MPI_BYTE, &message, &status);
        features_check(f, in, expected,
                       features_key(round, status.MPI_SOURCE, f->rank), 0);
        features_free(in, f->bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }

    features_free(out, f->bytes);
}

/* A receive that is given up, whose memory goes, and other receives after it */
void features_cancel(features_t *f)
{
    MPI_Request request;
    MPI_Status status;
    int round, cancelled;
    void *in;

    for (round = 0; round < f->rounds; ++round) {
        in = features_alloc(f->bytes);
        MPI_Irecv(in, f->bytes, MPI_BYTE, MPI_ANY_SOURCE, 1000 + round,
                  MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        if (!cancelled) {
            features_wrong(f, "cancelled", 0, 1);
        }

        features_check_untouched(f, in, f->bytes);
        features_free(in, f->bytes);
        features_ring(f, MPI_COMM_WORLD, round);
    }
}

/* A message that is longer than the memory for it is an error, and all goes on */
void features_truncate(features_t *f)
{
    int next  = (f->rank + 1) % f->size;
    void *out = features_alloc(f->bytes);
    void *in  = features_alloc(f->bytes);
    int round, status, class;
    MPI_Request request;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    app_pattern_fill(out, f->bytes, features_key(0, f->rank, next), 0);
    for (round = 0; round < f->rounds; ++round) {
        MPI_Isend(out, f->bytes, MPI_BYTE, next, round, MPI_COMM_WORLD,
                  &request);
        status = MPI_Recv(in, f->bytes / 2, MPI_BYTE, MPI_ANY_SOURCE, round,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Error_class(status, &class);
        if (class != MPI_ERR_TRUNCATE) {
            features_wrong(f, "error", class, MPI_ERR_TRUNCATE);
        }

        MPI_Wait(&request, MPI_STATUS_IGNORE);
        features_check_untouched(f, (char*)in + (f->bytes / 2), f->bytes / 2);
        features_ring(f, MPI_COMM_WORLD, round);
    }

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    features_free(in, f->bytes);
    features_free(out, f->bytes);
}
