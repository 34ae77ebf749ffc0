/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "open_uses.h"

#include <stdlib.h>


ucs_status_t predreg_open_uses_init(predreg_open_uses_t *open, size_t num_uses)
{
    /* Room for one more, because calloc() of 0 elements may return NULL */
    *open = (predreg_open_uses_t){
        .next = calloc(num_uses + 1, sizeof(*open->next))
    };
    return (open->next == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void predreg_open_uses_cleanup(predreg_open_uses_t *open)
{
    kh_destroy_inplace(predreg_open_uses, &open->by_id);
    free(open->next);
}

ucs_status_t predreg_open_uses_begin(predreg_open_uses_t *open, uint64_t id,
                                     size_t index)
{
    predreg_same_uses_t *uses;
    khiter_t iter;
    int ret;

    open->next[index] = PREDREG_NO_USE;
    iter              = kh_put(predreg_open_uses, &open->by_id, id, &ret);
    if (ret < 0) {
        return UCS_ERR_NO_MEMORY;
    }

    uses = &kh_val(&open->by_id, iter);
    if (ret == 0) {
        open->next[uses->last] = index;
    } else {
        uses->first = index;
    }
    uses->last = index;
    return UCS_OK;
}

size_t predreg_open_uses_end(predreg_open_uses_t *open, uint64_t id)
{
    khiter_t iter = kh_get(predreg_open_uses, &open->by_id, id);
    predreg_same_uses_t *uses;
    size_t index;

    if (iter == kh_end(&open->by_id)) {
        return PREDREG_NO_USE;
    }

    uses        = &kh_val(&open->by_id, iter);
    index       = uses->first;
    uses->first = open->next[index];
    if (uses->first == PREDREG_NO_USE) {
        kh_del(predreg_open_uses, &open->by_id, iter);
    }
    return index;
}
