/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "key.h"

#include <stdlib.h>
#include <string.h>


ucp_fh_key_t *ucp_fh_key_make(uint64_t start, uint64_t end, const void *packed,
                              uint32_t length)
{
    ucp_fh_key_t *key = malloc(sizeof(*key) + length);

    if (key == NULL) {
        return NULL;
    }

    key->start  = start;
    key->end    = end;
    key->length = length;
    ucs_list_head_init(&key->unpacked);
    memcpy(key->packed, packed, length);
    return key;
}

void ucp_fh_key_free(ucp_fh_key_t *key)
{
    ucp_fh_rkey_t *unpacked;

    if (key == NULL) {
        return;
    }

    while (!ucs_list_is_empty(&key->unpacked)) {
        unpacked = ucs_list_extract_head(&key->unpacked, ucp_fh_rkey_t, link);
        ucs_list_del(&unpacked->owned_link);
        ucs_list_add_tail(unpacked->trash, &unpacked->owned_link);
    }
    free(key);
}

void ucp_fh_key_add(ucp_fh_key_t *key, ucp_fh_rkey_t *unpacked)
{
    ucs_list_add_tail(&key->unpacked, &unpacked->link);
}
