/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_H_
#define PREDREG_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file predreg.h  What the subcommands of ucx_predreg share. */

/** Exit status, besides that of the command. The last two are the shell's. */
enum {
    PREDREG_EXIT_USAGE      = 2,   /**< Bad arguments; nothing was started */
    PREDREG_EXIT_CANNOT_RUN = 126, /**< Found, but could not be run */
    PREDREG_EXIT_NOT_FOUND  = 127  /**< The command or the library is missing */
};


/** Say on standard error what is wrong. */
void predreg_error(const char *format, ...)
        __attribute__((format(printf, 1, 2)));


/** End the program because there is no memory, if @a pointer is NULL. */
void *predreg_check_memory(void *pointer);


/** Formatted string. Never NULL; free it or let it be. */
char *predreg_format(const char *format, ...)
        __attribute__((format(printf, 1, 2)));


/**
 * Find the library to preload.
 *
 * @param [in]  wanted    Path given by the user, or NULL to look for it.
 * @param [out] status_p  Exit status if there is none; the reason was said.
 *
 * @return an absolute path, or NULL.
 */
char *predreg_find_library(const char *wanted, int *status_p);


/** @ref predreg_main.c : a subcommand, with its name in argv[0]. */
int predreg_run(int argc, char **argv);
int predreg_record(int argc, char **argv);
int predreg_dump(int argc, char **argv);
int predreg_stat(int argc, char **argv);
int predreg_replay_command(int argc, char **argv);
int predreg_report(int argc, char **argv);

END_C_DECLS

#endif
