/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_MESSAGE_H_
#define PREDREG_COMMON_MESSAGE_H_

#include <ucs/sys/compiler_def.h>

#include <stdarg.h>

BEGIN_C_DECLS

/** @file message.h
 *
 * What ucx_predreg says on standard error, and with which exit status it ends.
 * Everything in this program may call it; it calls nothing of ours.
 */

/** Exit status, besides that of the command. The last two are the shell's. */
enum {
    PREDREG_EXIT_USAGE      = 2,   /**< Bad arguments; nothing was started */
    PREDREG_EXIT_CANNOT_RUN = 126, /**< Found, but could not be run */
    PREDREG_EXIT_NOT_FOUND  = 127  /**< The command or the library is missing */
};


/** Say on standard error what is wrong, after the program's name. */
void predreg_error(const char *format, ...)
        __attribute__((format(printf, 1, 2)));


/** As predreg_error, with the arguments in a list. */
void predreg_verror(const char *format, va_list args);


/** End the program, having said that there is no memory, if @a pointer is
 *  NULL. @return the pointer. */
void *predreg_check_memory(void *pointer);


/** Formatted string. Never NULL; free it or let it be. */
char *predreg_format(const char *format, ...)
        __attribute__((format(printf, 1, 2)));

END_C_DECLS

#endif
