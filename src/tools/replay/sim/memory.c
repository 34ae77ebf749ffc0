/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memory.h"

#include <ucs/sys/math.h>

#include <stdlib.h>

/* For so many registrations the array has room when it is first allocated; then
 * it doubles */
#define MIN_CAPACITY 256


static ucs_status_t grow(predreg_memories_t *memories)
{
    size_t capacity = ucs_max(2 * memories->capacity, (size_t)MIN_CAPACITY);
    predreg_memory_t *memory;

    memory = realloc(memories->memory, capacity * sizeof(*memory));
    if (memory == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memories->memory   = memory;
    memories->capacity = capacity;
    memories->count    = ucs_max(memories->count, 1ul); /* 0 is not used */
    return UCS_OK;
}

size_t predreg_memories_new(predreg_memories_t *memories)
{
    size_t number = memories->first_free;

    if (number != 0) {
        memories->first_free = memories->memory[number].next_free;
    } else if ((memories->count < memories->capacity) ||
               (grow(memories) == UCS_OK)) {
        number = memories->count++;
    } else {
        return 0;
    }

    memories->memory[number].is_used = 1;
    return number;
}

void predreg_memories_free(predreg_memories_t *memories, size_t number)
{
    memories->memory[number].is_used   = 0;
    memories->memory[number].next_free = memories->first_free;
    memories->first_free               = number;
}

void predreg_memories_cleanup(predreg_memories_t *memories)
{
    free(memories->memory);
}
