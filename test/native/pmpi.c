/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * A tool as profilers of MPI are: it overrides functions of MPI and calls those
 * of the profiling interface. suite.sh preloads it. Each rank prints how many
 * messages it has seen.
 */

#include <mpi.h>

#include <stdio.h>

static int num_messages;


int MPI_Send(const void *buffer, int count, MPI_Datatype type, int peer,
             int tag, MPI_Comm comm)
{
    ++num_messages;
    return PMPI_Send(buffer, count, type, peer, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int peer, int tag,
             MPI_Comm comm, MPI_Status *status)
{
    ++num_messages;
    return PMPI_Recv(buffer, count, type, peer, tag, comm, status);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "tool: %d messages\n", num_messages);
    return PMPI_Finalize();
}
