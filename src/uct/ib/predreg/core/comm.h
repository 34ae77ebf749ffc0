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
 * The record of a communication that the program hands to UCP. The entry points
 * of UCP fill it, and the core may change it before UCP sees the call. It lives
 * as long as the call, on the stack of the thread that makes it.
 */

/** What of a communication was changed, in @ref uct_predreg_comm_t. */
enum {
    UCT_PREDREG_COMM_DATATYPE = UCS_BIT(0),
    UCT_PREDREG_COMM_FLAGS    = UCS_BIT(1),
    UCT_PREDREG_COMM_MEMH     = UCS_BIT(2)
};


/**
 * A communication. Who changes it writes the fields datatype, flags or memh,
 * and names them in changed.
 *
 * What a call can take up depends on how it gets its options:
 *  - calls with request parameters (those named _nbx): all three. The caller's
 *    parameters stay as they are; UCP gets a changed copy. If nothing was
 *    changed it gets the caller's own.
 *  - older calls with a datatype (such as ucp_tag_send_nb()): the datatype.
 *    They have no way to take up flags or a memory handle, which are not used.
 *  - older calls of bytes (such as ucp_put_nbi()): nothing.
 */
typedef struct uct_predreg_comm {
    ucs_rcache_pred_comm_t    kind;
    ucp_ep_h                  ep;       /**< NULL: of a worker */
    ucp_worker_h              worker;   /**< NULL: of an endpoint */
    const void                *buffer;
    size_t                    count;    /**< Of elements of datatype */
    ucp_datatype_t            datatype; /**< May be changed */
    const ucp_request_param_t *param;   /**< The caller's; NULL: the call has
                                             none */
    const void                *caller;  /**< Return address */
    const void                *stack;   /**< Stands for its depth */

    unsigned                  changed;  /**< UCT_PREDREG_COMM_*; at first 0 */
    uint32_t                  flags;    /**< To be used instead of the
                                             caller's; not set before */
    ucp_mem_h                 memh;     /**< As flags */
} uct_predreg_comm_t;

END_C_DECLS

#endif
