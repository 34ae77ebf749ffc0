/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_OPTIONS_H_
#define PREDREG_RUN_OPTIONS_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file options.h
 *
 * Reads the options of `run` and `record`. Most of them set knobs in the environment.
 * run.c calls this.
 */

/** Options that are not passed on in the environment. */
typedef struct predreg_run_opts {
    const char *library;  /**< Path of the library; NULL: look for it */
    const char *output;   /**< File of the summary, or NULL */
    int        is_new;    /**< Whether that file was made for this command */
    int        summary;   /**< Whether a summary is printed */
    int        no_format; /**< Index of the argument after a --summary without
                               a format; 0: there is no such option */
    const char *folder;   /**< Of traces; NULL: nothing is recorded */
    int        is_new_folder; /**< Whether it was made for this command */
    int        force;     /**< Whether traces in it are to be removed */
} predreg_run_opts_t;


/**
 * Read the options, set the knobs they stand for, and make what they name: the file of
 * the summary, the folder of traces. Knobs that were in the environment before are
 * checked like the options, so that a mistake is found before a job is started. If help
 * is asked for, this prints it and ends the program.
 *
 * @param [in]  records  Whether this is `record`.
 * @param [out] opts     The options.
 *
 * @return 0, and optind is the index of the command in @a argv; or the exit
 *         status, and the reason has been printed; then nothing is left behind.
 */
int predreg_run_parse(int argc, char **argv, int records, predreg_run_opts_t *opts);

/** Remove what was made for the command, which does not run. */
void predreg_run_cancel(const predreg_run_opts_t *opts);

END_C_DECLS

#endif
