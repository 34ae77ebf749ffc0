/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "message.h"

#include <ucp/firehose/table/remote.h>

#include <ucs/base/align.h>

#include <string.h>

/* Of memory, in a message */
#define KEY_ALIGNMENT 8


/* What follows the header of a move; then come the buckets */
typedef struct {
    uint32_t num_unpins;
    uint32_t num_pins;
} move_t;


/* What follows the header of a reply; then come the pins, then the keys */
typedef struct {
    uint64_t move;
    uint32_t num_pins;
    uint32_t num_keys;
} reply_t;


static const void *body(const void *message)
{
    return (const ucp_fh_header_t*)message + 1;
}

const ucp_fh_header_t *ucp_fh_message_header(const void *message, size_t length)
{
    const ucp_fh_header_t *header = message;

    return ((length >= sizeof(*header)) &&
            (header->magic == UCP_FH_MESSAGE_MAGIC) &&
            (header->version == UCP_FH_MESSAGE_VERSION) &&
            (header->type < UCP_FH_MESSAGE_LAST)) ? header : NULL;
}

size_t ucp_fh_move_size(uint32_t num_unpins, uint32_t num_pins)
{
    return sizeof(ucp_fh_header_t) + sizeof(move_t) +
           (((size_t)num_unpins + num_pins) * sizeof(uint64_t));
}

void ucp_fh_move_write(void *message, uint32_t num_unpins, uint32_t num_pins,
                       const uint64_t *buckets)
{
    move_t *move = (move_t*)body(message);
    size_t num   = (size_t)num_unpins + num_pins;

    move->num_unpins = num_unpins;
    move->num_pins   = num_pins;
    if (num > 0) {
        memcpy(move + 1, buckets, num * sizeof(*buckets));
    }
}

ucs_status_t ucp_fh_move_parse(const void *message, size_t length,
                               ucp_fh_move_message_t *parsed)
{
    const move_t *move = body(message);

    if ((length < ucp_fh_move_size(0, 0)) ||
        (move->num_unpins > UCP_FH_MAX_MOVE) ||
        (move->num_pins > UCP_FH_MAX_MOVE) ||
        (length != ucp_fh_move_size(move->num_unpins, move->num_pins))) {
        return UCS_ERR_INVALID_PARAM;
    }

    parsed->num_unpins = move->num_unpins;
    parsed->num_pins   = move->num_pins;
    parsed->buckets    = (const uint64_t*)(move + 1);
    return UCS_OK;
}

size_t ucp_fh_reply_size(uint32_t num_pins)
{
    return sizeof(ucp_fh_header_t) + sizeof(reply_t) +
           (num_pins * sizeof(ucp_fh_reply_pin_t));
}

size_t ucp_fh_reply_key_size(size_t length)
{
    return sizeof(ucp_fh_reply_key_t) +
           ucs_rcache_pred_align_up(length, KEY_ALIGNMENT);
}

ucp_fh_reply_pin_t *ucp_fh_reply_write(void *message, uint64_t move,
                                       uint32_t num_pins, uint32_t num_keys)
{
    reply_t *reply = (reply_t*)body(message);

    reply->move     = move;
    reply->num_pins = num_pins;
    reply->num_keys = num_keys;
    return (ucp_fh_reply_pin_t*)(reply + 1);
}

void ucp_fh_reply_write_key(void **end_p, const ucp_fh_reply_key_t *key,
                            const void *packed)
{
    uint8_t *end  = *end_p;
    size_t padded = ucs_rcache_pred_align_up(key->length, KEY_ALIGNMENT);

    memcpy(end, key, sizeof(*key));
    end += sizeof(*key);
    memcpy(end, packed, key->length);
    memset(end + key->length, 0, padded - key->length);
    *end_p = end + padded;
}

/* The keys are what is left of the message, to its last byte */
static ucs_status_t check_keys(const uint8_t *keys, size_t length, uint32_t num)
{
    ucp_fh_reply_key_t key;
    size_t size;
    uint32_t i;

    for (i = 0; i < num; ++i) {
        if (length < sizeof(key)) {
            return UCS_ERR_INVALID_PARAM;
        }

        memcpy(&key, keys, sizeof(key));
        if ((key.length == 0) || (key.length > UCP_FH_MAX_KEY)) {
            return UCS_ERR_INVALID_PARAM;
        }

        size = ucp_fh_reply_key_size(key.length);
        if (length < size) {
            return UCS_ERR_INVALID_PARAM;
        }

        keys   += size;
        length -= size;
    }

    return (length == 0) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

/* Errors are negative, and a firehose has a key */
static int is_pin_valid(const ucp_fh_reply_pin_t *pin, uint32_t num_keys)
{
    return (pin->status == UCS_OK) ? (pin->key < num_keys) :
           ((pin->status < 0) && (pin->status >= UCS_ERR_LAST));
}

ucs_status_t ucp_fh_reply_parse(const void *message, size_t length,
                                ucp_fh_reply_message_t *parsed)
{
    const reply_t *reply = body(message);
    const ucp_fh_reply_pin_t *pins;
    uint32_t i;

    if ((length < ucp_fh_reply_size(0)) ||
        (reply->num_pins > UCP_FH_MAX_MOVE) ||
        (reply->num_keys > reply->num_pins) ||
        (length < ucp_fh_reply_size(reply->num_pins))) {
        return UCS_ERR_INVALID_PARAM;
    }

    pins = (const ucp_fh_reply_pin_t*)(reply + 1);
    for (i = 0; i < reply->num_pins; ++i) {
        if (!is_pin_valid(&pins[i], reply->num_keys)) {
            return UCS_ERR_INVALID_PARAM;
        }
    }

    parsed->move     = reply->move;
    parsed->num_pins = reply->num_pins;
    parsed->num_keys = reply->num_keys;
    parsed->pins     = pins;
    parsed->keys     = (const uint8_t*)(pins + reply->num_pins);
    return check_keys(parsed->keys,
                      length - ucp_fh_reply_size(reply->num_pins),
                      reply->num_keys);
}

const void *ucp_fh_reply_next_key(const uint8_t **cursor_p,
                                  ucp_fh_reply_key_t *key)
{
    const uint8_t *packed = *cursor_p + sizeof(*key);

    memcpy(key, *cursor_p, sizeof(*key));
    *cursor_p += ucp_fh_reply_key_size(key->length);
    return packed;
}

size_t ucp_fh_recall_size(void)
{
    return sizeof(ucp_fh_header_t) + sizeof(ucp_fh_recall_message_t);
}

void ucp_fh_recall_write(void *message, uint64_t first, uint64_t num)
{
    ucp_fh_recall_message_t *recall = (ucp_fh_recall_message_t*)body(message);

    recall->first = first;
    recall->num   = num;
}

ucs_status_t ucp_fh_recall_parse(const void *message, size_t length,
                                 ucp_fh_recall_message_t *recall)
{
    if (length != ucp_fh_recall_size()) {
        return UCS_ERR_INVALID_PARAM;
    }

    memcpy(recall, body(message), sizeof(*recall));
    return ((recall->num > 0) && (recall->num <= UCP_FH_MAX_MOVE) &&
            (recall->first + recall->num > recall->first)) ?
                   UCS_OK : UCS_ERR_INVALID_PARAM;
}

ucs_status_t ucp_fh_address_check(const void *address, size_t length)
{
    const ucp_fh_address_t *head = address;

    return ((length > sizeof(*head)) &&
            (head->magic == UCP_FH_ADDRESS_MAGIC) &&
            (head->version == UCP_FH_MESSAGE_VERSION) &&
            (head->shift >= UCP_FH_MIN_SHIFT) &&
            (head->shift <= UCP_FH_MAX_SHIFT) && (head->share > 0) &&
            (head->length == length - sizeof(*head))) ?
                   UCS_OK : UCS_ERR_INVALID_PARAM;
}
