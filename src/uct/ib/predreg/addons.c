/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "addons.h"

#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/eager/eager.h>
#include <uct/ib/predreg/firehose/firehose.h>
#include <uct/ib/predreg/record/record.h>

#include <stddef.h>


const uct_predreg_addon_t *const uct_predreg_addons[] = {
    &uct_predreg_eager_addon,
    &uct_predreg_firehose_addon,
    &uct_predreg_record_addon,
    NULL
};
