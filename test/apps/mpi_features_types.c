/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Datatypes with gaps: what is between the parts must stay as it is. Each is sent
 * from gaps into gaps, from gaps to where there are none, and the other way.
 */

#include "mpi_features.h"

/* A part of a message: where in memory, and how long */
typedef struct {
    size_t offset;
    size_t length;
} features_part_t;

#define FEATURES_MAX_PARTS 64

typedef struct {
    MPI_Datatype    type;
    MPI_Datatype    plain;  /* The same without gaps */
    features_part_t parts[FEATURES_MAX_PARTS];
    int             num_parts;
    size_t          extent; /* Of the memory that has all parts, bytes */
    size_t          bytes;  /* Of all parts */
} features_layout_t;


static void features_layout_add(features_layout_t *layout, size_t offset,
                                size_t length)
{
    layout->parts[layout->num_parts].offset = offset;
    layout->parts[layout->num_parts].length = length;
    ++layout->num_parts;
    layout->bytes += length;
    if (layout->extent < (offset + length)) {
        layout->extent = offset + length;
    }
}

static void features_scatter(const features_layout_t *layout, char *memory,
                             uint64_t key)
{
    size_t done = 0;
    int i;

    for (i = 0; i < layout->num_parts; ++i) {
        app_pattern_fill(memory + layout->parts[i].offset,
                         layout->parts[i].length, key, done);
        done += layout->parts[i].length;
    }
}

/* The parts are in ascending order in memory */
static void features_check_layout(features_t *f,
                                  const features_layout_t *layout,
                                  const char *memory, uint64_t key)
{
    size_t done = 0;
    size_t end  = 0;
    int i;

    for (i = 0; i < layout->num_parts; ++i) {
        features_check_untouched(f, memory + end,
                                 layout->parts[i].offset - end);
        features_check(f, memory + layout->parts[i].offset,
                       layout->parts[i].length, key, done);
        done += layout->parts[i].length;
        end   = layout->parts[i].offset + layout->parts[i].length;
    }
}

/* In round n the sender's memory has gaps if n is even, the receiver's in two of
 * three rounds */
static void features_use_layout(features_t *f, features_layout_t *layout)
{
    features_layout_t plain = {.type = layout->plain};
    int next                = (f->rank + 1) % f->size;
    int previous            = (f->rank + f->size - 1) % f->size;
    const features_layout_t *sent, *received;
    char *out, *in;
    int round;

    features_layout_add(&plain, 0, layout->bytes);
    MPI_Type_commit(&layout->type);
    MPI_Type_commit(&plain.type);
    for (round = 0; round < (3 * f->rounds); ++round) {
        sent     = ((round % 2) == 0) ? layout : &plain;
        received = ((round % 3) != 0) ? layout : &plain;
        out      = features_alloc(sent->extent);
        in       = features_alloc(received->extent);
        features_scatter(sent, out, features_key(round, f->rank, next));
        MPI_Sendrecv(out, 1, sent->type, next, round, in, 1, received->type,
                     previous, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        features_check_layout(f, received, in,
                              features_key(round, previous, f->rank));
        features_free(out, sent->extent);
        features_free(in, received->extent);
    }

    MPI_Type_free(&plain.type);
    MPI_Type_free(&layout->type);
}

void features_vector(features_t *f)
{
    features_layout_t layout = {};
    size_t length            = f->bytes / 16;
    size_t stride            = length + 4096 + 8;
    int i;

    MPI_Type_create_hvector(16, length, stride, MPI_BYTE, &layout.type);
    MPI_Type_contiguous(16 * length, MPI_BYTE, &layout.plain);
    for (i = 0; i < 16; ++i) {
        features_layout_add(&layout, i * stride, length);
    }

    features_use_layout(f, &layout);
}

/* Integers, doubles and bytes at distances that grow */
void features_struct(features_t *f)
{
    MPI_Datatype types[3]    = {MPI_INT, MPI_DOUBLE, MPI_BYTE};
    int lengths[3]           = {5, f->bytes / 2 / sizeof(double),
                                f->bytes / 2 - 3};
    size_t bytes[3]          = {5 * sizeof(int), f->bytes / 2,
                                f->bytes / 2 - 3};
    features_layout_t layout = {};
    size_t offset            = 0;
    MPI_Aint offsets[3], plain[3];
    int i;

    for (i = 0; i < 3; ++i) {
        plain[i]   = layout.bytes;
        offsets[i] = offset;
        features_layout_add(&layout, offset, bytes[i]);
        offset    += bytes[i] + (4096 * (i + 1)) + 4;
    }

    MPI_Type_create_struct(3, lengths, offsets, types, &layout.type);
    MPI_Type_create_struct(3, lengths, plain, types, &layout.plain);
    features_use_layout(f, &layout);
}

/* A block of columns out of a matrix of rows, as a halo is */
void features_subarray(features_t *f)
{
    int rows                 = FEATURES_MAX_PARTS;
    int columns              = f->bytes / FEATURES_MAX_PARTS;
    int sizes[2]             = {rows, columns};
    int subsizes[2]          = {rows, columns / 2};
    int starts[2]            = {0, columns / 4};
    features_layout_t layout = {};
    int i;

    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE,
                             &layout.type);
    MPI_Type_contiguous(rows * subsizes[1], MPI_BYTE, &layout.plain);
    for (i = 0; i < rows; ++i) {
        features_layout_add(&layout, ((size_t)i * columns) + starts[1],
                            subsizes[1]);
    }

    features_use_layout(f, &layout);
}
