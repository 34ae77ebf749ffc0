/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Run a command and write down, every few milliseconds, how much memory each
 * of its processes has pinned, as counted by the kernel (VmPin).
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Reading all of /proc is slow in an emulated guest, so new processes are
 * looked for less often than the known ones are sampled. */
#define PINWATCH_SCAN_MS   100

#define PINWATCH_COMM_MAX  16
#define PINWATCH_EXIT_SELF 125


typedef struct {
    pid_t pid;
    int   fd;         /* of /proc/PID/status, or -1 while not sampled */
    int   descendant; /* of the command; never changes, since orphans
                         become children of this process */
    int   seen;       /* had something pinned */
    int   present;    /* Whether the current scan has found it */
} pinwatch_proc_t;

typedef struct {
    const char      *name;
    FILE            *out;
    struct timespec start;
    pid_t           child;
    pinwatch_proc_t *procs; /* In no order: a node has only some hundreds */
    size_t          num_procs;
    size_t          max_procs;
} pinwatch_t;

static volatile sig_atomic_t pinwatch_signal = 0;


static void pinwatch_usage(FILE *stream)
{
    fprintf(stream,
            "usage: pinwatch [-i MS] [-m NAME] -o FILE -- COMMAND [ARGS...]\n"
            "\n"
            "  -o FILE  write lines of t_ms,pid,vmpin_kb to FILE\n"
            "  -i MS    sample every MS milliseconds (10)\n"
            "  -m NAME  only processes of this name (default: all that have\n"
            "           ever had something pinned)\n"
            "\n"
            "The exit status is that of COMMAND, 128 + n if signal n ended\n"
            "it.\n");
}

static void pinwatch_on_signal(int signum)
{
    pinwatch_signal = signum;
}

static double pinwatch_elapsed_ms(const pinwatch_t *pw)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((now.tv_sec - pw->start.tv_sec) * 1e3) +
           ((now.tv_nsec - pw->start.tv_nsec) * 1e-6);
}

/* Read a small file of /proc. @return its length, or -1 if it is gone. */
static ssize_t pinwatch_read(pid_t pid, const char *file, char *buf, size_t max)
{
    char path[64];
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }

    len = read(fd, buf, max - 1);
    close(fd);
    if (len < 0) {
        return -1;
    }

    buf[len] = '\0';
    return len;
}

static pid_t pinwatch_parent(pid_t pid)
{
    char buf[512], *p;

    if (pinwatch_read(pid, "stat", buf, sizeof(buf)) < 0) {
        return -1;
    }

    /* The name of the command, in parentheses, may contain anything */
    p = strrchr(buf, ')');
    return (p == NULL) ? -1 : (pid_t)strtol(p + 3, NULL, 10);
}

static int pinwatch_is_descendant(pid_t pid)
{
    /* Orphans become our children (see main), so that no descendant of the
     * command is lost */
    while (pid > 1) {
        pid = pinwatch_parent(pid);
        if (pid == getpid()) {
            return 1;
        }
    }

    return 0;
}

static int pinwatch_name_matches(const pinwatch_t *pw, pid_t pid)
{
    char comm[PINWATCH_COMM_MAX + 1];

    if (pw->name == NULL) {
        return 1;
    }

    if (pinwatch_read(pid, "comm", comm, sizeof(comm)) < 0) {
        return 0;
    }

    comm[strcspn(comm, "\n")] = '\0';
    /* The kernel cuts long names off */
    return !strncmp(comm, pw->name, PINWATCH_COMM_MAX - 1);
}

static pinwatch_proc_t *pinwatch_get(pinwatch_t *pw, pid_t pid)
{
    pinwatch_proc_t *proc;
    size_t i;

    for (i = 0; i < pw->num_procs; ++i) {
        if (pw->procs[i].pid == pid) {
            return &pw->procs[i];
        }
    }

    if (pw->num_procs == pw->max_procs) {
        pw->max_procs = (pw->max_procs * 2) + 64;
        pw->procs     = realloc(pw->procs, pw->max_procs * sizeof(*pw->procs));
        if (pw->procs == NULL) {
            fprintf(stderr, "pinwatch: out of memory\n");
            exit(PINWATCH_EXIT_SELF);
        }
    }

    proc             = &pw->procs[pw->num_procs++];
    proc->pid        = pid;
    proc->fd         = -1;
    proc->descendant = pinwatch_is_descendant(pid);
    proc->seen       = 0;
    return proc;
}

/* Forget processes that have ended, so that one that gets the same number
 * starts anew. */
static void pinwatch_sweep(pinwatch_t *pw)
{
    size_t i = 0;

    while (i < pw->num_procs) {
        if (pw->procs[i].present) {
            ++i;
            continue;
        }

        if (pw->procs[i].fd >= 0) {
            close(pw->procs[i].fd);
        }
        pw->procs[i] = pw->procs[--pw->num_procs];
    }
}

static void pinwatch_scan(pinwatch_t *pw)
{
    pinwatch_proc_t *proc;
    struct dirent *entry;
    char path[64];
    size_t i;
    DIR *dir;

    dir = opendir("/proc");
    if (dir == NULL) {
        return;
    }

    for (i = 0; i < pw->num_procs; ++i) {
        pw->procs[i].present = 0;
    }

    while ((entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }

        proc          = pinwatch_get(pw, atoi(entry->d_name));
        proc->present = 1;
        /* The name is read again each time, since exec changes it */
        if (proc->descendant && (proc->fd < 0) &&
            pinwatch_name_matches(pw, proc->pid)) {
            snprintf(path, sizeof(path), "/proc/%d/status", proc->pid);
            proc->fd = open(path, O_RDONLY | O_CLOEXEC);
        }
    }

    closedir(dir);
    pinwatch_sweep(pw);
}

static void pinwatch_sample(pinwatch_t *pw)
{
    pinwatch_proc_t *proc;
    unsigned long kb;
    char buf[4096];
    ssize_t len;
    size_t i;
    char *p;

    for (i = 0; i < pw->num_procs; ++i) {
        proc = &pw->procs[i];
        if (proc->fd < 0) {
            continue;
        }

        len = pread(proc->fd, buf, sizeof(buf) - 1, 0);
        if (len <= 0) {
            /* The process has ended; the next scan forgets it */
            continue;
        }

        buf[len] = '\0';
        p        = strstr(buf, "\nVmPin:");
        if (p == NULL) {
            continue;
        }

        kb = strtoul(p + strlen("\nVmPin:"), NULL, 10);
        if ((kb == 0) && (pw->name == NULL) && !proc->seen) {
            continue;
        }

        proc->seen = 1;
        fprintf(pw->out, "%.1f,%d,%lu\n", pinwatch_elapsed_ms(pw), proc->pid,
                kb);
    }
}

/* @return 1, and the exit status, when the command has ended. */
static int pinwatch_reap(pinwatch_t *pw, int *status_p)
{
    int wstatus;
    pid_t pid;

    while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0) {
        if (pid == pw->child) {
            *status_p = WIFSIGNALED(wstatus) ? (128 + WTERMSIG(wstatus)) :
                                               WEXITSTATUS(wstatus);
            return 1;
        }
    }

    return 0;
}

static int pinwatch_run(pinwatch_t *pw, long interval_ms)
{
    double now, next_sample = 0, next_scan = 0;
    struct timespec ts;
    int status;

    while (!pinwatch_reap(pw, &status)) {
        if (pinwatch_signal) {
            kill(pw->child, pinwatch_signal);
            pinwatch_signal = 0;
        }

        now = pinwatch_elapsed_ms(pw);
        if (now >= next_scan) {
            pinwatch_scan(pw);
            next_scan = now + PINWATCH_SCAN_MS;
        }

        pinwatch_sample(pw);

        /* Samples that were missed are not made up for */
        now = pinwatch_elapsed_ms(pw);
        while (next_sample <= now) {
            next_sample += interval_ms;
        }

        ts.tv_sec  = (time_t)((next_sample - now) / 1e3);
        ts.tv_nsec = (long)(((next_sample - now) - (ts.tv_sec * 1e3)) * 1e6);
        nanosleep(&ts, NULL);
    }

    return status;
}

static pid_t pinwatch_spawn(char **argv)
{
    pid_t pid = fork();

    if (pid == 0) {
        execvp(argv[0], argv);
        fprintf(stderr, "pinwatch: %s: %s\n", argv[0], strerror(errno));
        _exit((errno == ENOENT) ? 127 : 126);
    }

    return pid;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = pinwatch_on_signal};
    const char *file        = NULL;
    long interval_ms        = 10;
    pinwatch_t pw           = {0};
    int c, status;

    while ((c = getopt(argc, argv, "+i:m:o:h")) != -1) {
        switch (c) {
        case 'i':
            interval_ms = atol(optarg);
            break;
        case 'm':
            pw.name = optarg;
            break;
        case 'o':
            file = optarg;
            break;
        case 'h':
            pinwatch_usage(stdout);
            return 0;
        default:
            pinwatch_usage(stderr);
            return PINWATCH_EXIT_SELF;
        }
    }

    if ((file == NULL) || (interval_ms <= 0) || (optind == argc)) {
        pinwatch_usage(stderr);
        return PINWATCH_EXIT_SELF;
    }

    pw.out = fopen(file, "we");
    if (pw.out == NULL) {
        fprintf(stderr, "pinwatch: %s: %s\n", file, strerror(errno));
        return PINWATCH_EXIT_SELF;
    }

    fprintf(pw.out, "t_ms,pid,vmpin_kb\n");
    clock_gettime(CLOCK_MONOTONIC, &pw.start);
    /* Without this, the children of a launcher that ends early would be lost */
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    fflush(pw.out);
    pw.child = pinwatch_spawn(&argv[optind]);
    if (pw.child < 0) {
        fprintf(stderr, "pinwatch: fork: %s\n", strerror(errno));
        return PINWATCH_EXIT_SELF;
    }

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    status = pinwatch_run(&pw, interval_ms);

    if ((fclose(pw.out) != 0) && (status == 0)) {
        fprintf(stderr, "pinwatch: %s: %s\n", file, strerror(errno));
        status = PINWATCH_EXIT_SELF;
    }

    free(pw.procs);
    return status;
}
