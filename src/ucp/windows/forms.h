/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_FORMS_H_
#define UCP_WIN_FORMS_H_

#include <uct/ib/predreg/preload/windows.h>

/** @file forms.h
 *
 * The other forms that UCP's calls have, by those of access.h. */

/** Fill in all members of PREDREG_WINDOWS_ACCESS and
 *  PREDREG_WINDOWS_ATOMICS. */
void ucp_win_forms_fill(predreg_windows_t *windows);

/** As ucp_worker_flush_nb(), or ucp_ep_flush_nb() if the endpoint is not
 *  NULL. */
ucs_status_ptr_t ucp_win_flush_nb(ucp_worker_h worker, ucp_ep_h ep,
                                  ucp_send_callback_t cb);

/** As ucp_worker_flush(), or ucp_ep_flush(). */
ucs_status_t ucp_win_flush(ucp_worker_h worker, ucp_ep_h ep);

#endif
