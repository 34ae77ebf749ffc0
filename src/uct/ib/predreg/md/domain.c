/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domain.h"


uct_predreg_domain_t uct_predreg_domains[UCT_PREDREG_MAX_DOMAINS];


void uct_predreg_domains_reset(void)
{
    unsigned i;

    for (i = 0; i < UCT_PREDREG_MAX_DOMAINS; ++i) {
        uct_predreg_domains[i].super = NULL;
        atomic_store_explicit(&uct_predreg_domains[i].md, NULL,
                              memory_order_relaxed);
    }
}
