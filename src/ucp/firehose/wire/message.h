/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_MESSAGE_H_
#define UCP_FH_MESSAGE_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file message.h
 *
 * What is in messages between processes, and in addresses. Pure. Numbers are in
 * the byte order of the machine, which the first word of each tells. Nothing
 * that comes from elsewhere is believed: a function that parses looks at no
 * byte beyond the length it is told, and all that it returns is within it.
 */

#define UCP_FH_MESSAGE_MAGIC   0x46483031u
#define UCP_FH_ADDRESS_MAGIC   0x46484131u
#define UCP_FH_MESSAGE_VERSION 2

/** Most bytes of a packed key: a limit against nonsense. Those of UCX have some
 *  hundred. */
#define UCP_FH_MAX_KEY         65536


typedef enum {
    UCP_FH_MESSAGE_MOVE,   /**< Firehoses are moved */
    UCP_FH_MESSAGE_REPLY,  /**< What has become of these */
    UCP_FH_MESSAGE_RECALL, /**< The receiver is to give firehoses back */
    UCP_FH_MESSAGE_BYE,    /**< The sender ends */
    UCP_FH_MESSAGE_HELLO,  /**< The address of the sender, as its first message:
                                where processes get to know each other so */
    UCP_FH_MESSAGE_LAST
} ucp_fh_message_type_t;


/** What each message begins with. */
typedef struct ucp_fh_header {
    uint32_t magic;
    uint8_t  version;
    uint8_t  type;   /**< @ref ucp_fh_message_type_t */
    uint16_t unused; /**< 0 */
    uint32_t sender; /**< Number of the process */
    uint32_t unused2;
    uint64_t cookie; /**< Of the sender, as in its address */
    uint64_t number; /**< 0, 1, 2...: messages to this receiver are handled in
                          this order */
} ucp_fh_header_t;


typedef struct ucp_fh_move_message {
    uint32_t       num_unpins;
    uint32_t       num_pins;
    const uint64_t *buckets; /**< Those given back, then those to be pinned */
} ucp_fh_move_message_t;


/** What has become of a bucket that was to be pinned. Its packed key follows, if
 *  there is one. */
typedef struct ucp_fh_reply_pin {
    int32_t  status; /**< UCS_OK, or why there is no firehose */
    uint32_t length; /**< Bytes of the packed key, 1 to UCP_FH_MAX_KEY; 0 if there
                          is no firehose */
    uint64_t start;  /**< Exposed memory that it is for: first byte */
    uint64_t end;    /**< The byte after its last */
} ucp_fh_reply_pin_t;


typedef struct ucp_fh_reply_message {
    uint64_t      move; /**< Number of the message that is answered */
    uint32_t      num_pins;
    const uint8_t *pins; /**< For ucp_fh_reply_next_pin() */
} ucp_fh_reply_message_t;


/** Buckets that are to be given back: UCP_FH_MAX_MOVE at most, each of which
 *  the receiver looks up. */
typedef struct ucp_fh_recall_message {
    uint64_t first;
    uint64_t num;
} ucp_fh_recall_message_t;


/** What an address begins with. A UCP address follows. */
typedef struct ucp_fh_address {
    uint32_t magic;
    uint8_t  version;
    uint8_t  shift;  /**< Logarithm of the size of a bucket there */
    uint16_t unused;
    uint32_t index;  /**< Number of the process */
    uint32_t share;  /**< f: firehoses that it gives each peer */
    uint64_t cookie; /**< In all of its messages */
    uint64_t length; /**< Bytes of the UCP address */
} ucp_fh_address_t;


/** @return the header of a message, or NULL if it has none that is
 *  understood. */
const ucp_fh_header_t *ucp_fh_message_header(const void *message, size_t length);

/** @return bytes of a message that moves so many firehoses. */
size_t ucp_fh_move_size(uint32_t num_unpins, uint32_t num_pins);

/** Write what follows the header, into that many bytes. */
void ucp_fh_move_write(void *message, uint32_t num_unpins, uint32_t num_pins,
                       const uint64_t *buckets);

/** @return UCS_ERR_INVALID_PARAM if it is damaged. */
ucs_status_t ucp_fh_move_parse(const void *message, size_t length,
                               ucp_fh_move_message_t *move);

/** @return bytes of a reply without what it says of buckets. */
size_t ucp_fh_reply_size(void);

/** @return bytes that a bucket adds, whose packed key has so many, or none. */
size_t ucp_fh_reply_pin_size(size_t length);

/** Write what follows the header, but for the buckets.
 *
 *  @return where the first of these is to be written. */
void *ucp_fh_reply_write(void *message, uint64_t move, uint32_t num_pins);

/** Write what has become of a bucket at *@a end_p, the end of what was written, and
 *  move that on. */
void ucp_fh_reply_write_pin(void **end_p, const ucp_fh_reply_pin_t *pin,
                            const void *packed);

/** @return UCS_ERR_INVALID_PARAM if it is damaged. */
ucs_status_t ucp_fh_reply_parse(const void *message, size_t length,
                                ucp_fh_reply_message_t *reply);

/** Read what is at *@a cursor_p, ucp_fh_reply_message_t::pins at first, which is
 *  moved on. To be called for each bucket of a parsed reply.
 *
 *  @return the packed key. */
const void *ucp_fh_reply_next_pin(const uint8_t **cursor_p,
                                  ucp_fh_reply_pin_t *pin);

/** A recall has always this size. */
size_t ucp_fh_recall_size(void);

void ucp_fh_recall_write(void *message, uint64_t first, uint64_t num);

/** @return UCS_ERR_INVALID_PARAM if it is damaged. */
ucs_status_t ucp_fh_recall_parse(const void *message, size_t length,
                                 ucp_fh_recall_message_t *recall);

/** @return UCS_ERR_INVALID_PARAM if this is no address that is understood. */
ucs_status_t ucp_fh_address_check(const void *address, size_t length);

END_C_DECLS

#endif
