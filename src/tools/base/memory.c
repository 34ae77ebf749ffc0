/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memory.h"

#include <ucs/sys/math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arrays begin with room for so many elements, a power of 2, and double */
#define MIN_ROOM 8ul


__thread const char *predreg_loaded;


void predreg_no_memory(void)
{
    fflush(stdout);
    fprintf(stderr, "ucx_predreg: %s%sout of memory\n",
            (predreg_loaded == NULL) ? "" : predreg_loaded,
            (predreg_loaded == NULL) ? "" : ": ");
    _exit(PREDREG_EXIT_NO_MEMORY);
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

void *predreg_grow(void *array, size_t num, size_t size)
{
    if ((num == 0) || ((num >= MIN_ROOM) && ucs_is_pow2(num))) {
        array = predreg_check_memory(realloc(array, ucs_max(2 * num, MIN_ROOM) *
                                                    size));
    }

    memset((char*)array + (num * size), 0, size);
    return array;
}
