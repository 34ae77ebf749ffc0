/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memory.h"

#include <ucs/sys/math.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number of elements in the first allocation of an array, a power of 2. A full array
 * doubles, and therefore the number of elements in a full array is always a power of 2 */
#define MIN_ROOM 8ul


__thread const char *predreg_loaded;


void predreg_no_memory(void)
{
    fflush(stdout);
    fprintf(stderr, "ucx_predreg: %s%sout of memory\n",
            (predreg_loaded == NULL) ? "" : predreg_loaded,
            (predreg_loaded == NULL) ? "" : ": ");
    quick_exit(PREDREG_EXIT_NO_MEMORY); /* Temporary files are removed */
}

void *predreg_check_memory(void *pointer)
{
    if (pointer == NULL) {
        predreg_no_memory();
    }

    return pointer;
}

void *predreg_alloc(size_t num, size_t size)
{
    return predreg_check_memory(calloc(ucs_max(num, 1ul), size));
}

char *predreg_copy(const char *string, size_t length)
{
    return memcpy(predreg_alloc(length + 1, 1), string, length);
}

char *predreg_vformat(const char *format, va_list args)
{
    char *string = NULL;

    return predreg_check_memory((vasprintf(&string, format, args) < 0) ? NULL : string);
}

char *predreg_format(const char *format, ...)
{
    va_list args;
    char *string;

    va_start(args, format);
    string = predreg_vformat(format, args);
    va_end(args);
    return string;
}

char *predreg_append(char *string, const char *format, ...)
{
    char *end, *longer;
    va_list args;

    va_start(args, format);
    end = predreg_vformat(format, args);
    va_end(args);

    longer = predreg_format("%s%s", string, end);
    free(string);
    free(end);
    return longer;
}

char *predreg_list(char *list, const char *item)
{
    return predreg_append(list, "%s%s", (list[0] == '\0') ? "" : ", ", item);
}

int predreg_is_any(const char *string, const char *const *names, int by_begin)
{
    for (; *names != NULL; ++names) {
        if (!strncmp(string, *names, by_begin ? strlen(*names) : SIZE_MAX)) {
            return 1;
        }
    }

    return 0;
}

void *predreg_grow(void *array, size_t num, size_t size)
{
    if ((num == 0) || ((num >= MIN_ROOM) && ucs_is_pow2(num))) {
        array = predreg_check_memory(realloc(array, ucs_max(2 * num, MIN_ROOM) *
                                                    size));
    }

    memset((char*)array + (num * size), 0, size);
    return array;
}

void *predreg_grow_copy(const void *array, size_t num, size_t size)
{
    void *copy = predreg_alloc(ucs_max(2 * num, MIN_ROOM), size);

    return (num == 0) ? copy : memcpy(copy, array, num * size);
}
