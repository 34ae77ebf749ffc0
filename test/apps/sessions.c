/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * MPI that is begun and ended several times in a process, by the sessions of MPI
 * 4. Status 77 with an MPI that has none.
 */

#include "apps.h"

#include <mpi.h>
#include <sys/mman.h>

#define SESSIONS_SIZE   (1024 * 1024)
#define SESSIONS_ROUNDS 4


/* Open MPI 5 has them, but not over UCX, and calls itself MPI 3.1 */
#if MPI_VERSION >= 4
/* @return the number of wrong bytes. */
static uint64_t sessions_exchange(MPI_Comm comm, int round)
{
    char *memory = mmap(NULL, 2 * SESSIONS_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t errors = 0;
    int rank, size, previous, i;
    size_t first;

    if (memory == MAP_FAILED) {
        app_fatal("sessions: could not map memory: %s", strerror(errno));
    }

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    previous = (rank + size - 1) % size;
    for (i = 0; i < 5; ++i) {
        app_pattern_fill(memory, SESSIONS_SIZE, app_mix((round << 8) + rank),
                         i);
        MPI_Sendrecv(memory, SESSIONS_SIZE, MPI_BYTE, (rank + 1) % size, i,
                     memory + SESSIONS_SIZE, SESSIONS_SIZE, MPI_BYTE, previous,
                     i, comm, MPI_STATUS_IGNORE);
        errors += app_pattern_check(memory + SESSIONS_SIZE, SESSIONS_SIZE,
                                    app_mix((round << 8) + previous), i,
                                    &first);
    }

    munmap(memory, 2 * SESSIONS_SIZE);
    return errors;
}

int main(int argc, char **argv)
{
    uint64_t errors = 0;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank = 0;
    int round;

    for (round = 0; round < SESSIONS_ROUNDS; ++round) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL,
                                   MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Group_free(&group);
        MPI_Comm_rank(comm, &rank);
        errors += sessions_exchange(comm, round);
        MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_UINT64_T, MPI_SUM, comm);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    }

    if (rank == 0) {
        printf("sessions: %d, %llu errors\n", SESSIONS_ROUNDS,
               (unsigned long long)errors);
    }
    return errors ? 1 : 0;
}
#else
int main(int argc, char **argv)
{
    printf("sessions: MPI %d has none\n", MPI_VERSION);
    return 77;
}
#endif
