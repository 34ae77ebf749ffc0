/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_TICKET_H_
#define UCP_WIN_TICKET_H_

#include "pieces.h"

#include <ucs/datastruct/hlist.h>

/** @file ticket.h
 *
 * Pieces that are free again when a request of UCP is complete. The request is
 * the program's: its callback is called by the library's. */

typedef struct ucp_win_ticket {
    ucs_hlist_link_t        hash;      /**< First member, see find(). Protected
                                            by the lock of ticket.c, as
                                            those further down */
    ucs_list_link_t         pieces;
    ucp_request_param_t     param;     /**< For UCP */
    /* Protected by that lock */
    void                    *request;  /**< By which it is known */
    ucp_send_nbx_callback_t callback;  /**< Of the program; NULL: it has none,
                                            or wants it no more */
    void                    *user_data;
    int                     is_noted;  /**< Whether it is known by its
                                            request */
    int                     is_done;   /**< Whether the request is complete */
} ucp_win_ticket_t;


/**
 * Make a ticket before UCP is called.
 *
 * @param [inout] pieces  Taken, if there is a ticket.
 * @param [in]    param   The program's.
 * @return NULL if there are parameters that are not known here, or no memory:
 *         UCP gets those of the program then.
 */
ucp_win_ticket_t *ucp_win_ticket_make(ucs_list_link_t *pieces,
                                      const ucp_request_param_t *param);

/** Find what of the program's parameters concerns the operation, and not its
 * request.
 *
 *  @return whether all of them are known here. */
int ucp_win_ticket_strip(const ucp_request_param_t *param,
                         ucp_request_param_t *plain);

/** UCP has returned. Unless the request goes on, the ticket ends. @return what
 *  UCP has returned. */
ucs_status_ptr_t
ucp_win_ticket_issued(ucp_win_ticket_t *ticket, ucs_status_ptr_t request);

/** The program frees a request. @return whether it goes on and has a ticket:
 *  then it must be freed in a way that does not make UCP forget the callback,
 *  while that of the program will not be called. */
int ucp_win_ticket_freeing(void *request);

#endif
