/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMM_H_
#define UCT_PREDREG_COMM_H_

#include <ucs/rcache_pred/api/context.h>
#include <ucs/sys/compiler_def.h>

#include <ucp/api/ucp.h>

BEGIN_C_DECLS

/** @file comm.h
 *
 * The description of a communication that the program hands to UCP. The
 * overridden entry points of UCP fill it in, and the core may change it before
 * UCP sees the call. It lives as long as the call, on the stack of the thread
 * that makes it.
 */

/** Which fields of a communication the core has changed: flags of the field
 *  changed of @ref uct_predreg_comm_t. */
enum {
    UCT_PREDREG_COMM_DATATYPE = UCS_BIT(0),
    UCT_PREDREG_COMM_FLAGS    = UCS_BIT(1),
    UCT_PREDREG_COMM_MEMH     = UCS_BIT(2),
    UCT_PREDREG_COMM_CALLBACK = UCS_BIT(3), /**< The fields cb and user_data */
    UCT_PREDREG_COMM_FAST     = UCS_BIT(4), /**< UCP_OP_ATTR_FLAG_FAST_CMPL is
                                                 set */
    UCT_PREDREG_COMM_NOT_FAST = UCS_BIT(5)  /**< It is cleared */
};


/** Kinds of messages, whose protocols UCP chooses apart. */
typedef enum {
    UCT_PREDREG_MESSAGE_TAG,
    UCT_PREDREG_MESSAGE_AM,
    UCT_PREDREG_MESSAGE_STREAM,
    UCT_PREDREG_MESSAGE_LAST
} uct_predreg_message_t;

/** The fields of request parameters that this library knows, and those that it
 *  does not: the bits from UCP_OP_ATTR_FLAG_NO_IMM_CMPL on are flags of the
 *  operation, and all below are fields. */
#define UCT_PREDREG_KNOWN_FIELDS \
    (UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | \
     UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE | \
     UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_REPLY_BUFFER | \
     UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_RECV_INFO | \
     UCP_OP_ATTR_FIELD_MEMH)
#define UCT_PREDREG_UNKNOWN_FIELDS \
    ((UCP_OP_ATTR_FLAG_NO_IMM_CMPL - 1) & ~UCT_PREDREG_KNOWN_FIELDS)


/**
 * A communication. A hook that changes it writes the field datatype, flags, memh
 * or cb, and adds that field's flag to changed. With the datatype it may change
 * the count.
 *
 * Which of these changes UCP gets to see depends on how the call gets its
 * options:
 *  - calls with request parameters (those named _nbx): all of them. The caller's
 *    parameters stay as they are; UCP gets a changed copy. If nothing was
 *    changed it gets the caller's own, as it does if these have a field that
 *    this library does not know, which it could not copy.
 *  - older calls with a datatype (such as ucp_tag_send_nb()): the datatype.
 *    They have no way to take up flags or a memory handle, which are not used.
 *  - older calls of bytes (such as ucp_put_nbi()): nothing.
 */
typedef struct uct_predreg_comm {
    ucs_rcache_pred_comm_t    kind;
    uct_predreg_message_t     message;  /**< What is sent; only the hook of small
                                             sends is told */
    ucp_ep_h                  ep;       /**< NULL: the call is given a worker */
    ucp_worker_h              worker;   /**< NULL: the call is given an
                                             endpoint */
    const void                *buffer;
    size_t                    count;    /**< How many elements of datatype */
    ucp_datatype_t            datatype; /**< Of the elements; may be changed */
    const ucp_request_param_t *param;   /**< The caller's; NULL: the call has
                                             none */
    const void                *caller;  /**< Return address of the call */
    const void                *stack;   /**< Stands for the depth of the
                                             stack */

    unsigned                  changed;  /**< UCT_PREDREG_COMM_*; at first 0 */
    uint32_t                  flags;    /**< To be used instead of the caller's;
                                             not set before it is changed */
    ucp_mem_h                 memh;     /**< As flags */
    ucp_send_nbx_callback_t   cb;       /**< As flags, of a send */
    void                      *user_data; /**< As flags; of cb */

    /* What a send of a hot buffer is known by when UCP has returned from it.
     * Set by the hook of sends */
    struct ucs_reuse_slot       *hot;      /**< NULL: it is not hot */
    struct uct_predreg_flight   *flight;   /**< NULL: the program has no
                                                callback */
} uct_predreg_comm_t;

END_C_DECLS

#endif
