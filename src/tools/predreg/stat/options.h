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
 * What `ucx_predreg stat` is asked for. Called by stat.c.
 */

/** The options, and the processes. */
typedef struct predreg_stat_opts {
    int           json;
    int           screen;    /**< Redraw a terminal */
    double        interval;  /**< Seconds, 0.1 to 86400 */
    unsigned long count;     /**< How often to show; 0: without end */
    pid_t         *pids;     /**< What was asked for, each once */
    unsigned      num_pids;  /**< 0: all there are */
} predreg_stat_opts_t;


/**
 * Read the arguments. Ends the program if help is asked for.
 *
 * @param [in]  is_screen  The output is a terminal that can be redrawn.
 * @param [out] opts       To be cleaned up, whatever is returned.
 *
 * @return 0 or the exit status; what is wrong was said.
 */
int predreg_stat_parse(int argc, char **argv, int is_screen,
                       predreg_stat_opts_t *opts);

void predreg_stat_opts_cleanup(predreg_stat_opts_t *opts);

END_C_DECLS

#endif
