/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"
#include "completion.h"
#include "transfer.h"

#include <stdlib.h>


typedef struct flush {
    ucs_list_link_t  list;   /* In iface->flushes */
    uct_ep_h         ep;
    unsigned         flags;
    uint64_t         number; /* Number of the first transfer that it does not
                                wait for */
    uct_completion_t *comp;  /* UCP's completion */
} flush_t;


static void flush_try(uct_predreg_iface_t *iface, flush_t *flush)
{
    uct_completion_t *comp = flush->comp;
    ucs_status_t status;

    status = iface->ops.ep_flush(flush->ep, flush->flags, comp);
    if (status == UCS_ERR_NO_RESOURCE) {
        return;
    }

    ucs_list_del(&flush->list);
    free(flush);
    if (status != UCS_INPROGRESS) {
        uct_predreg_completion_invoke(comp, status);
    }
}

ucs_status_t uct_predreg_flush_start(uct_predreg_iface_t *iface, uct_ep_h ep,
                                     unsigned flags, uct_completion_t *comp)
{
    flush_t *flush;

    if (comp == NULL) {
        return UCS_INPROGRESS;
    }

    flush = malloc(sizeof(*flush));
    if (flush == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    flush->ep     = ep;
    flush->flags  = flags;
    flush->comp   = comp;
    flush->number = iface->started;
    ucs_list_add_tail(&iface->flushes, &flush->list);
    uct_predreg_retry_start(iface);
    return UCS_INPROGRESS;
}

unsigned uct_predreg_flush_retry(uct_predreg_iface_t *iface)
{
    unsigned count = 0;
    flush_t *flush, *tmp;

    ucs_list_for_each_safe(flush, tmp, &iface->flushes, list) {
        if (!uct_predreg_transfer_is_before(iface, flush->ep, flush->number)) {
            flush_try(iface, flush);
            ++count;
        }
    }

    return count;
}

int uct_predreg_flush_is_idle(uct_predreg_iface_t *iface)
{
    return ucs_list_is_empty(&iface->flushes);
}

void uct_predreg_flush_forget(uct_predreg_iface_t *iface, uct_ep_h ep)
{
    flush_t *flush, *tmp;

    ucs_list_for_each_safe(flush, tmp, &iface->flushes, list) {
        if ((ep == NULL) || (flush->ep == ep)) {
            ucs_list_del(&flush->list);
            uct_predreg_completion_invoke(flush->comp, UCS_ERR_CANCELED);
            free(flush);
        }
    }
}
