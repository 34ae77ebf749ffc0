/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "key.h"

#include <string.h>


size_t ucp_win_key_size(const ucp_win_key_t *key)
{
    size_t size = sizeof(key->head);
    int i;

    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        size += key->head.lengths[i];
    }

    return size;
}

void ucp_win_key_write(const ucp_win_key_t *key, void *packed)
{
    ucp_win_key_head_t head = key->head;
    uint8_t *to             = (uint8_t*)packed + sizeof(head);
    int i;

    head.magic   = UCP_WIN_KEY_MAGIC;
    head.version = UCP_WIN_KEY_VERSION;
    memcpy(packed, &head, sizeof(head));
    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        if (head.lengths[i] > 0) {
            memcpy(to, key->parts[i], head.lengths[i]);
            to += head.lengths[i];
        }
    }
}

int ucp_win_key_is(const void *packed)
{
    uint64_t magic;

    memcpy(&magic, packed, sizeof(magic));
    return magic == UCP_WIN_KEY_MAGIC;
}

static int is_sound(const ucp_win_key_head_t *head)
{
    const ucp_win_range_t *range = &head->range;

    return (range->start <= range->first) && (range->first < range->last) &&
           (range->last <= range->end) &&
           (head->lengths[UCP_WIN_KEY_ADDRESS] > 0) &&
           (head->lengths[UCP_WIN_KEY_REST] > 0) &&
           ((head->lengths[UCP_WIN_KEY_HEAD] > 0) ==
            (range->start < range->first)) &&
           ((head->lengths[UCP_WIN_KEY_TAIL] > 0) == (range->last < range->end));
}

ucs_status_t ucp_win_key_read(const void *packed, ucp_win_key_t *key)
{
    ucp_win_key_head_t *head = &key->head;
    const uint8_t *from      = (const uint8_t*)packed + sizeof(*head);
    int i;

    memcpy(head, packed, offsetof(ucp_win_key_head_t, index));
    if (head->version != UCP_WIN_KEY_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }

    memcpy(head, packed, sizeof(*head));
    for (i = 0; i < UCP_WIN_KEY_LAST; ++i) {
        key->parts[i] = from;
        from         += head->lengths[i];
    }

    return (is_sound(head) && (ucp_win_key_size(key) <= UCP_WIN_KEY_MAX)) ?
                   UCS_OK : UCS_ERR_INVALID_PARAM;
}
