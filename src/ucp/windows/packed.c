/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "packed.h"

#include <string.h>

/* The domains and the type of the memory */
#define HEAD (sizeof(uint64_t) + sizeof(uint8_t))


/* Keys are not aligned */
static uint64_t read_domains(const void *key)
{
    uint64_t domains;

    memcpy(&domains, key, sizeof(domains));
    return domains;
}

/* Bytes of a part and of its length */
static size_t part_size(const uint8_t *part)
{
    return sizeof(uint8_t) + *part;
}

size_t ucp_win_packed_size(const void *key, size_t length)
{
    const uint8_t *bytes = key;
    size_t size          = HEAD;
    uint64_t left;

    if (length < HEAD) {
        return 0;
    }

    for (left = read_domains(key); left != 0; left &= left - 1) {
        if ((size >= length) || (size + part_size(bytes + size) > length)) {
            return 0;
        }
        size += part_size(bytes + size);
    }

    return size;
}

size_t ucp_win_packed_strip(void *key, size_t length, uint64_t parts)
{
    uint8_t *from    = (uint8_t*)key + HEAD;
    uint8_t *to      = from;
    uint64_t domains = read_domains(key);
    uint64_t kept    = domains;
    uint64_t left;
    size_t size;

    if (ucp_win_packed_size(key, length) == 0) {
        return 0;
    }

    for (left = domains; left != 0; left &= left - 1) {
        size = part_size(from);
        if (parts & 1) {
            kept &= ~(left & -left);
        } else {
            memmove(to, from, size);
            to += size;
        }
        from   += size;
        parts >>= 1;
    }

    memcpy(key, &kept, sizeof(kept));
    return to - (uint8_t*)key;
}

size_t ucp_win_packed_merge(const void *key, size_t length, const void *other,
                            size_t other_length, void *merged)
{
    const uint8_t *first  = (const uint8_t*)key + HEAD;
    const uint8_t *second = (const uint8_t*)other + HEAD;
    uint8_t *to           = (uint8_t*)merged + HEAD;
    uint64_t first_domains, domains, left;
    const uint8_t *part;
    uint64_t bit;

    if ((ucp_win_packed_size(key, length) == 0) ||
        (ucp_win_packed_size(other, other_length) == 0)) {
        return 0;
    }

    first_domains = read_domains(key);
    domains       = first_domains | read_domains(other);
    memcpy(merged, key, HEAD);
    memcpy(merged, &domains, sizeof(domains));
    for (left = domains; left != 0; left &= left - 1) {
        bit  = left & -left;
        part = (first_domains & bit) ? first : second;
        memcpy(to, part, part_size(part));
        to += part_size(part);
        if (first_domains & bit) {
            first += part_size(first);
        }
        if (read_domains(other) & bit) {
            second += part_size(second);
        }
    }

    return to - (uint8_t*)merged;
}
