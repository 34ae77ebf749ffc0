/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_H_
#define PREDREG_STAT_H_

#include <ucs/datastruct/string_buffer.h>
#include <ucs/stat/live.h>

#include <sys/types.h>

BEGIN_C_DECLS

/** @file stat.h
 *
 * `ucx_predreg stat`: the live counters of running processes. page.c reads the page of a
 * process (ucs/stat/live.h), proc.c looks at a process,
 * view.c at all, show.c makes the text, stat.c reads the options and prints again
 * and again. info takes a view as well.
 */

/** Largest pid of Linux (PID_MAX_LIMIT) */
#define PREDREG_PID_MAX ((1l << 22) - 1)

/** The functions of the system. Tests have functions of their own. */
typedef struct {
    const char *proc;                          /**< "/proc" */
    uid_t      (*user)(void);                  /**< geteuid() */
    int        (*signal)(pid_t pid, int sig);  /**< kill() */
    int        (*open)(const char *path);      /**< Open a file of another
                                                    process for reading; -1 and
                                                    errno if that fails */
} predreg_system_t;

/** The present system. */
extern const predreg_system_t predreg_system;


/**
 * Read the page of another process. The file may be anything: its contents are
 * checked.
 *
 * @param [in]  fd         Open for reading.
 * @param [out] state      Numbers of policy and mode are in range and the command
 *                         is printable.
 * @param [out] version_p  The version of the page, if the file is one.
 * @return UCS_ERR_UNSUPPORTED if the page is of another version; UCS_ERR_BUSY if it
 *         was being written at each look, for 50 ms, or nothing has been written
 *         yet; UCS_ERR_INVALID_PARAM if the file is no such page, or damaged;
 *         UCS_ERR_IO_ERROR if it cannot be mapped.
 */
ucs_status_t predreg_stat_read(int fd, ucs_rcache_pred_live_state_t *state,
                               unsigned *version_p);

/** Bring a state to a later time, on the assumption that nothing has happened
 *  since: only the duration and the averages go on. */
void predreg_stat_advance(ucs_rcache_pred_live_state_t *state, uint64_t now);


/** The result of looking at a process. */
typedef enum {
    PREDREG_LOOK_OK,
    PREDREG_LOOK_GONE,    /**< There is no such process, or it has ended */
    PREDREG_LOOK_FOREIGN, /**< The process belongs to another user */
    PREDREG_LOOK_DENIED,  /**< The kernel does not let this user look into the process */
    PREDREG_LOOK_NONE,    /**< The process shows no counters */
    PREDREG_LOOK_HEIR,    /**< The process was forked, and shows only the counters of
                               its parent */
    PREDREG_LOOK_BAD      /**< The counters cannot be read */
} predreg_look_t;

/** A process with counters. */
typedef struct {
    pid_t                        pid;    /**< Process id, as seen by this program */
    uint64_t                     looked; /**< Time of the look: CLOCK_MONOTONIC, ns */
    uint64_t                     age;    /**< Age of the counters at the look, ns */
    ucs_rcache_pred_live_state_t state;  /**< The live counters, advanced to the time
                                              of the look; kernel_pinned is the
                                              kernel's count at the look */
} predreg_stat_proc_t;

/**
 * Look at a process.
 *
 * @param [out] proc   Valid if this returns PREDREG_LOOK_OK.
 * @param [out] why_p  Otherwise, a text for the user, to be freed; NULL: none is wanted.
 */
predreg_look_t predreg_stat_look(const predreg_system_t *system, pid_t pid,
                                 predreg_stat_proc_t *proc, char **why_p);


/** One look at some processes. */
typedef struct {
    predreg_stat_proc_t *procs;  /**< In the order of the table */
    unsigned            num_procs;
    char                **texts; /**< Messages to the user: why a process is not shown */
    unsigned            num_texts;
} predreg_view_t;

/**
 * Look at some processes, or at all processes.
 *
 * @param [out] view      To be cleaned up.
 * @param [in]  num_pids  Number of processes that the user has named; 0: look at all
 *                        processes that this user may look into.
 *
 * @return whether each named process shows counters; if none was named, whether any
 *         process shows counters.
 */
int predreg_view_take(predreg_view_t *view, const predreg_system_t *system,
                      const pid_t *pids, unsigned num_pids);

void predreg_view_cleanup(predreg_view_t *view);

/** @return the process with this pid in a view, or NULL. */
const predreg_stat_proc_t *predreg_view_find(const predreg_view_t *view,
                                             pid_t pid);

/** @return whether a view has this message to the user. */
int predreg_view_says(const predreg_view_t *view, const char *text);


/**
 * Append the table of a view: the names of the columns, and a line for each process.
 *
 * @param [in] before  An earlier view: rates are of the time between the two views. Rates of
 *                     a process that is not in it are of the whole run.
 * @param [in] wanted  Columns, as predreg_stat_columns() has them. 0: those in which some
 *                     process has something.
 * @param [in] width   Columns that do not fit into a line of this width are left out.
 * @param [in] height  The most processes; the last line tells how many more there are.
 * @param [in] end     Appended to each line, before the newline.
 */
void predreg_stat_table(const predreg_view_t *view, const predreg_view_t *before,
                        uint64_t wanted, int width, unsigned height, const char *end,
                        ucs_string_buffer_t *strb);

/** Read names of columns, separated by commas. @param [out] columns_p  A bit for each column;
 *  0 at first. @return 0, or the exit status, and the reason has been printed. */
int predreg_stat_columns(const char *list, uint64_t *columns_p);

/** Append a line about all processes together, without a newline. */
void predreg_stat_title(const predreg_stat_proc_t *procs, unsigned num_procs,
                        ucs_string_buffer_t *line);

/** Append a process as a JSON object, without a newline.
 *  @param [in] time_ms  Now, ms since 1970. */
void predreg_stat_json(const predreg_stat_proc_t *proc, uint64_t time_ms,
                       ucs_string_buffer_t *line);


/** The options, and the processes asked for. */
typedef struct {
    int           json;
    int           screen;    /**< Whether to redraw a terminal */
    int           repeats;   /**< Whether an interval was given */
    uint64_t      columns;   /**< As for predreg_stat_table() */
    double        interval;  /**< Seconds, 0.1 to 86400 */
    unsigned long count;     /**< Number of looks; 0: without end */
    pid_t         *pids;     /**< Each process once */
    unsigned      num_pids;  /**< 0: all processes */
} predreg_stat_opts_t;

/**
 * Read the arguments. If help is asked for, print it and end the program.
 *
 * @param [in]  is_screen  Whether the output is a terminal that can be redrawn.
 * @param [out] opts       To be cleaned up in any case.
 *
 * @return 0, or the exit status if an argument is wrong, and the reason has
 *         been printed.
 */
int predreg_stat_parse(int argc, char **argv, int is_screen,
                       predreg_stat_opts_t *opts);

void predreg_stat_opts_cleanup(predreg_stat_opts_t *opts);

/**
 * Print a view as the options say.
 *
 * @param [in] before  The view printed before. Rates are of the time between the two
 *                     views, and a message that was in the view before is not printed
 *                     again.
 */
void predreg_stat_print(const predreg_stat_opts_t *opts,
                        const predreg_view_t *view,
                        const predreg_view_t *before);

END_C_DECLS

#endif
