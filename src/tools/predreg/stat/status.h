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
 * What the kernel tells of a process, and whether this user may look into it.
 * Called by proc.c.
 */

/** The system as it is seen from here. Tests have one of their own. */
typedef struct predreg_system {
    const char *proc;                          /**< "/proc" */
    uid_t      (*user)(void);                  /**< geteuid() */
    int        (*signal)(pid_t pid, int sig);  /**< kill() */
    int        (*open)(const char *path);      /**< A file of another process,
                                                    for reading; -1 and errno */
} predreg_system_t;

/** The one this program runs on. */
extern const predreg_system_t predreg_system;


/** What came of looking at a process. */
typedef enum {
    PREDREG_LOOK_OK,
    PREDREG_LOOK_GONE,    /**< Is not, or no longer */
    PREDREG_LOOK_FOREIGN, /**< Belongs to another user */
    PREDREG_LOOK_DENIED,  /**< The kernel does not let us look */
    PREDREG_LOOK_NONE,    /**< Shows no counters */
    PREDREG_LOOK_HEIR,    /**< Shows those of a process it was forked from */
    PREDREG_LOOK_BAD      /**< They cannot be read */
} predreg_look_t;


/** What /proc/PID/status tells, see proc(5). Anybody may read it, unless /proc
 *  hides the processes of others. */
typedef struct predreg_status {
    char          state;   /**< A letter, as ps(1) shows it */
    pid_t         tgid;    /**< The process, if this is a thread */
    pid_t         own_pid; /**< As it is called in its own name space */
    uid_t         euid;    /**< Effective user */
    unsigned long pinned;  /**< By the kernel's count, KiB */
} predreg_status_t;


/**
 * Read the status of a process, and tell whether we may look into it.
 *
 * @param [out] status  Valid if it is PREDREG_LOOK_OK.
 * @param [out] why_p   What to tell the user if it is not; to be freed. NULL:
 *                      nothing.
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
