/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_STATUS_H_
#define PREDREG_STAT_STATUS_H_

#include <ucs/sys/compiler_def.h>

#include <sys/types.h>

BEGIN_C_DECLS

/** @file status.h
 *
 * Reads what the kernel tells about a process, and whether this user may look
 * into it. proc.c calls this.
 */

/** The functions of the system that are used here. Tests have functions of
 *  their own. */
typedef struct predreg_system {
    const char *proc;                          /**< "/proc" */
    uid_t      (*user)(void);                  /**< geteuid() */
    int        (*signal)(pid_t pid, int sig);  /**< kill() */
    int        (*open)(const char *path);      /**< Open a file of another
                                                    process for reading; -1 and
                                                    errno if that fails */
} predreg_system_t;

/** The system that this program runs on. */
extern const predreg_system_t predreg_system;


/** The result of looking at a process. */
typedef enum {
    PREDREG_LOOK_OK,
    PREDREG_LOOK_GONE,    /**< There is no such process, or no longer */
    PREDREG_LOOK_FOREIGN, /**< It belongs to another user */
    PREDREG_LOOK_DENIED,  /**< The kernel does not let this user look */
    PREDREG_LOOK_NONE,    /**< It shows no counters */
    PREDREG_LOOK_HEIR,    /**< It shows those of its parent, which it was forked
                               from */
    PREDREG_LOOK_BAD      /**< Its counters cannot be read */
} predreg_look_t;


/** Contents of /proc/PID/status, see proc(5). Anybody may read this file,
 *  unless /proc hides the processes of other users. */
typedef struct predreg_status {
    char          state;   /**< A letter, as ps(1) shows it */
    pid_t         tgid;    /**< The process, if this is a thread */
    pid_t         own_pid; /**< Pid of the process in its own name space */
    uid_t         euid;    /**< Effective user */
    unsigned long pinned;  /**< Pinned memory as the kernel counts it, KiB */
} predreg_status_t;


/**
 * Read the status of a process, and find out whether this user may look into
 * it.
 *
 * @param [out] status  Valid if this returns PREDREG_LOOK_OK.
 * @param [out] why_p   If it returns anything else, what to tell the user, to
 *                      be freed by the caller; NULL: nothing.
 */
predreg_look_t predreg_look_status(const predreg_system_t *system, pid_t pid,
                                   predreg_status_t *status, char **why_p);


/** Set *_why_p, unless _why_p is NULL, to a formatted string. */
#define PREDREG_WHY(_why_p, _format, ...) \
    do { \
        if ((_why_p) != NULL) { \
            *(_why_p) = predreg_format(_format, ##__VA_ARGS__); \
        } \
    } while (0)

END_C_DECLS

#endif
