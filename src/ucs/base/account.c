/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mutex.h"

#if UCS_ASSERT_RANKS

/* Linked with libuct_predreg.so alone, see mutex.h. Initial-exec: the variable
 * exists before a hook of memory asks for it, and nothing is allocated then */
static __thread ucs_rank_account_t account
        __attribute__((tls_model("initial-exec")));


ucs_rank_account_t *predreg_rank_account_1(void)
{
    return &account;
}

#endif
