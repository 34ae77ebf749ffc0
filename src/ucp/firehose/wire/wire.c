/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "wire.h"

#include <ucp/firehose/table/remote.h>

#include <ucs/base/align.h>

#include <stdlib.h>
#include <string.h>

/* Each bucket of a reply begins at a multiple of this number of bytes */
#define KEY_ALIGNMENT 8

/* Bytes of a packed key of UCP before its parts: the domains and the type of the memory */
#define HEAD (sizeof(uint64_t) + sizeof(uint8_t))


/* What follows the header of a move; then come the buckets */
typedef struct {
    uint32_t num_unpins;
    uint32_t num_pins;
} move_t;


/* What follows the header of a reply; then come the buckets */
typedef struct {
    uint64_t move;
    uint32_t num_pins;
    uint32_t unused;
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

size_t ucp_fh_reply_size(void)
{
    return sizeof(ucp_fh_header_t) + sizeof(reply_t);
}

size_t ucp_fh_reply_pin_size(size_t length)
{
    return sizeof(ucp_fh_reply_pin_t) +
           ucs_round_up(length, KEY_ALIGNMENT);
}

void *ucp_fh_reply_write(void *message, uint64_t move, uint32_t num_pins)
{
    reply_t *reply = (reply_t*)body(message);

    *reply = (reply_t){.move = move, .num_pins = num_pins};
    return reply + 1;
}

void ucp_fh_reply_write_pin(void **end_p, const ucp_fh_reply_pin_t *pin,
                            const void *packed)
{
    uint8_t *key = UCS_PTR_BYTE_OFFSET(*end_p, sizeof(*pin));
    uint8_t *end = UCS_PTR_BYTE_OFFSET(*end_p,
                                       ucp_fh_reply_pin_size(pin->length));

    memcpy(*end_p, pin, sizeof(*pin));
    if (pin->length > 0) {
        memcpy(key, packed, pin->length);
    }
    memset(key + pin->length, 0, end - key - pin->length);
    *end_p = end;
}

/* Whether one bucket of a reply makes sense: errors are negative, and a firehose has a key */
static int is_pin_valid(const ucp_fh_reply_pin_t *pin)
{
    return (pin->status == UCS_OK) ?
                   (pin->length > 0) && (pin->length <= UCP_FH_MAX_KEY) :
                   (pin->length == 0) && (pin->status < 0) &&
                   (pin->status >= UCS_ERR_LAST);
}

/* Check that the bytes after the head of a reply are @a num sound buckets, and nothing
 * else */
static ucs_status_t check_pins(const uint8_t *pins, size_t length, uint32_t num)
{
    const uint8_t *end = pins + length;
    ucp_fh_reply_pin_t pin;
    uint32_t i;

    for (i = 0; i < num; ++i) {
        if (end - pins < sizeof(pin)) {
            return UCS_ERR_INVALID_PARAM;
        }

        memcpy(&pin, pins, sizeof(pin));
        if (!is_pin_valid(&pin) ||
            (end - pins < ucp_fh_reply_pin_size(pin.length))) {
            return UCS_ERR_INVALID_PARAM;
        }
        pins += ucp_fh_reply_pin_size(pin.length);
    }

    return (pins == end) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

ucs_status_t ucp_fh_reply_parse(const void *message, size_t length,
                                ucp_fh_reply_message_t *parsed)
{
    const reply_t *reply = body(message);

    if ((length < ucp_fh_reply_size()) ||
        (reply->num_pins > UCP_FH_MAX_MOVE)) {
        return UCS_ERR_INVALID_PARAM;
    }

    parsed->move     = reply->move;
    parsed->num_pins = reply->num_pins;
    parsed->pins     = (const uint8_t*)(reply + 1);
    return check_pins(parsed->pins, length - ucp_fh_reply_size(),
                      reply->num_pins);
}

const void *ucp_fh_reply_next_pin(const uint8_t **cursor_p,
                                  ucp_fh_reply_pin_t *pin)
{
    const uint8_t *packed = *cursor_p + sizeof(*pin);

    memcpy(pin, *cursor_p, sizeof(*pin));
    *cursor_p += ucp_fh_reply_pin_size(pin->length);
    return packed;
}

size_t ucp_fh_recall_size(void)
{
    return sizeof(ucp_fh_header_t) + sizeof(ucp_fh_run_t);
}

void ucp_fh_recall_write(void *message, const ucp_fh_run_t *run)
{
    memcpy((void*)body(message), run, sizeof(*run));
}

ucs_status_t
ucp_fh_recall_parse(const void *message, size_t length, ucp_fh_run_t *run)
{
    if (length != ucp_fh_recall_size()) {
        return UCS_ERR_INVALID_PARAM;
    }

    memcpy(run, body(message), sizeof(*run));
    return ((run->num > 0) && (run->num <= UCP_FH_MAX_MOVE) &&
            (ucp_fh_run_end(run) > run->first)) ?
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

    while ((unpacked = ucp_fh_list_pop(&key->unpacked, ucp_fh_rkey_t, link)) != NULL) {
        ucs_list_del(&unpacked->owned_link);
        ucs_list_add_tail(unpacked->trash, &unpacked->owned_link);
    }
    free(key);
}

/* Read the bits for the domains of a key, which need not be aligned */
static uint64_t read_domains(const void *key)
{
    uint64_t domains;

    memcpy(&domains, key, sizeof(domains));
    return domains;
}

/* @return the bytes of a part together with the byte that has its length */
static size_t part_size(const uint8_t *part)
{
    return sizeof(uint8_t) + *part;
}

size_t ucp_fh_packed_size(const void *key, size_t length)
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

size_t ucp_fh_packed_strip(void *key, size_t length, uint64_t parts)
{
    uint8_t *from    = (uint8_t*)key + HEAD;
    uint8_t *to      = from;
    uint64_t domains = read_domains(key);
    uint64_t kept    = domains;
    uint64_t left;
    size_t size;

    if (ucp_fh_packed_size(key, length) == 0) {
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

size_t ucp_fh_packed_merge(const void *key, size_t length, const void *other,
                            size_t other_length, void *merged)
{
    const uint8_t *first  = (const uint8_t*)key + HEAD;
    const uint8_t *second = (const uint8_t*)other + HEAD;
    uint8_t *to           = (uint8_t*)merged + HEAD;
    uint64_t first_domains, domains, left;
    const uint8_t *part;
    uint64_t bit;

    if ((ucp_fh_packed_size(key, length) == 0) ||
        (ucp_fh_packed_size(other, other_length) == 0)) {
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
