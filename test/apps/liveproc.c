/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/base/clock.h>
#include <ucs/stat/live.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <unistd.h>

/*
 * A process that shows counters as a managed one does, for tests of those who
 * look at it; or, by its argument, one that is not as it should be:
 *
 *   plain      100 uses a second, 8 MiB registered
 *   leave      100 uses a second under leave-pinned
 *   version    counters of another version
 *   damaged    none at all
 *   writing    counters that are being written for ever
 *   closed     has closed all descriptors
 *   protected  asks the kernel not to be looked into
 *   forks      has a child that has inherited its counters; prints its pid
 *
 * Ends when its standard input does.
 */

/* Offsets in the page of counters, which live.c defines */
#define OFFSET_VERSION 8
#define OFFSET_SEQ     24

#define MIB (1ul << 20)

static uint64_t uses;
static uint32_t policy = UCS_RCACHE_PRED_POLICY_PREDICT;

static void collect(void *arg, ucs_rcache_pred_live_state_t *record)
{
    memset(record, 0, sizeof(*record));
    record->snapshot.rank                = 3;
    record->snapshot.pid                 = getpid();
    record->snapshot.policy              = policy;
    record->snapshot.mode                = UCS_RCACHE_PRED_MODE_THREAD;
    record->snapshot.stats.uses          = uses;
    record->snapshot.stats.hits          = uses / 2;
    record->snapshot.stats.bytes_now     = 8 * MIB;
    record->snapshot.stats.bytes_peak    = 16 * MIB;
    record->snapshot.keys_now            = 12;
    record->snapshot.keys_peak           = 34;
    record->snapshot.keys_limit          = UINT64_MAX;
    record->snapshot.stats.duration      = uses * 10000000;
    record->snapshot.stats.time_critical = uses * 1000000;
    record->time                         = ucs_monotonic_ns();
    record->node_max_bytes               = UINT64_MAX;
    strcpy(record->command, "liveproc");
}

static void overwrite(ucs_rcache_pred_live_t *live, off_t offset, uint8_t value)
{
    if (pwrite(ucs_rcache_pred_live_get_fd(live), &value, 1, offset) != 1) {
        perror("pwrite");
        exit(EXIT_FAILURE);
    }
}

static void disguise(ucs_rcache_pred_live_t *live, const char *how)
{
    int fd;

    if (!strcmp(how, "version")) {
        overwrite(live, OFFSET_VERSION, (uint8_t)(UCS_RCACHE_PRED_LIVE_VERSION + 1));
    } else if (!strcmp(how, "damaged")) {
        overwrite(live, 0, 0xff);
    } else if (!strcmp(how, "writing")) {
        overwrite(live, OFFSET_SEQ, 1);
    } else if (!strcmp(how, "closed")) {
        for (fd = 3; fd < 1024; ++fd) {
            close(fd);
        }
    } else if (!strcmp(how, "protected")) {
        prctl(PR_SET_DUMPABLE, 0);
    }
}

/* @return whether standard input is still open after 10 ms */
static int wait_a_little(void)
{
    fd_set fds;
    struct timeval timeout = { .tv_usec = 10000 };
    char byte;

    FD_ZERO(&fds);
    FD_SET(STDIN_FILENO, &fds);
    return (select(1, &fds, NULL, NULL, &timeout) == 0) ||
           (read(STDIN_FILENO, &byte, 1) == 1);
}

int main(int argc, char **argv)
{
    const char *how = (argc > 1) ? argv[1] : "plain";
    ucs_rcache_pred_live_t *live;
    int is_owner = 1;
    pid_t child;

    if (!strcmp(how, "leave")) {
        policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    }

    if (ucs_rcache_pred_live_create(&live) != UCS_OK) {
        perror("no page");
        return EXIT_FAILURE;
    }

    ucs_rcache_pred_live_update(live, collect, NULL);
    disguise(live, how);
    if (!strcmp(how, "forks")) {
        child    = fork();
        is_owner = (child != 0);
        if (is_owner) {
            printf("%d\n", (int)child);
        }
    } else {
        puts("ready");
    }
    fflush(stdout);

    while (wait_a_little()) {
        if (!is_owner || (strcmp(how, "plain") && strcmp(how, "leave"))) {
            continue;
        }

        ++uses;
        if (policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
            ucs_rcache_pred_live_count_use(live);
        } else {
            ucs_rcache_pred_live_update(live, collect, NULL);
        }
    }

    return EXIT_SUCCESS;
}
