/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMM_H_
#define UCT_PREDREG_COMM_H_

#include "types.h"

#include <ucs/callpath/callpath.h>
#include <ucs/rcache_pred/api/event.h>

#include <ucp/api/ucp.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file comm.h
 *
 * The description of a communication of the program, filled in by the overridden entry
 * points of UCP. The description lives as long as the call, on the stack of the calling
 * thread.
 *
 * The file also describes the changes that the core makes to a small send before UCP gets
 * the send. The changes are on the stack of the entry point until UCP has returned, since
 * sends may be nested: UCP may call a callback of the program, which sends.
 */

/**
 * A communication. Any hook may read the fields.
 */
typedef struct uct_predreg_comm {
    ucs_rcache_pred_comm_t kind;
    const void             *buffer;
    const void             *caller; /**< Return address of the call */
    const void             *stack;  /**< An address that stands for the depth of the
                                         stack: no frame of a caller begins below the
                                         address */
} uct_predreg_comm_t;


/** What a thread remembers of its communications. All 0 at first. Only the thread itself
 *  uses the fields, without a lock. */
typedef struct uct_predreg_issuer {
    ucs_rcache_pred_window_t window; /**< The thread's preceding communications */
    ucs_callpath_thread_t    path;   /**< The paths of the communications' calls */
} uct_predreg_issuer_t;


/** Kinds of messages. UCP chooses protocols for each kind apart. */
typedef enum {
    UCT_PREDREG_MESSAGE_TAG,
    UCT_PREDREG_MESSAGE_AM,
    UCT_PREDREG_MESSAGE_STREAM,
    UCT_PREDREG_MESSAGE_LAST
} uct_predreg_message_t;


/** Kinds of changes that the core makes to a send, as bits. */
enum {
    /** The core has UCP send the message as bytes of another datatype, which
     *  @ref uct_predreg_send_t names. The count is then the length. */
    UCT_PREDREG_SEND_DATATYPE = UCS_BIT(0),
    /** The core gives UCP a memory handle, with which UCP sends without a copy, and a
     *  callback of the core in place of the program's. After UCP's return the preloaded
     *  library calls the hook sent(). */
    UCT_PREDREG_SEND_HOT      = UCS_BIT(1),
    /** The core sets UCP_OP_ATTR_FLAG_FAST_CMPL in the parameters of the send. */
    UCT_PREDREG_SEND_FAST     = UCS_BIT(2)
};


/** The fields of request parameters that this library knows, and those that it does not
 *  know. In the mask of request parameters the bits from UCP_OP_ATTR_FLAG_NO_IMM_CMPL on
 *  are flags of the operation, and all lower bits are fields. */
#define UCT_PREDREG_KNOWN_FIELDS \
    (UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | \
     UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE | \
     UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_REPLY_BUFFER | \
     UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_RECV_INFO | \
     UCP_OP_ATTR_FIELD_MEMH)
#define UCT_PREDREG_UNKNOWN_FIELDS \
    ((UCP_OP_ATTR_FLAG_NO_IMM_CMPL - 1) & ~UCT_PREDREG_KNOWN_FIELDS)


/** The send from a hot buffer that a thread is in, while UCP's function runs. A hot
 *  buffer is one that was sent so often that the core has registered it. */
typedef struct uct_predreg_issuing {
    struct ucs_reuse_slot *slot;    /**< NULL: the thread is in no such send */
    const void            *buffer;
    int                   is_zcopy; /**< Whether a transport has sent the buffer without a
                                         copy */
} uct_predreg_issuing_t;

/** A small send. The entry point writes the first field. The core writes the fields of
 *  the changes that it returns, and leaves the other fields uninitialized. */
typedef struct uct_predreg_send {
    uct_predreg_message_t      message;

    ucp_datatype_t             datatype;   /**< With SEND_DATATYPE */

    /* With SEND_HOT */
    ucp_mem_h                  memh;
    ucp_send_nbx_callback_t    cb;         /**< The core's callback, for UCP */
    void                       *user_data; /**< The argument of cb */
    struct ucs_reuse_slot      *slot;      /**< The registered buffer */
    struct uct_predreg_flight  *flight;    /**< The core's record of the send */
    uct_predreg_issuing_t      outer;      /**< The send from a hot buffer during which a
                                                callback began the present send */
} uct_predreg_send_t;


/*
 * A table from each buffer to the context of its last posted communication. UCP registers
 * a receive buffer, and at times a send buffer, from within its progress function, long
 * after the call and perhaps on another thread. By the table the registration finds the
 * context of the call. One table serves the process.
 *
 * The entry of a buffer may be overwritten by another buffer. Then the context is
 * unknown, and prediction falls back on the history of the buffer itself. If two threads
 * write an entry at the same time, or one reads it while another writes, the entry may
 * have a context that no call has: prediction treats it as unknown, too.
 *
 * Progress: both functions are wait-free. Thread safe.
 */

/** Note the context of a communication. */
void uct_predreg_posted_put(const void *buffer,
                            const ucs_rcache_pred_context_t *context);

/**
 * Find the context of the last posted communication of a buffer.
 *
 * @param [out] context  All 0 if the context is unknown.
 */
void uct_predreg_posted_get(const void *buffer,
                            ucs_rcache_pred_context_t *context);

END_C_DECLS

#endif
