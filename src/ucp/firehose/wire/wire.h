/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_WIRE_H_
#define UCP_FH_WIRE_H_

#include <ucp/api/ucp.h>
#include <ucp/firehose/table/types.h>
#include <ucs/datastruct/list.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file wire.h
 *
 * The bytes between processes: messages, addresses, and keys. Pure: nothing here calls
 * UCP. Numbers are in the byte order of the machine; the magic number at the begin of
 * each message and address tells the byte order. Bytes of other processes are not
 * trusted: a function that parses reads no byte beyond the given length, and returns no
 * pointer beyond these bytes.
 */

#define UCP_FH_MESSAGE_MAGIC   0x46483031u
#define UCP_FH_ADDRESS_MAGIC   0x46484131u
#define UCP_FH_MESSAGE_VERSION 2

/** Most bytes of a packed key: a limit against nonsense. A key of UCX has some hundred
 *  bytes. */
#define UCP_FH_MAX_KEY         65536


typedef enum {
    UCP_FH_MESSAGE_MOVE,   /**< The sender moves firehoses */
    UCP_FH_MESSAGE_REPLY,  /**< The answer to a move */
    UCP_FH_MESSAGE_RECALL, /**< The receiver is to give firehoses back */
    UCP_FH_MESSAGE_BYE,    /**< The sender ends */
    UCP_FH_MESSAGE_HELLO,  /**< The address of the sender, in its first message to the
                                receiver, if ucp_fh::says_hello is set */
    UCP_FH_MESSAGE_LAST
} ucp_fh_message_type_t;


/** The begin of each message. */
typedef struct ucp_fh_header {
    uint32_t magic;
    uint8_t  version;
    uint8_t  type;   /**< @ref ucp_fh_message_type_t */
    uint16_t unused; /**< 0 */
    uint32_t sender; /**< Number of the process */
    uint32_t unused2;
    uint64_t cookie; /**< The sender's cookie, as in its address */
    uint64_t number; /**< 0, 1, 2...: the receiver handles messages of a sender in the
                          order of their numbers */
} ucp_fh_header_t;


typedef struct ucp_fh_move_message {
    uint32_t       num_unpins;
    uint32_t       num_pins;
    const uint64_t *buckets; /**< First the buckets to unpin, then those to pin */
} ucp_fh_move_message_t;


/** The answer about one bucket to pin. The packed key follows, if there is one. */
typedef struct ucp_fh_reply_pin {
    int32_t  status; /**< UCS_OK, or why there is no firehose */
    uint32_t length; /**< Bytes of the packed key, 1 to UCP_FH_MAX_KEY; 0 if there
                          is no firehose */
    uint64_t start;  /**< First exposed byte of the bucket */
    uint64_t end;    /**< The byte after the last exposed one */
} ucp_fh_reply_pin_t;


typedef struct ucp_fh_reply_message {
    uint64_t      move; /**< Number of the move that the message answers */
    uint32_t      num_pins;
    const uint8_t *pins; /**< For ucp_fh_reply_next_pin() */
} ucp_fh_reply_message_t;


/** The begin of an address. A UCP address follows. */
typedef struct ucp_fh_address {
    uint32_t magic;
    uint8_t  version;
    uint8_t  shift;  /**< Logarithm of the size of a bucket of the process */
    uint16_t unused;
    uint32_t index;  /**< Number of the process */
    uint32_t share;  /**< f: number of firehoses that each peer may have on the process */
    uint64_t cookie; /**< The process puts it into all its messages */
    uint64_t length; /**< Bytes of the UCP address */
} ucp_fh_address_t;


/** @return the header of a message; NULL if the message is damaged, or of another
 *          version. */
const ucp_fh_header_t *ucp_fh_message_header(const void *message, size_t length);

/** @return the bytes of a move with these numbers of buckets. */
size_t ucp_fh_move_size(uint32_t num_unpins, uint32_t num_pins);

/** Write a move of ucp_fh_move_size() bytes, except for its header. */
void ucp_fh_move_write(void *message, uint32_t num_unpins, uint32_t num_pins,
                       const uint64_t *buckets);

/** @return UCS_ERR_INVALID_PARAM: damaged. */
ucs_status_t ucp_fh_move_parse(const void *message, size_t length,
                               ucp_fh_move_message_t *move);

/** @return the length of a reply without its buckets, bytes. */
size_t ucp_fh_reply_size(void);

/** @return the length of one bucket in a reply, bytes.
 *
 *  @param [in] length  Bytes of its packed key; 0: it has none. */
size_t ucp_fh_reply_pin_size(size_t length);

/** Write a reply, except for its header and its buckets.
 *
 *  @return the place for the first bucket. */
void *ucp_fh_reply_write(void *message, uint64_t move, uint32_t num_pins);

/** Write a bucket to *@a end_p, the place after the bytes so far, and advance
 *  *@a end_p. */
void ucp_fh_reply_write_pin(void **end_p, const ucp_fh_reply_pin_t *pin,
                            const void *packed);

/** @return UCS_ERR_INVALID_PARAM: damaged. */
ucs_status_t ucp_fh_reply_parse(const void *message, size_t length,
                                ucp_fh_reply_message_t *reply);

/** Read the bucket at *@a cursor_p, at first ucp_fh_reply_message_t::pins, and advance
 *  *@a cursor_p. To be called for each bucket of a parsed reply.
 *
 *  @return the packed key. */
const void *ucp_fh_reply_next_pin(const uint8_t **cursor_p,
                                  ucp_fh_reply_pin_t *pin);

/** @return the length of any recall, bytes. */
size_t ucp_fh_recall_size(void);

/** Write a recall, except for its header.
 *
 *  @param [in] run  Buckets to give back: UCP_FH_MAX_MOVE at most, since the receiver
 *                   looks up each bucket. */
void ucp_fh_recall_write(void *message, const ucp_fh_run_t *run);

/** @return UCS_ERR_INVALID_PARAM: damaged. */
ucs_status_t
ucp_fh_recall_parse(const void *message, size_t length, ucp_fh_run_t *run);

/** @return UCS_OK; UCS_ERR_INVALID_PARAM if the bytes are no address, or one of another
 *          version. */
ucs_status_t ucp_fh_address_check(const void *address, size_t length);


/* KEYS to buckets of peers. Each present entry of the remote table has one: the packed
 * key, as received, and unpacked keys, one for each endpoint that had an operation on the
 * bucket. These functions are called under the lock of the tables. */

/** An unpacked key. */
typedef struct ucp_fh_rkey {
    ucs_list_link_t link;       /**< In ucp_fh_key_t::unpacked */
    ucs_list_link_t owned_link; /**< In a list of the endpoint's owner */
    /** Another list of the endpoint's owner. When the firehose is gone, @a owned_link
     *  moves to this list, and a thread that may use the endpoint destroys the unpacked
     *  key */
    ucs_list_link_t *trash;
    ucp_rkey_h      rkey;
} ucp_fh_rkey_t;


typedef struct ucp_fh_key {
    uint64_t        start;    /**< First byte that may be accessed */
    uint64_t        end;      /**< The byte after the last */
    uint32_t        length;   /**< Bytes of @a packed */
    ucs_list_link_t unpacked; /**< ucp_fh_rkey_t */
    uint8_t         packed[];
} ucp_fh_key_t;


/** @return a key, or NULL if there is no memory. */
ucp_fh_key_t *ucp_fh_key_make(uint64_t start, uint64_t end, const void *packed,
                              uint32_t length);

/** Free a key, which may be NULL, since its firehose is gone. Each of its unpacked keys
 *  moves to ucp_fh_rkey_t::trash. */
void ucp_fh_key_free(ucp_fh_key_t *key);

/** @return the unpacked key that belongs to the owner of the list @a trash, or NULL. */
static inline ucp_rkey_h
ucp_fh_key_find(const ucp_fh_key_t *key, const ucs_list_link_t *trash)
{
    ucp_fh_rkey_t *unpacked;

    ucs_list_for_each(unpacked, &key->unpacked, link) {
        if (unpacked->trash == trash) {
            return unpacked->rkey;
        }
    }

    return NULL;
}


/* UCP's PACKED KEYS, as bytes. Up to UCX 1.23 (ucp_rkey.c) a key is
 *
 *   8 bytes a bit for each memory domain, of the process with the memory, that has a part
 *   1 byte type of the memory for each of these domains, in their order: 1 byte length of
 *   its part the part and further bytes, not needed by a peer
 *
 * Two keys of one context number the domains alike. */

/** @return the length of a key up to the end of its parts; 0 if the parts do not end
 *          within @a length bytes: these are no key. */
size_t ucp_fh_packed_size(const void *key, size_t length);

/**
 * Take parts out of a key.
 *
 * @param [inout] key  Loses the parts in @a parts, and all bytes after its last part.
 * @param [in] length  Bytes of the key.
 * @param [in] parts  Bit i: whether to take out part number i, counted in their order.
 * @return bytes left; 0 if the bytes are no key, and not changed.
 */
size_t ucp_fh_packed_strip(void *key, size_t length, uint64_t parts);

/**
 * Make one key of two. For a domain with a part in both keys, the part of @a key is
 * taken.
 *
 * @param [out] merged  Has room for @a length + @a other_length bytes.
 * @return bytes of the merged key; 0 if one of both is no key.
 */
size_t ucp_fh_packed_merge(const void *key, size_t length, const void *other,
                            size_t other_length, void *merged);

END_C_DECLS

#endif
