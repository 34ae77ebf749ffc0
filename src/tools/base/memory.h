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
 * Memory and strings of the tools. A tool that gets no more memory prints an error and
 * ends, because half of a result is of no use. So no function of the tools returns an
 * error for lack of memory.
 *
 * Threads: only predreg_loaded is shared, and each thread has its own.
 */

/** Exit status of a tool without memory. */
#define PREDREG_EXIT_NO_MEMORY 126

/** Name of the trace that the thread is loading, for the message about lack of memory,
 *  since the trace may be too large; NULL: the thread is loading no trace. The functions
 *  of tools/trace write it. */
extern __thread const char *predreg_loaded;


/** Print that there is no memory, and end the program. */
void UCS_F_NORETURN predreg_no_memory(void);

/** End the program if the pointer is NULL. @return the pointer. */
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

/** Append an item to a list made by predreg_format(), after a comma unless the list is
 *  empty, and free the old list.
 *  @return the longer list. */
char *predreg_list(char *list, const char *item);

/** @return whether a string is in a list of names, which ends with a NULL.
 *  @param [in] by_begin  Whether a string that only begins with a name counts, too. */
int predreg_is_any(const char *string, const char *const *names, int by_begin);


/** Make room for one more element behind the @a num elements of an array, and fill the
 *  element with zeros.
 *  @return the array, which may have moved. */
void *predreg_grow(void *array, size_t num, size_t size);

/** @return a copy of an array, to which predreg_add() may add. */
void *predreg_grow_copy(const void *array, size_t num, size_t size);

/** Add an element to an array. Only predreg_grow() may reallocate the array, since the
 *  number of elements stands for the size of the allocation.
 *  @param [inout] _num  Number of elements. @return the new element, of zeros. */
#define predreg_add(_array, _num) \
    ({ \
        (_array) = predreg_grow(_array, _num, sizeof(*(_array))); \
        &(_array)[(_num)++]; \
    })

END_C_DECLS

#endif
