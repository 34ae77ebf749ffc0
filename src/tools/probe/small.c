/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "say.h"
#include "small.h"

#include <uct/ib/predreg/eager/costs_text.h>
#include <uct/ib/predreg/eager/measure.h>

/* Nobody waits for the probe as a program would for the library */
#define MAX_NSEC 200000000

/* What registrations are made with: a domain, or a context */
typedef struct {
    const predreg_probe_ucx_t *ucx;
    uct_md_h                  md;
    ucp_context_h             context;
} owner_t;


static ucs_status_t
map_in_domain(void *arg, void *address, size_t length, void **handle_p)
{
    const owner_t *owner = arg;

    return owner->ucx->compat->mem_reg(&owner->ucx->real, owner->md, address,
                                       length,
                                       UCT_MD_MEM_ACCESS_ALL |
                                       owner->ucx->compat->quiet_flag,
                                       handle_p);
}

static void unmap_in_domain(void *arg, void *handle)
{
    const owner_t *owner             = arg;
    uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH,
        .memh       = handle
    };

    owner->ucx->real.uct_md_mem_dereg_v2(owner->md, &params);
}

static ucs_status_t
map_in_context(void *arg, void *address, size_t length, void **handle_p)
{
    const owner_t *owner              = arg;
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = address,
        .length     = length
    };

    return owner->ucx->ucp_mem_map(owner->context, &params,
                                   (ucp_mem_h*)handle_p);
}

static void unmap_in_context(void *arg, void *handle)
{
    const owner_t *owner = arg;

    owner->ucx->ucp_mem_unmap(owner->context, handle);
}

static void say_costs(const predreg_probe_ucx_t *ucx,
                      const uct_predreg_measure_params_t *params)
{
    char text[UCT_PREDREG_COSTS_TEXT_MAX];
    ucs_reuse_costs_t costs;
    ucs_status_t status;

    status = uct_predreg_measure(params, &costs);
    if ((status != UCS_OK) && (status != UCS_INPROGRESS)) {
        predreg_say("nocost small buffers: %s",
                    predreg_probe_text(ucx, status));
        return;
    }

    uct_predreg_costs_print(&costs, text);
    predreg_say("small %s", text);
}

void predreg_probe_small_domain(const predreg_probe_ucx_t *ucx, uct_md_h md)
{
    owner_t owner                               = {.ucx = ucx, .md = md};
    const uct_predreg_measure_params_t params = {
        .map      = map_in_domain,
        .unmap    = unmap_in_domain,
        .arg      = &owner,
        .max_nsec = MAX_NSEC
    };

    say_costs(ucx, &params);
}

void predreg_probe_small_context(const predreg_probe_ucx_t *ucx,
                                 ucp_context_h context)
{
    owner_t owner                               = {
        .ucx     = ucx,
        .context = context
    };
    const uct_predreg_measure_params_t params = {
        .map      = map_in_context,
        .unmap    = unmap_in_context,
        .arg      = &owner,
        .max_nsec = MAX_NSEC
    };

    if ((ucx->ucp_mem_map == NULL) || (ucx->ucp_mem_unmap == NULL)) {
        predreg_say("error this UCX lacks the function ucp_mem_map");
        return;
    }

    predreg_say("stage registering memory with UCP");
    say_costs(ucx, &params);
}
