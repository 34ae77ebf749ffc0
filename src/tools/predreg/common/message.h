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
 * What ucx_predreg prints on standard error, and its exit status. All of this
 * program may call these functions; they call nothing else of this project.
 */

/** Exit statuses of this program, besides that of the command it runs. Shells
 *  use the last two in the same way. */
enum {
    PREDREG_EXIT_USAGE      = 2,   /**< Bad arguments; nothing was started */
    PREDREG_EXIT_CANNOT_RUN = 126, /**< Found, but could not be run */
    PREDREG_EXIT_NOT_FOUND  = 127  /**< The command or the library is missing */
};


/** Print on standard error the program's name and what is wrong. */
void predreg_error(const char *format, ...)
        __attribute__((format(printf, 1, 2)));


/** From now on, do not print errors, but make a string of them, which the caller frees:
 *  a line for each. @param [out] text_p  NULL: print them again. */
void predreg_errors_collect(char **text_p);


/** Do as predreg_error() does, with the arguments in a list. */
void predreg_verror(const char *format, va_list args);


/** If @a pointer is NULL, print that there is no memory, and end the program.
 *  @return the pointer. */
void *predreg_check_memory(void *pointer);


/** @return a formatted string, never NULL. The caller may free it, or leave it
 *  to the end of the program. */
char *predreg_format(const char *format, ...)
        __attribute__((format(printf, 1, 2)));

/** Append to a string that predreg_format() has made, and free it.
 *  @return the longer one. */
char *predreg_append(char *string, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

END_C_DECLS

#endif
