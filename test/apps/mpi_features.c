/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "mpi_features.h"
#include "options.h"

#include <sys/mman.h>

typedef struct {
    const char      *name;
    features_func_t function;
    int             one_sided; /* Only if asked for: needs puts and gets */
} features_row_t;

static const features_row_t features_rows[] = {
    {"persistent", features_persistent, 0},
    {"modes", features_modes, 0},
    {"probe", features_probe, 0},
    {"cancel", features_cancel, 0},
    {"truncate", features_truncate, 0},
    {"vector", features_vector, 0},
    {"struct", features_struct, 0},
    {"subarray", features_subarray, 0},
    {"comms", features_comms, 0},
    {"intercomm", features_intercomm, 0},
    {"shared", features_shared, 0},
    {"spawn", features_spawn, 0},
    {"rooted", features_rooted, 0},
    {"all", features_all, 0},
    {"reductions", features_reductions, 0},
    {"overlapped", features_overlapped, 0},
    {"windows", features_windows, 1},
    {"dynamic", features_dynamic, 1},
    {"atomics", features_atomics, 1},
    {NULL}
};

static const char *features_only = NULL;
static const char *features_skip = "";


void *features_alloc(size_t size)
{
    void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (ptr == MAP_FAILED) {
        app_fatal("mpi_features: could not map %zu bytes: %s", size,
                  strerror(errno));
    }

    memset(ptr, FEATURES_UNTOUCHED, size);
    return ptr;
}

void features_free(void *ptr, size_t size)
{
    munmap(ptr, size);
}

uint64_t features_key(int round, int from, int to)
{
    return app_mix(((uint64_t)round << 32) + (from << 16) + to + 1);
}

void features_check(features_t *f, const void *buffer, size_t length,
                    uint64_t key, uint64_t offset)
{
    size_t first = 0;
    size_t errors;

    errors = app_pattern_check(buffer, length, key, offset, &first);
    if (errors > 0) {
        fprintf(stderr,
                "mpi_features: %s: rank %d: %zu of %zu bytes wrong, first at %zu\n",
                f->name, f->rank, errors, length, first);
        f->errors += errors;
    }
}

void features_check_untouched(features_t *f, const void *buffer, size_t length)
{
    const uint8_t *p = buffer;
    size_t i;

    for (i = 0; i < length; ++i) {
        if (p[i] != FEATURES_UNTOUCHED) {
            features_wrong(f, "byte between", p[i], FEATURES_UNTOUCHED);
            return;
        }
    }
}

void features_wrong(features_t *f, const char *what, long long value,
                    long long expected)
{
    fprintf(stderr, "mpi_features: %s: rank %d: %s is %lld, not %lld\n", f->name,
            f->rank, what, value, expected);
    ++f->errors;
}

void features_ring(features_t *f, MPI_Comm comm, int round)
{
    void *out = features_alloc(f->bytes);
    void *in  = features_alloc(f->bytes);
    int rank, size, next, previous;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    next     = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    app_pattern_fill(out, f->bytes, features_key(round, rank, next), 0);
    MPI_Sendrecv(out, f->bytes, MPI_BYTE, next, round, in, f->bytes, MPI_BYTE,
                 previous, round, comm, MPI_STATUS_IGNORE);
    features_check(f, in, f->bytes, features_key(round, previous, rank), 0);
    features_free(in, f->bytes);
    features_free(out, f->bytes);
}

static void features_usage(void)
{
    const features_row_t *row;

    printf("usage: mpi_features [options], 2 ranks or more\n"
           "  --bytes N     of a message, rounded up to 4 KiB (262144)\n"
           "  --rounds N    how often each feature is used (4)\n"
           "  --only NAMES  these features, separated by commas (all that are\n"
           "                not one-sided)\n"
           "  --skip NAMES  not these\n"
           "features:");
    for (row = features_rows; row->name != NULL; ++row) {
        printf(" %s%s", row->name, row->one_sided ? " (one-sided)" : "");
    }
    printf("\n");
}

static void features_set_only(const char *value)
{
    features_only = value;
}

static void features_set_skip(const char *value)
{
    features_skip = value;
}

/* Whether a name is in a list with commas */
static int features_is_in(const char *name, const char *list)
{
    size_t length = strlen(name);
    const char *p = list;

    while (p != NULL) {
        if (!strncmp(p, name, length) &&
            ((p[length] == '\0') || (p[length] == ','))) {
            return 1;
        }

        p = strchr(p, ',');
        p = (p != NULL) ? (p + 1) : NULL;
    }

    return 0;
}

/* @return the wrong bytes of all ranks. */
static uint64_t features_run(features_t *f)
{
    const features_row_t *row;
    int num = 0;
    uint64_t errors;

    for (row = features_rows; row->name != NULL; ++row) {
        if (((features_only != NULL) ?
                     !features_is_in(row->name, features_only) :
                     row->one_sided) ||
            features_is_in(row->name, features_skip)) {
            continue;
        }

        f->name = row->name;
        row->function(f);
        MPI_Barrier(MPI_COMM_WORLD);
        ++num;
    }

    MPI_Allreduce(&f->errors, &errors, 1, MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    if (f->rank == 0) {
        printf("mpi_features: %d ranks, %d features, %llu errors\n", f->size, num,
               (unsigned long long)errors);
    }

    if (num == 0) {
        app_fatal("mpi_features: nothing to do, see --help for the names");
    }

    return errors;
}

int main(int argc, char **argv)
{
    features_t f = {.bytes = 256 * 1024, .rounds = 4, .program = argv[0]};
    const app_option_t options[] = {
        {"bytes", .size = &f.bytes},
        {"rounds", .count = &f.rounds},
        {"only", .function = features_set_only},
        {"skip", .function = features_set_skip},
        {NULL}
    };
    MPI_Comm parent;
    uint64_t errors;

    MPI_Init(&argc, &argv);
    app_parse(argc, argv, "mpi_features", options, features_usage);
    f.bytes = (f.bytes + 4095) / 4096 * 4096;
    if ((f.bytes == 0) || (f.bytes > INT32_MAX / 2)) {
        app_fatal("mpi_features: --bytes is %zu: accepted are 1 to %d", f.bytes,
                  INT32_MAX / 2);
    }

    MPI_Comm_rank(MPI_COMM_WORLD, &f.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &f.size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        features_spawned(&f, parent);
        errors = f.errors;
    } else if (f.size < 2) {
        app_fatal("mpi_features: 1 rank; accepted: 2 or more");
    } else {
        errors = features_run(&f);
    }

    MPI_Finalize();
    return errors ? 1 : 0;
}
