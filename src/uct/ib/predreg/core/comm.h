/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMM_H_
#define UCT_PREDREG_COMM_H_

#include <ucs/callpath/callpath.h>
#include <ucs/rcache_pred/api/context.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <ucp/api/ucp.h>

BEGIN_C_DECLS

/** @file comm.h
 *
 * The description of a communication that the program hands to UCP, filled in
 * by the overridden entry points of UCP. It lives as long as the call, on the
 * stack of the thread that makes it.
 *
 * And what the core changes of a small send before UCP gets it. The entry point
 * has it on its stack until UCP has returned: sends may be nested, since UCP
 * may call back.
 */

/**
 * A communication. Any hook may read it.
 */
typedef struct uct_predreg_comm {
    ucs_rcache_pred_comm_t kind;
    const void             *buffer;
    const void             *caller; /**< Return address of the call */
    const void             *stack;  /**< Stands for the depth of the stack: no
                                         frame further out begins below */
} uct_predreg_comm_t;


/** What a thread remembers of the communications that it issues. All 0 at
 *  first. Only that thread uses it, without a lock. */
typedef struct uct_predreg_issuer {
    ucs_rcache_pred_window_t window; /**< The preceding ones */
    ucs_callpath_thread_t    path;   /**< Where they are called from */
} uct_predreg_issuer_t;


/** Kinds of messages, whose protocols UCP chooses apart. */
typedef enum {
    UCT_PREDREG_MESSAGE_TAG,
    UCT_PREDREG_MESSAGE_AM,
    UCT_PREDREG_MESSAGE_STREAM,
    UCT_PREDREG_MESSAGE_LAST
} uct_predreg_message_t;


/** The changes. */
enum {
    /** The message is bytes of another datatype: that of @ref
     *  uct_predreg_send_t. Its count is its length. */
    UCT_PREDREG_SEND_DATATYPE = UCS_BIT(0),
    /** It has a memory handle, and UCP calls this library back: it is sent
     *  without a copy, and the core is to be told when UCP has returned. */
    UCT_PREDREG_SEND_HOT      = UCS_BIT(1),
    /** UCP_OP_ATTR_FLAG_FAST_CMPL is set */
    UCT_PREDREG_SEND_FAST     = UCS_BIT(2)
};


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


/** What a thread sends just now from a hot buffer, while UCP is called. */
typedef struct uct_predreg_issuing {
    struct ucs_reuse_slot *slot;    /**< NULL: it does not */
    const void            *buffer;
    int                   is_zcopy; /**< Whether a transport has sent it without
                                         a copy */
} uct_predreg_issuing_t;

/** A small send. The entry point writes the first field, and the core those of
 *  its changes; the others are not initialized. */
typedef struct uct_predreg_send {
    uct_predreg_message_t      message;

    ucp_datatype_t             datatype;   /**< With SEND_DATATYPE */

    /* With SEND_HOT */
    ucp_mem_h                  memh;
    ucp_send_nbx_callback_t    cb;
    void                       *user_data; /**< Of cb */
    struct ucs_reuse_slot      *slot;      /**< What it is sent from */
    struct uct_predreg_flight  *flight;    /**< What UCP calls back for */
    uct_predreg_issuing_t      outer;      /**< What this thread was sending when
                                                a callback began this one */
} uct_predreg_send_t;

END_C_DECLS

#endif
