/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PINNING_H_
#define UCP_FH_PINNING_H_

#include "state.h"

/** @file pinning.h
 *
 * Pins and unpins memory by UCP. */

/** @return the operations for the local table. */
ucp_fh_pin_ops_t ucp_fh_pinning_ops(ucp_fh_t *fh);

/** Say that memory could not be pinned, for good. */
void ucp_fh_pinning_complain(const ucp_fh_work_t *work);

#endif
