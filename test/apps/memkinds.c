/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Sends messages out of memory of every kind that a program may have, some of
 * which cannot be registered, or no longer once they were sent: rank 0 sends each several
 * times, rank 1 compares. Where memory can be written to, rank 1 also receives into the same
 * kind.
 */

#include "apps.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH  (1u << 20)
#define REPEATS 3 /* Often enough to be predicted */

/* Memory that is part of the program. All but the first bytes are 0 */
static const char read_only_data[LENGTH] = "read-only data";


/* Bytes that can be told from those of another kind */
static void fill(char *buffer, unsigned seed)
{
    size_t i;

    for (i = 0; i < LENGTH; ++i) {
        buffer[i] = (char)app_mix(seed * LENGTH + i);
    }
}

static void *map(size_t length, int prot, int flags, int fd)
{
    void *memory = mmap(NULL, length, prot, flags, fd, 0);

    return (memory == MAP_FAILED) ? NULL : memory;
}

static void *filled(void *memory, unsigned seed)
{
    if (memory != NULL) {
        fill(memory, seed);
    }
    return memory;
}

/* An open file of that many bytes, without a name */
static int open_file(unsigned seed)
{
    char name[] = "memkinds_XXXXXX";
    char *bytes = malloc(LENGTH);
    int fd      = mkstemp(name);

    if ((bytes == NULL) || (fd < 0)) {
        app_fatal("cannot make a file here");
    }

    unlink(name);
    fill(bytes, seed);
    if (write(fd, bytes, LENGTH) != (ssize_t)LENGTH) {
        app_fatal("cannot write to a file here");
    }
    free(bytes);
    return fd;
}

static int open_memfd(void)
{
    int fd = memfd_create("memkinds", 0);

    return ((fd >= 0) && (ftruncate(fd, LENGTH) == 0)) ? fd : -1;
}

static const void *make_constant(unsigned seed)
{
    return read_only_data;
}

static const void *make_protected(unsigned seed)
{
    void *memory = filled(map(LENGTH, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1), seed);

    mprotect(memory, LENGTH, PROT_READ);
    return memory;
}

static const void *make_file_read_only(unsigned seed)
{
    return map(LENGTH, PROT_READ, MAP_PRIVATE, open_file(seed));
}

static const void *make_file_shared_read_only(unsigned seed)
{
    return map(LENGTH, PROT_READ, MAP_SHARED, open_file(seed));
}

static const void *make_file_private(unsigned seed)
{
    return map(LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE, open_file(seed));
}

static const void *make_file_shared(unsigned seed)
{
    return map(LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, open_file(seed));
}

static const void *make_device(unsigned seed)
{
    int fd = open("/dev/zero", O_RDWR);

    return filled(map(LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd), seed);
}

static const void *make_anonymous(unsigned seed)
{
    return filled(map(LENGTH, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1), seed);
}

static const void *make_shared(unsigned seed)
{
    return filled(map(LENGTH, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1), seed);
}

static const void *make_memfd(unsigned seed)
{
    return filled(map(LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED,
                      open_memfd()), seed);
}

static const void *make_huge(unsigned seed)
{
    return filled(map(2 << 20, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1), seed);
}

/* The stack is that of main() */
static char *stack;

static const void *make_stack(unsigned seed)
{
    return filled(stack, seed);
}

typedef struct kind {
    const char *name;
    const void *(*make)(unsigned seed); /* @return NULL if there is none here */
    int        is_target;               /* Whether it is received into, too */
    int        protect_after;           /* After how many sends it may only be read, as
                                           where writes are to be noticed; 0: never */
} kind_t;

static const kind_t kinds[] = {
    {"anonymous", make_anonymous, 1, 0},
    {"shared", make_shared, 1, 0},
    {"memfd", make_memfd, 1, 0},
    {"stack", make_stack, 1, 0},
    {"huge pages", make_huge, 1, 0},
    {"device", make_device, 1, 0},
    {"file, private", make_file_private, 1, 0},
    /* The kernel pins no page of a file for writing to it */
    {"file, shared", make_file_shared, 0, 0},
    {"constant", make_constant, 0, 0},
    {"protected", make_protected, 0, 0},
    {"protected after a send", make_anonymous, 0, 1},
    {"protected after two sends", make_anonymous, 0, 2},
    {"file, read-only", make_file_read_only, 0, 0},
    {"file, shared, read-only", make_file_shared_read_only, 0, 0}
};

/* Both ranks make the same memory, so that the receiver knows what comes. */
static unsigned exchange(int rank, const kind_t *kind, unsigned seed)
{
    const void *memory = kind->make(seed);
    char *plain        = malloc(LENGTH);
    char *target       = kind->is_target ? (char*)memory : plain;
    unsigned errors    = 0;
    int i;

    if ((memory == NULL) || (plain == NULL)) {
        printf("rank %d: no memory of this kind here: %s\n", rank, kind->name);
        MPI_Barrier(MPI_COMM_WORLD);
        free(plain);
        return 0;
    }

    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < REPEATS; ++i) {
        if ((kind->protect_after > 0) && (i == kind->protect_after)) {
            mprotect((void*)memory, LENGTH, PROT_READ);
        }
        if (rank == 0) {
            MPI_Send(memory, LENGTH, MPI_CHAR, 1, i, MPI_COMM_WORLD);
            continue;
        }

        memcpy(plain, memory, LENGTH);
        memset(target, 1 + i, LENGTH);
        MPI_Recv(target, LENGTH, MPI_CHAR, 0, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (kind->is_target ? memcmp(target, plain, LENGTH) :
                              memcmp(target, memory, LENGTH)) {
            fprintf(stderr, "wrong bytes: %s\n", kind->name);
            ++errors;
        }
    }
    free(plain);
    return errors;
}

int main(int argc, char **argv)
{
    char on_stack[LENGTH];
    unsigned errors = 0;
    unsigned i;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    stack = on_stack;
    for (i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i) {
        errors += exchange(rank, &kinds[i], i);
    }

    MPI_Finalize();
    return errors > 0;
}
