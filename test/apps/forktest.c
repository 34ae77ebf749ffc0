/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Fork between and during large messages. The child writes to all of the
 * buffers, which are its own copies or not there at all; the parent goes on
 * with new data in the same buffers. Nothing of the child's may ever arrive
 * anywhere, and a page that fork made the parent copy must not stay registered
 * as it was.
 */

#include "apps.h"
#include "options.h"

#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKTEST_NUM_BUFFERS 3
#define FORKTEST_CHILD_BYTE  0xcc
#define FORKTEST_EXIT_NO_MEM 3


typedef enum {
    FORKTEST_EXIT,       /* the child writes to the buffers and ends */
    FORKTEST_EXEC,       /* ... and becomes another program */
    FORKTEST_LINGER,     /* ... and stays until the round is over */
    FORKTEST_GRANDCHILD, /* ... and forks itself */
    FORKTEST_LAST
} forktest_child_t;

typedef struct {
    size_t size;
    int    rounds;
    int    json;
} forktest_opts_t;

typedef struct {
    const forktest_opts_t *opts;
    int                   rank;
    int                   peer;
    char                  *send[FORKTEST_NUM_BUFFERS];
    char                  *recv[FORKTEST_NUM_BUFFERS];
    uint64_t              forks;
    uint64_t              no_mem; /* children that found a buffer missing */
    uint64_t              errors;
} forktest_t;

static sigjmp_buf forktest_fault;


static void forktest_usage(void)
{
    printf("usage: forktest [options], an even number of ranks\n"
           "  --size BYTES  of each of 6 buffers (1m)\n"
           "  --rounds N    (8)\n"
           "  --json        print one line of JSON\n");
}

static void forktest_parse(int argc, char **argv, forktest_opts_t *opts)
{
    const app_option_t options[] = {
        {"size", .size = &opts->size},
        {"rounds", .count = &opts->rounds},
        {"json", .flag = &opts->json},
        {NULL}
    };

    app_parse(argc, argv, "forktest", options, forktest_usage);
    if ((opts->size == 0) || (opts->size > INT32_MAX)) {
        app_fatal("forktest: --size is %zu: accepted are 1 to %d", opts->size,
                  INT32_MAX);
    }
}

static void forktest_on_fault(int signum)
{
    siglongjmp(forktest_fault, 1);
}

/* Registered pages may be kept from the child (MADV_DONTFORK). While a message
 * is under way that is right; see forktest_join for the rest. */
static int forktest_scribble(char *buffer, size_t size)
{
    if (sigsetjmp(forktest_fault, 1) != 0) {
        return 0;
    }

    memset(buffer, FORKTEST_CHILD_BYTE, size);
    return 1;
}

static void forktest_child(forktest_t *t, forktest_child_t kind, int wait_fd)
{
    struct sigaction action = {.sa_handler = forktest_on_fault};
    int present             = 1;
    int i, wstatus;
    char c;

    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    for (i = 0; i < FORKTEST_NUM_BUFFERS; ++i) {
        present &= forktest_scribble(t->send[i], t->opts->size);
        present &= forktest_scribble(t->recv[i], t->opts->size);
    }

    if (kind == FORKTEST_EXEC) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    } else if (kind == FORKTEST_LINGER) {
        /* Wait until the parent closes its end */
        if (read(wait_fd, &c, 1) != 0) {
            _exit(1);
        }
    } else if (kind == FORKTEST_GRANDCHILD) {
        if (fork() == 0) {
            forktest_scribble(t->send[0], t->opts->size);
            _exit(0);
        }
        if ((wait(&wstatus) < 0) || (wstatus != 0)) {
            _exit(1);
        }
    }

    /* End without running the exit handlers of MPI and UCX, which are the
     * parent's */
    _exit(present ? 0 : FORKTEST_EXIT_NO_MEM);
}

static pid_t forktest_fork(forktest_t *t, forktest_child_t kind, int *fd_p)
{
    int fds[2];
    pid_t pid;

    if (pipe(fds) != 0) {
        app_fatal("forktest: pipe: %s", strerror(errno));
    }

    pid = fork();
    if (pid < 0) {
        app_fatal("forktest: fork: %s", strerror(errno));
    } else if (pid == 0) {
        close(fds[1]);
        forktest_child(t, kind, fds[0]);
    }

    ++t->forks;
    close(fds[0]);
    *fd_p = fds[1];
    return pid;
}

static void forktest_join(forktest_t *t, int round, int in_flight, pid_t pid,
                          int fd)
{
    int wstatus;

    close(fd);
    if (waitpid(pid, &wstatus, 0) != pid) {
        app_fatal("forktest: waitpid: %s", strerror(errno));
    }

    if (WIFEXITED(wstatus) && (WEXITSTATUS(wstatus) == FORKTEST_EXIT_NO_MEM)) {
        ++t->no_mem;
        if (!in_flight) {
            /* A registration that nobody uses has taken memory away from the
             * child */
            fprintf(stderr,
                    "forktest: rank %d round %d: nothing was under way, but a "
                    "buffer was missing in the child\n",
                    t->rank, round);
            ++t->errors;
        }
    } else if (!WIFEXITED(wstatus) || (WEXITSTATUS(wstatus) != 0)) {
        fprintf(stderr, "forktest: rank %d round %d: child ended with 0x%x\n",
                t->rank, round, wstatus);
        ++t->errors;
    }
}

static uint64_t forktest_key(int rank, int round, int phase, int index)
{
    return app_mix(((uint64_t)rank << 48) + ((uint64_t)round << 16) +
                   (phase * FORKTEST_NUM_BUFFERS) + index + 1);
}

static void forktest_start(forktest_t *t, int round, int phase,
                           MPI_Request *requests)
{
    int i;

    for (i = 0; i < FORKTEST_NUM_BUFFERS; ++i) {
        app_pattern_fill(t->send[i], t->opts->size,
                         forktest_key(t->rank, round, phase, i), 0);
        MPI_Irecv(t->recv[i], t->opts->size, MPI_BYTE, t->peer, i,
                  MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(t->send[i], t->opts->size, MPI_BYTE, t->peer, i,
                  MPI_COMM_WORLD, &requests[FORKTEST_NUM_BUFFERS + i]);
    }
}

static void forktest_finish(forktest_t *t, int round, int phase,
                            MPI_Request *requests)
{
    size_t errors, first = 0;
    int i;

    MPI_Waitall(2 * FORKTEST_NUM_BUFFERS, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < FORKTEST_NUM_BUFFERS; ++i) {
        errors  = app_pattern_check(t->recv[i], t->opts->size,
                                    forktest_key(t->peer, round, phase, i), 0,
                                    &first);
        errors += app_pattern_check(t->send[i], t->opts->size,
                                    forktest_key(t->rank, round, phase, i), 0,
                                    &first);
        if (errors > 0) {
            t->errors += errors;
            fprintf(stderr,
                    "forktest: rank %d round %d phase %d buffer %d: %zu wrong "
                    "bytes, first at %zu\n",
                    t->rank, round, phase, i, errors, first);
        }
    }
}

static void forktest_round(forktest_t *t, int round)
{
    MPI_Request requests[2 * FORKTEST_NUM_BUFFERS];
    forktest_child_t kind = round % FORKTEST_LAST;
    int in_flight         = (round / FORKTEST_LAST) % 2;
    int test_flag, phase, fd;
    pid_t pid;

    /* By now the buffers are known, and are registered if registrations are
     * kept */
    forktest_start(t, round, 0, requests);
    forktest_finish(t, round, 0, requests);

    if (in_flight) {
        /* Make progress once, so that the rendezvous is under way */
        forktest_start(t, round, 1, requests);
        MPI_Testall(2 * FORKTEST_NUM_BUFFERS, requests, &test_flag,
                    MPI_STATUSES_IGNORE);
        pid = forktest_fork(t, kind, &fd);
        forktest_finish(t, round, 1, requests);
    } else {
        pid = forktest_fork(t, kind, &fd);
        forktest_start(t, round, 1, requests);
        forktest_finish(t, round, 1, requests);
    }

    /* Send new data in the same buffers while the child is there, and after
     * that */
    for (phase = 2; phase < 4; ++phase) {
        forktest_start(t, round, phase, requests);
        forktest_finish(t, round, phase, requests);
        if (phase == 2) {
            forktest_join(t, round, in_flight, pid, fd);
        }
    }
}

static void forktest_alloc(forktest_t *t)
{
    int i;

    for (i = 0; i < FORKTEST_NUM_BUFFERS; ++i) {
        t->send[i] = malloc(t->opts->size);
        t->recv[i] = malloc(t->opts->size);
        if ((t->send[i] == NULL) || (t->recv[i] == NULL)) {
            app_fatal("forktest: out of memory");
        }
        memset(t->recv[i], 0, t->opts->size);
    }
}

static void forktest_free(forktest_t *t)
{
    int i;

    for (i = 0; i < FORKTEST_NUM_BUFFERS; ++i) {
        free(t->send[i]);
        free(t->recv[i]);
    }
}

int main(int argc, char **argv)
{
    forktest_opts_t opts = {1024 * 1024, 8, 0};
    forktest_t t         = {.opts = &opts};
    uint64_t sum[3], total[3];
    double start;
    int round, size;

    /* Open MPI would warn of a fork, which is intended here */
    setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    forktest_parse(argc, argv, &opts);
    if ((size % 2) != 0) {
        app_fatal("forktest: an even number of ranks is needed");
    }

    t.peer = t.rank ^ 1;
    forktest_alloc(&t);
    start = app_time();
    for (round = 0; round < opts.rounds; ++round) {
        forktest_round(&t, round);
    }

    sum[0] = t.forks;
    sum[1] = t.no_mem;
    sum[2] = t.errors;
    MPI_Allreduce(sum, total, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (t.rank == 0) {
        printf(opts.json ? "{\"app\":\"forktest\",\"ranks\":%d,\"size\":%zu,"
                           "\"rounds\":%d,\"forks\":%llu,\"no_mem\":%llu,"
                           "\"seconds\":%.3f,\"errors\":%llu}\n" :
                           "forktest: %d ranks, buffers of %zu bytes, %d "
                           "rounds: %llu forks, %llu children without the "
                           "buffers, %.3f s, %llu errors\n",
               size, opts.size, opts.rounds, (unsigned long long)total[0],
               (unsigned long long)total[1], app_time() - start,
               (unsigned long long)total[2]);
    }

    forktest_free(&t);
    MPI_Finalize();
    return total[2] ? 1 : 0;
}
