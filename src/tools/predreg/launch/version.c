/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "version.h"

#include <tools/predreg/common/message.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


static long long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (ts.tv_sec * 1000ll) + (ts.tv_nsec / 1000000);
}

/* In a child: become the command, which prints its version into the pipe */
static void exec_version(char *command, int fd)
{
    char *const argv[] = {command, "--version", NULL};
    int null           = open("/dev/null", O_RDONLY);

    /* In a group of its own, all that the launcher starts can be ended together
     * with it. An interrupt from the terminal does not reach that group, so the
     * launcher is told to end when this program does */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(command, argv);
    _exit(PREDREG_EXIT_NOT_FOUND);
}

/* @return 0 when all output was read, or -1 if its end does not come in time */
static int read_version(int fd, int timeout, char *text, size_t size)
{
    long long end = now_ms() + timeout;
    size_t length = 0;
    struct pollfd pollfd;
    long long left;
    char rest[512];
    ssize_t count;

    pollfd.fd     = fd;
    pollfd.events = POLLIN;
    for (;;) {
        left = end - now_ms();
        if ((left <= 0) || (poll(&pollfd, 1, left) == 0)) {
            return -1;
        }

        /* Output that does not fit is read, too, because a launcher that finds
         * its output closed may complain */
        if (length < size - 1) {
            count = read(fd, text + length, size - 1 - length);
        } else {
            count = read(fd, rest, sizeof(rest));
        }
        if ((count < 0) && (errno != EINTR)) {
            return -1;
        } else if (count == 0) {
            return 0;
        } else if ((count > 0) && (length < size - 1)) {
            length      += count;
            text[length] = '\0';
        }
    }
}

/* Read what the child prints, and end it if that takes too long */
static void read_child(pid_t pid, int fd, const char *command, int timeout,
                       char *text, size_t size)
{
    if (read_version(fd, timeout, text, size) != 0) {
        predreg_error("'%s --version' did not end within %d s; its ranks get "
                      "the environment it passes on by itself", command,
                      timeout / 1000);
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL); /* For the case that the child has not called
                               setpgid() yet */
    }

    while ((waitpid(pid, NULL, 0) < 0) && (errno == EINTR));
}

predreg_launcher_t predreg_launcher_ask(char *command, int timeout)
{
    char text[8192] = "";
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0) {
        goto err;
    }

    pid = fork();
    if (pid == 0) {
        exec_version(command, fds[1]);
    }

    close(fds[1]);
    if (pid < 0) {
        goto err_close;
    }

    read_child(pid, fds[0], command, timeout, text, sizeof(text));
    close(fds[0]);
    return predreg_launcher_by_version(text);

err_close:
    close(fds[0]);
err:
    predreg_error("cannot ask '%s' for its version: %s", command,
                  strerror(errno));
    return PREDREG_LAUNCHER_NONE;
}
