/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "packed_key.h"

#include <string.h>

/* Bytes from the start of a key to its first part: the domains, the type of the
 * memory, the length of the part */
#define FIRST_PART (sizeof(uint64_t) + 2 * sizeof(uint8_t))


static size_t part_length(const char *part)
{
    return *(const uint8_t*)(part - 1);
}

/* Keys are not aligned */
static uint64_t read_domains(const uct_predreg_packed_key_t *key)
{
    uint64_t domains;

    memcpy(&domains, key->start, sizeof(domains));
    return domains;
}

/* Whether a part belongs to the key that was being packed: it follows the last part, and
 * nobody else has written to the key. If the part does not follow the last part, the
 * memory of the key may have been freed, and must not be read */
static int
is_next_part(const uct_predreg_packed_key_t *key, const char *part)
{
    return (key->left > 0) && (part == key->next) &&
           (read_domains(key) == key->domains);
}

void uct_predreg_packed_key_part(uct_predreg_packed_key_t *key, void *part)
{
    if (is_next_part(key, part)) {
        --key->left;
    } else {
        key->start   = (char*)part - FIRST_PART;
        key->domains = read_domains(key);
        key->left    = (key->domains == 0) ?
                       0 : __builtin_popcountll(key->domains) - 1;
    }

    key->part = part;
    key->next = (char*)part + part_length(part) + sizeof(uint8_t);
}

void uct_predreg_packed_key_fail(uct_predreg_packed_key_t *key)
{
    key->left = 0;
}

ucs_status_t
uct_predreg_packed_key_withdraw(uct_predreg_packed_key_t *key,
                                unsigned num_domains)
{
    unsigned count = __builtin_popcountll(key->domains);

    if ((count == 0) || (count + num_domains > UCT_PREDREG_PACKED_KEY_BITS)) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    /* Name as many domains as there are parts, by the highest numbers, which no domain
     * has: the peer skips all of the parts */
    key->domains = UINT64_MAX << (UCT_PREDREG_PACKED_KEY_BITS - count);
    memcpy(key->start, &key->domains, sizeof(key->domains));
    memset(key->part, 0, part_length(key->part));
    return UCS_OK;
}
