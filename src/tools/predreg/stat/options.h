/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_STAT_OPTIONS_H_
#define PREDREG_STAT_OPTIONS_H_

#include <ucs/sys/compiler_def.h>

#include <sys/types.h>

BEGIN_C_DECLS

/** @file options.h
 *
 * Reads the options of `ucx_predreg stat`. stat.c calls this.
 */

/** The options, and the processes that the user asks for. */
typedef struct predreg_stat_opts {
    int           json;
    int           screen;    /**< Whether to redraw a terminal */
    int           repeats;   /**< Whether an interval was given */
    double        interval;  /**< Seconds, 0.1 to 86400 */
    unsigned long count;     /**< How often to show; 0: without end */
    pid_t         *pids;     /**< Processes that were asked for, each once */
    unsigned      num_pids;  /**< 0: all processes */
} predreg_stat_opts_t;


/**
 * Read the arguments. Ends the program if help is asked for.
 *
 * @param [in]  is_screen  Whether the output is a terminal that can be redrawn.
 * @param [out] opts       The options; the caller has to clean them up in any
 *                         case.
 *
 * @return 0, or the exit status if an argument is wrong, and the reason has
 *         been printed.
 */
int predreg_stat_parse(int argc, char **argv, int is_screen,
                       predreg_stat_opts_t *opts);

void predreg_stat_opts_cleanup(predreg_stat_opts_t *opts);

END_C_DECLS

#endif
