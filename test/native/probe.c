/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "../bench/uring_reg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Whether programs can run in the native rig on this machine, as this user. Exit
 * status 0, or 77 and a line that says what is missing.
 *
 * usage: probe MIB    so much memory must be possible to pin
 */

#define MIB      (1ul << 20)
#define SKIPPED  77
#define ATTEMPTS 20     /* Of each registration, */
#define PAUSE    100000 /* so many microseconds apart */


/* The kernel gives back what a process has pinned some time after the process has
 * ended, so that there may be room a little later */
static ucs_status_t pin(void *buffer, size_t size)
{
    ucs_status_t status = UCS_OK;
    void *handle;
    int i;

    for (i = 0; i < ATTEMPTS; ++i) {
        status = uring_reg(buffer, size, &handle);
        if (status != UCS_ERR_NO_MEMORY) {
            break;
        }
        usleep(PAUSE);
    }
    return status;
}

/* Pin the same memory so often that it is enough: the kernel counts it each
 * time */
static int check_pinning(unsigned long mib)
{
    void *buffer        = NULL;
    struct rlimit limit = {0};
    ucs_status_t status;
    unsigned long i;

    if (uring_reg_init(URING_REG_MAX_SLOTS) != UCS_OK) {
        printf("io_uring is not permitted here (kernel.io_uring_disabled or a "
               "filter of system calls), or this kernel is older than 6.0\n");
        return SKIPPED;
    }

    if (posix_memalign(&buffer, MIB, MIB) != 0) {
        printf("no memory\n");
        return SKIPPED;
    }
    memset(buffer, 1, MIB);

    for (i = 0; i < mib; ++i) {
        status = pin(buffer, MIB);
        if (status != UCS_OK) {
            getrlimit(RLIMIT_MEMLOCK, &limit);
            printf("memory could not be pinned after %lu MiB (%s); locked "
                   "memory is limited to %lu KiB for all processes of this "
                   "user (ulimit -l), and %lu MiB are needed\n", i,
                   ucs_status_string(status), limit.rlim_cur / 1024, mib);
            return SKIPPED;
        }
    }

    uring_reg_cleanup();
    return 0;
}

static int value = 1;

/* A child reads what its parent has written since, as cma does; the parent
 * permits it as UCX does */
static int check_cma(void)
{
    int seen           = 0;
    struct iovec local = {.iov_base = &seen, .iov_len = sizeof(seen)};
    struct iovec peer  = {.iov_base = &value, .iov_len = sizeof(value)};
    int status;
    pid_t pid;

    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid = fork();
    if (pid == 0) {
        value = 0;
        if (process_vm_readv(getppid(), &local, 1, &peer, 1, 0) < 0) {
            printf("a process cannot read another one's memory "
                   "(process_vm_readv: %s; kernel.yama.ptrace_scope or a "
                   "filter of system calls)\n", strerror(errno));
            exit(SKIPPED);
        }
        exit((seen == 1) ? 0 : 1);
    }

    if ((pid < 0) || (waitpid(pid, &status, 0) != pid) || !WIFEXITED(status)) {
        printf("a process cannot be forked\n");
        return 1;
    }

    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    int status;

    if (argc != 2) {
        fprintf(stderr, "usage: %s MIB\n", argv[0]);
        return 2;
    }

    status = check_cma();
    return (status != 0) ? status : check_pinning(strtoul(argv[1], NULL, 0));
}
