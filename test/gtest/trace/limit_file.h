/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_LIMIT_FILE_H_
#define PREDREG_GTEST_LIMIT_FILE_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Let no file of this process, which is a child, grow beyond so many bytes. The
 * limit is one of all its files: if the standard streams are a file that is as
 * long already, whatever a sanitizer says there ends the process by SIGXFSZ. So
 * they lead nowhere from here on. */
inline void limit_file_size(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    int null                  = open("/dev/null", O_WRONLY | O_CLOEXEC);

    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
    setrlimit(RLIMIT_FSIZE, &limit);
}

#endif
