/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx_dereg.h"

#include <ucs/sys/math.h>


void predreg_ucx_dereg_init(predreg_ucx_dereg_t *dereg,
                            predreg_account_t *account,
                            const predreg_cost_t *cost)
{
    *dereg = (predreg_ucx_dereg_t){ .account = account, .cost = *cost };
    ucs_list_head_init(&dereg->cleaned);
}

static uint64_t cost_of(const predreg_ucx_dereg_t *dereg,
                        const predreg_ucx_region_t *region)
{
    return predreg_cost_of(&dereg->cost, region->super.start,
                           predreg_ucx_region_length(region));
}

uint64_t predreg_ucx_dereg_region(predreg_ucx_dereg_t *dereg,
                                  predreg_ucx_region_t *region, uint64_t now)
{
    uint64_t end = now + cost_of(dereg, region);

    predreg_holding_dereg(dereg->account, &region->holding, now);
    predreg_holding_close(dereg->account, &region->holding, end);
    predreg_ucx_region_free(region);
    return end;
}

void predreg_ucx_dereg_clean(predreg_ucx_dereg_t *dereg,
                             predreg_ucx_regions_t *regions, uint64_t now)
{
    predreg_ucx_region_t *region;

    dereg->cleaning = ucs_max(dereg->cleaning, now);
    while ((region = predreg_ucx_regions_extract_unmapped(regions)) != NULL) {
        region->cleaned  = dereg->cleaning;
        dereg->cleaning += cost_of(dereg, region);
        ucs_list_add_tail(&dereg->cleaned, &region->tmp_link);
    }
}

uint64_t predreg_ucx_dereg_wait(predreg_ucx_dereg_t *dereg, uint64_t now)
{
    if (ucs_list_is_empty(&dereg->cleaned)) {
        return now;
    }

    now = ucs_max(now, dereg->cleaning);
    predreg_ucx_dereg_finish(dereg, now);
    return now;
}

void predreg_ucx_dereg_finish(predreg_ucx_dereg_t *dereg, uint64_t now)
{
    predreg_ucx_region_t *region;
    predreg_holding_t *holding;

    while (!ucs_list_is_empty(&dereg->cleaned)) {
        region  = ucs_list_extract_head(&dereg->cleaned, predreg_ucx_region_t,
                                        tmp_link);
        holding = &region->holding;
        if (region->cleaned <= now) {
            predreg_holding_dereg(dereg->account, holding, region->cleaned);
        }
        predreg_holding_close(dereg->account, holding,
                              ucs_min(region->cleaned + cost_of(dereg, region),
                                      now));
        predreg_ucx_region_free(region);
    }
}
