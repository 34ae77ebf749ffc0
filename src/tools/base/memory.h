/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_MEMORY_H_
#define PREDREG_MEMORY_H_

#include <ucs/sys/compiler_def.h>

#include <stdarg.h>
#include <stddef.h>

BEGIN_C_DECLS

/** @file memory.h
 *
 * Memory and strings of the tools. A tool that gets no more memory prints so and ends: half of
 * a result is of no use, so no function above passes such an error on.
 *
 * Threads: only predreg_loaded is shared, and each thread has its own.
 */

/** Exit status of a tool without memory. */
#define PREDREG_EXIT_NO_MEMORY 126

/** Name of the trace that the thread is loading, for the message: the trace may be
 *  too large. NULL: it loads none. Written by tools/trace. */
extern __thread const char *predreg_loaded;


/** Print that there is no memory, and end the program. */
void UCS_F_NORETURN predreg_no_memory(void);

/** @return the pointer, which is not NULL, or end the program. */
void *predreg_check_memory(void *pointer);

/** @return @a num elements of zeros, never NULL; @a num may be 0. */
void *predreg_alloc(size_t num, size_t size);

/** @return a copy of the characters of a string, with a zero at its end. */
char *predreg_copy(const char *string, size_t length);

/** @return a formatted string, never NULL. The caller may free the string, or leave it
 *  to the end of the program. */
char *predreg_format(const char *format, ...)
        __attribute__((format(printf, 1, 2)));

char *predreg_vformat(const char *format, va_list args);

/** Append to a string made by predreg_format(), and free that string.
 *  @return the longer one. */
char *predreg_append(char *string, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/** Append an item to a list made by predreg_format(), behind a comma, and free that
 *  string. @return the longer one. */
char *predreg_list(char *list, const char *item);

/** @return whether a string is one of some names, up to a NULL, or begins with one.
 *  @param [in] by_begin  Whether its begin is enough. */
int predreg_is_any(const char *string, const char *const *names, int by_begin);


/** Make room behind the @a num elements of an array for one more, of zeros.
 *  @return the array, which may have moved. */
void *predreg_grow(void *array, size_t num, size_t size);

/** Add an element to an array that only this macro lets grow.
 *  @param [inout] _num  Number of elements. @return the element, zeros. */
#define predreg_add(_array, _num) \
    ({ \
        (_array) = predreg_grow(_array, _num, sizeof(*(_array))); \
        &(_array)[(_num)++]; \
    })

END_C_DECLS

#endif
