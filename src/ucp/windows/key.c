/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "key.h"

#include <string.h>


/* The begin of a packed key. The parts follow */
typedef struct {
    uint64_t magic;
    uint32_t version;
    uint32_t index;
    uint64_t job;
    uint64_t start;
    uint64_t first;
    uint64_t last;
    uint64_t end;
    uint16_t lengths[UCP_WIN_KEY_LAST];
} packed_t;


size_t ucp_win_key_size(const ucp_win_key_t *key)
{
    size_t size = sizeof(packed_t);
    int i;

    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        size += key->lengths[i];
    }

    return size;
}

void ucp_win_key_write(const ucp_win_key_t *key, void *packed)
{
    packed_t head = {
        .magic   = UCP_WIN_KEY_MAGIC,
        .version = UCP_WIN_KEY_VERSION,
        .index   = key->index,
        .job     = key->job,
        .start   = key->start,
        .first   = key->first,
        .last    = key->last,
        .end     = key->end
    };
    uint8_t *to   = (uint8_t*)packed + sizeof(head);
    int i;

    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        head.lengths[i] = key->lengths[i];
        if (key->lengths[i] > 0) {
            memcpy(to, key->parts[i], key->lengths[i]);
            to += key->lengths[i];
        }
    }

    memcpy(packed, &head, sizeof(head));
}

int ucp_win_key_is(const void *packed)
{
    uint64_t magic;

    memcpy(&magic, packed, sizeof(magic));
    return magic == UCP_WIN_KEY_MAGIC;
}

static int is_sound(const packed_t *head)
{
    return (head->start <= head->first) && (head->first < head->last) &&
           (head->last <= head->end) &&
           (head->lengths[UCP_WIN_KEY_ADDRESS] > 0) &&
           (head->lengths[UCP_WIN_KEY_REST] > 0) &&
           ((head->lengths[UCP_WIN_KEY_HEAD] > 0) ==
            (head->start < head->first)) &&
           ((head->lengths[UCP_WIN_KEY_TAIL] > 0) == (head->last < head->end));
}

ucs_status_t ucp_win_key_read(const void *packed, ucp_win_key_t *key)
{
    const uint8_t *from = (const uint8_t*)packed + sizeof(packed_t);
    packed_t head;
    int i;

    memcpy(&head, packed, sizeof(uint64_t) + sizeof(uint32_t));
    if (head.version != UCP_WIN_KEY_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }

    memcpy(&head, packed, sizeof(head));
    key->job   = head.job;
    key->index = head.index;
    key->start = head.start;
    key->first = head.first;
    key->last  = head.last;
    key->end   = head.end;
    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        key->lengths[i] = head.lengths[i];
        key->parts[i]   = from;
        from           += head.lengths[i];
    }

    return (is_sound(&head) && (ucp_win_key_size(key) <= UCP_WIN_KEY_MAX)) ?
                   UCS_OK : UCS_ERR_INVALID_PARAM;
}
