/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "child.h"

#include <tools/predreg/common/command.h>
#include <ucs/base/clock.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/** @file child.c
 *
 * Runs another program in a process group of its own, and reads two texts until the
 * program ends or the time is over: the output of the program, and what it writes to
 * PREDREG_CHILD_FD. After the time limit, the whole group is killed. If a text is longer
 * than MAX_TEXT, the rest is read and thrown away, so the program never waits for a
 * reader.
 */

/* The longest text that is kept, bytes */
#define MAX_TEXT (256ul << 10)

/* The output and the errors of the program, and the text from PREDREG_CHILD_FD */
enum { PRINTED, SAID, NUM_TEXTS };

/* A pipe from the child, and the text read from the pipe */
typedef struct {
    int    fds[2];
    char   *text;
    size_t length;
} stream_t;


static long long now_ms(void)
{
    return ucs_monotonic_ns() / 1000000;
}

/* In the child: replace this program by the other one */
static void become(const predreg_child_params_t *params, stream_t *streams)
{
    int null = open("/dev/null", O_RDONLY);
    const predreg_child_var_t *var;

    /* A process group of its own lets this program end the child together with all
     * children of the child. An interrupt from the terminal does not reach the group of
     * the child, so the kernel is asked to end the child with this program */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, STDIN_FILENO);
    dup2(streams[PRINTED].fds[1], STDOUT_FILENO);
    dup2(streams[PRINTED].fds[1], STDERR_FILENO);
    if (streams[SAID].fds[1] == PREDREG_CHILD_FD) {
        fcntl(PREDREG_CHILD_FD, F_SETFD, 0); /* dup2() would leave O_CLOEXEC set */
    } else {
        dup2(streams[SAID].fds[1], PREDREG_CHILD_FD);
    }

    for (var = params->vars; (var != NULL) && (var->name != NULL); ++var) {
        if (var->value == NULL) {
            unsetenv(var->name);
        } else {
            setenv(var->name, var->value, 1);
        }
    }

    execvp(params->argv[0], (char**)params->argv);
    _exit((errno == ENOENT) ? PREDREG_EXIT_NOT_FOUND : PREDREG_EXIT_CANNOT_RUN);
}

/* Read once from a pipe of the child, and keep as much as MAX_TEXT has room for.
 * @return 0 if the child has closed its end of the pipe, so nothing more comes */
static int read_stream(stream_t *stream)
{
    char rest[512];
    ssize_t count;

    if (stream->length < MAX_TEXT) {
        count = read(stream->fds[0], stream->text + stream->length,
                     MAX_TEXT - stream->length);
    } else {
        count = read(stream->fds[0], rest, sizeof(rest));
    }

    if (count <= 0) {
        return (count < 0) && (errno == EINTR);
    }

    if (stream->length < MAX_TEXT) {
        stream->length              += count;
        stream->text[stream->length] = '\0';
    }
    return 1;
}

/* Read the child's output. @return 0 when the child has closed both pipes, or -1 after the
 * time limit. */
static int read_streams(stream_t *streams, int timeout)
{
    long long end = now_ms() + timeout;
    unsigned open = NUM_TEXTS;
    struct pollfd polled[NUM_TEXTS];
    long long left;
    unsigned i;

    for (i = 0; i < NUM_TEXTS; ++i) {
        polled[i].fd     = streams[i].fds[0];
        polled[i].events = POLLIN;
    }

    while (open > 0) {
        left = end - now_ms();
        if ((left <= 0) || (poll(polled, NUM_TEXTS, left) == 0)) {
            return -1;
        }

        for (i = 0; i < NUM_TEXTS; ++i) {
            if ((polled[i].fd >= 0) && (polled[i].revents != 0) &&
                !read_stream(&streams[i])) {
                polled[i].fd = -1; /* poll() skips a negative descriptor */
                --open;
            }
        }
    }

    return 0;
}

/* Wait until the child has ended, and note how it ended */
static void wait_for(pid_t pid, int timeout, int is_late,
                     predreg_child_t *child)
{
    int status = 0;

    while ((waitpid(pid, &status, 0) < 0) && (errno == EINTR));

    if (is_late) {
        snprintf(child->end, sizeof(child->end), "did not end within %d s",
                 timeout / 1000);
        return;
    }

    child->is_ended = 1;
    if (WIFSIGNALED(status)) {
        snprintf(child->end, sizeof(child->end), "was ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(child->end, sizeof(child->end), "ended with the status %d",
                 WEXITSTATUS(status));
    } else {
        child->is_good = 1;
    }
}

static int open_streams(stream_t *streams)
{
    unsigned i;

    for (i = 0; i < NUM_TEXTS; ++i) {
        streams[i].length  = 0;
        streams[i].text    = predreg_check_memory(malloc(MAX_TEXT + 1));
        streams[i].text[0] = '\0';
        streams[i].fds[0]  = -1;
        streams[i].fds[1]  = -1;
    }

    for (i = 0; i < NUM_TEXTS; ++i) {
        if (pipe2(streams[i].fds, O_CLOEXEC) != 0) {
            return -1;
        }
    }

    return 0;
}

/* Close one end of all pipes: the end for reading (0), or for writing (1) */
static void close_end(stream_t *streams, int end)
{
    unsigned i;

    for (i = 0; i < NUM_TEXTS; ++i) {
        if (streams[i].fds[end] >= 0) {
            close(streams[i].fds[end]);
        }
    }
}

void predreg_child_run(const predreg_child_params_t *params,
                       predreg_child_t *child)
{
    stream_t streams[NUM_TEXTS];
    int is_late;
    pid_t pid = -1;

    memset(child, 0, sizeof(*child));
    if (open_streams(streams) == 0) {
        pid = fork();
    }

    if (pid == 0) {
        become(params, streams);
    }

    if (pid < 0) {
        snprintf(child->end, sizeof(child->end), "cannot be started: %s",
                 strerror(errno));
    }

    close_end(streams, 1);
    if (pid > 0) {
        is_late = (read_streams(streams, params->timeout) != 0);
        if (is_late) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL); /* If the child has not called setpgid() yet, its group
                                   does not exist */
        }
        wait_for(pid, params->timeout, is_late, child);
    }

    close_end(streams, 0);
    child->printed = streams[PRINTED].text;
    child->said    = streams[SAID].text;
}

void predreg_child_cleanup(predreg_child_t *child)
{
    free(child->printed);
    free(child->said);
}
