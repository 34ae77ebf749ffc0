/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A storm of signals whose handler unmaps memory that was communicated and maps
 * new memory, wherever it has interrupted the program: in UCX, in the library
 * beside it, or between two messages. The ranks exchange messages from that
 * memory meanwhile, and look at every byte. Memory of a message under way
 * stays.
 *
 * As forkstorm it may fork as well, as a handler that starts a tool does, but not where
 * it has interrupted malloc(): there glibc's fork() waits for the lock of malloc(), with
 * any program.
 */

#include "apps.h"
#include "in_malloc.h"
#include "options.h"

#include <mpi.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGSTORM_SLOTS 16

typedef struct {
    size_t size;
    int    rounds;
    int    interval;
    int    forks;
    int    json;
} sigstorm_opts_t;

/* Memory for a message. The handler replaces it unless it is in use */
typedef struct {
    char *volatile         address;
    volatile sig_atomic_t  is_used;
} sigstorm_slot_t;

static sigstorm_slot_t sigstorm_slots[SIGSTORM_SLOTS];
static size_t sigstorm_size;
static int sigstorm_forks; /* After so many signals it forks; 0: never */

/* Written by the handler */
static volatile sig_atomic_t sigstorm_next;
static volatile sig_atomic_t sigstorm_replaced;
static volatile sig_atomic_t sigstorm_failed;
static volatile sig_atomic_t sigstorm_signals; /* Since the last fork */


static void sigstorm_usage(void)
{
    printf("usage: sigstorm [options], an even number of ranks\n"
           "  --size BYTES   of a message (256k)\n"
           "  --rounds N     messages each way (500)\n"
           "  --interval US  from a signal to the next, microseconds (200)\n"
           "  --forks N      fork at each Nth signal, or at the next one that\n"
           "                 does not interrupt malloc(); forkstorm only (never)\n"
           "  --json         print one line of JSON\n");
}

static void sigstorm_parse(int argc, char **argv, sigstorm_opts_t *opts)
{
    const app_option_t options[] = {
        {"size", .size = &opts->size},
        {"rounds", .count = &opts->rounds},
        {"interval", .count = &opts->interval},
        {"forks", .count = &opts->forks},
        {"json", .flag = &opts->json},
        {NULL}
    };

    app_parse(argc, argv, "sigstorm", options, sigstorm_usage);
    if ((opts->size == 0) || (opts->size > INT32_MAX)) {
        app_fatal("sigstorm: --size is %zu: accepted are 1 to %d", opts->size,
                  INT32_MAX);
    }
    if ((opts->interval == 0) || (opts->interval >= 1000000)) {
        app_fatal("sigstorm: --interval is %d: accepted are 1 to 999999",
                  opts->interval);
    }
    if ((opts->forks > 0) && (app_is_in_malloc == NULL)) {
        app_fatal("sigstorm: --forks takes forkstorm");
    }
}

static char *sigstorm_map(void)
{
    return mmap(NULL, sigstorm_size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The child does what it may do whatever was interrupted */
static void sigstorm_fork(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(0);
    }
    if ((pid < 0) || (waitpid(pid, &status, 0) != pid) || (status != 0)) {
        sigstorm_failed = 1;
    }
}

static void sigstorm_on_signal(int signum)
{
    int saved_errno       = errno;
    sigstorm_slot_t *slot = &sigstorm_slots[sigstorm_next];

    sigstorm_next = (sigstorm_next + 1) % SIGSTORM_SLOTS;
    if (!slot->is_used) {
        /* Most often it is mapped where it was */
        munmap(slot->address, sigstorm_size);
        slot->address   = sigstorm_map();
        sigstorm_failed = sigstorm_failed || (slot->address == MAP_FAILED);
        ++sigstorm_replaced;
    }
    if ((sigstorm_forks > 0) && (++sigstorm_signals >= sigstorm_forks) &&
        !app_is_in_malloc()) {
        sigstorm_signals = 0;
        sigstorm_fork();
    }
    errno = saved_errno;
}

/* The threads of UCX and MPI are to get no signal, but the one that
 * communicates */
static void sigstorm_block(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(how, &set, NULL);
}

static void sigstorm_start(int interval)
{
    struct sigaction action = {
        .sa_handler = sigstorm_on_signal,
        .sa_flags   = SA_RESTART
    };
    struct itimerval timer = {{0, interval}, {0, interval}};

    sigaction(SIGALRM, &action, NULL);
    sigstorm_block(SIG_UNBLOCK);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void sigstorm_stop(void)
{
    struct itimerval timer = {};

    setitimer(ITIMER_REAL, &timer, NULL);
    sigstorm_block(SIG_BLOCK);
}

/* @return wrong bytes */
static size_t sigstorm_exchange(int round, int rank, int peer)
{
    sigstorm_slot_t *out = &sigstorm_slots[(2 * round) % SIGSTORM_SLOTS];
    sigstorm_slot_t *in  = &sigstorm_slots[(2 * round + 1) % SIGSTORM_SLOTS];
    size_t errors, first = 0;

    /* From here on the addresses stay what they are */
    out->is_used = 1;
    in->is_used  = 1;
    app_pattern_fill(out->address, sigstorm_size,
                     app_mix(((uint64_t)round << 8) + rank), 0);
    MPI_Sendrecv(out->address, sigstorm_size, MPI_BYTE, peer, 0, in->address,
                 sigstorm_size, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    errors = app_pattern_check(in->address, sigstorm_size,
                               app_mix(((uint64_t)round << 8) + peer), 0,
                               &first);
    if (errors > 0) {
        fprintf(stderr, "sigstorm: rank %d round %d: %zu wrong bytes, first at "
                "%zu\n", rank, round, errors, first);
    }
    out->is_used = 0;
    in->is_used  = 0;
    return errors;
}

int main(int argc, char **argv)
{
    sigstorm_opts_t opts = {256 * 1024, 500, 200, 0, 0};
    uint64_t sum[2], total[2];
    double start;
    int rank, size, i;

    sigstorm_block(SIG_BLOCK);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sigstorm_parse(argc, argv, &opts);
    if ((size % 2) != 0) {
        app_fatal("sigstorm: an even number of ranks is needed");
    }

    sigstorm_size  = opts.size;
    sigstorm_forks = opts.forks;
    for (i = 0; i < SIGSTORM_SLOTS; ++i) {
        sigstorm_slots[i].address = sigstorm_map();
    }

    start = app_time();
    sigstorm_start(opts.interval);
    sum[0] = 0;
    for (i = 0; i < opts.rounds; ++i) {
        sum[0] += sigstorm_exchange(i, rank, rank ^ 1);
    }
    sigstorm_stop();

    sum[0] += sigstorm_failed;
    sum[1]  = sigstorm_replaced;
    MPI_Allreduce(sum, total, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf(opts.json ? "{\"app\":\"sigstorm\",\"ranks\":%d,\"size\":%zu,"
                           "\"rounds\":%d,\"replaced\":%llu,"
                           "\"seconds\":%.3f,\"errors\":%llu}\n" :
                           "sigstorm: %d ranks, %zu bytes, %d rounds: %llu "
                           "buffers replaced, %.3f s, %llu errors\n",
               size, opts.size, opts.rounds, (unsigned long long)total[1],
               app_time() - start, (unsigned long long)total[0]);
    }

    MPI_Finalize();
    return (total[0] > 0) || (total[1] == 0);
}
