/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * How long fork() takes in a process with a context of UCP: the call itself, in
 * the parent. The process has some memory, which each child looks at, and has
 * given back other memory between it. Prints a line of JSON. forks_usage()
 * tells the options.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PIECES 4096
#define MAX_FORKS  1000

static struct {
    int    forks;
    size_t live;
    size_t freed;
    size_t piece;
} opts = {
    .forks = 20,
    .piece = 256ul << 10
};

static char *pieces[MAX_PIECES];
static int num_pieces;


static void forks_usage(void)
{
    printf("usage: forks [--forks N] [--live BYTES] [--freed BYTES]\n"
           "             [--piece BYTES]\n"
           "  forks so many times (20), with so much memory that is written\n"
           "  (0), and so much that was unmapped before (0), in pieces of\n"
           "  this length (256k), which are mixed\n");
}

static ucp_context_h make_context(void)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    ucp_context_h context;
    ucs_status_t status;

    status = ucp_init(&params, NULL, &context);
    if (status != UCS_OK) {
        app_fatal("forks: ucp_init: %s", ucs_status_string(status));
    }
    return context;
}

static char *map_piece(void)
{
    char *piece = mmap(NULL, opts.piece, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (piece == MAP_FAILED) {
        app_fatal("forks: mmap: %s", strerror(errno));
    }
    memset(piece, 1, opts.piece);
    return piece;
}

/* Map all, slowly enough for memory to be made ready, and then unmap what is
 * not to be live, spread evenly */
static void make_pieces(void)
{
    size_t total = (opts.live + opts.freed) / opts.piece;
    size_t kept  = opts.live / opts.piece;
    size_t i;

    if (total > MAX_PIECES) {
        app_fatal("forks: %zu pieces: accepted are up to %d", total,
                  MAX_PIECES);
    }
    for (i = 0; i < total; ++i) {
        pieces[i] = map_piece();
        usleep(2000);
    }
    for (i = 0; i < total; ++i) {
        if ((i * kept) / total == ((i + 1) * kept) / total) {
            munmap(pieces[i], opts.piece);
        } else {
            pieces[num_pieces++] = pieces[i];
        }
    }
}

static void look(void)
{
    int i;

    for (i = 0; i < num_pieces; ++i) {
        if ((pieces[i][0] != 1) || (pieces[i][opts.piece - 1] != 1)) {
            app_fatal("forks: piece %d is not what was written", i);
        }
    }
}

/* @return how long the call took, us */
static double fork_once(void)
{
    double begin = app_time();
    pid_t pid    = fork();
    double end   = app_time();
    int status;

    if (pid < 0) {
        app_fatal("forks: fork: %s", strerror(errno));
    } else if (pid == 0) {
        look();
        _exit(0);
    }

    if ((waitpid(pid, &status, 0) != pid) || (status != 0)) {
        app_fatal("forks: the child has ended with status 0x%x", status);
    }
    return (end - begin) * 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double*)a, y = *(const double*)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const app_option_t options[] = {
        {"forks", .count = &opts.forks},
        {"live", .size = &opts.live},
        {"freed", .size = &opts.freed},
        {"piece", .size = &opts.piece},
        {NULL}
    };
    double times[MAX_FORKS];
    ucp_context_h context;
    int i;

    app_parse(argc, argv, "forks", options, forks_usage);
    if ((opts.forks < 1) || (opts.forks > MAX_FORKS) || (opts.piece == 0)) {
        app_fatal("forks: --forks %d --piece %zu: not accepted", opts.forks,
                  opts.piece);
    }

    context = make_context();
    usleep(300000); /* A helper thread registers memory meanwhile */
    make_pieces();
    usleep(100000);
    for (i = 0; i < opts.forks; ++i) {
        times[i] = fork_once();
        look();
        usleep(20000);
    }

    qsort(times, opts.forks, sizeof(times[0]), compare);
    printf("{\"program\":\"forks\",\"live_mb\":%.1f,\"freed_mb\":%.1f,"
           "\"forks\":%d,\"median_us\":%.1f,\"min_us\":%.1f,"
           "\"max_us\":%.1f}\n", opts.live / 1048576., opts.freed / 1048576.,
           opts.forks, times[opts.forks / 2], times[0],
           times[opts.forks - 1]);
    ucp_cleanup(context);
    return 0;
}
