/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "report_data.h"

#include <string.h>


const char *report_meta(const report_data_t *report, const char *key)
{
    unsigned i;

    for (i = 0; i < report->num_metas; ++i) {
        if (!strcmp(report->metas[i].key, key)) {
            return report->metas[i].value;
        }
    }

    return NULL;
}
