/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Invalidating deregistration on a real memory domain: the completion comes
 * when the last use of the region has ended and the kernel's count of pinned
 * memory has gone down, not before; and the buffer's next registration is a new
 * one.
 */

#include "../../src/uct/ib/predreg/compat/ucx_api.h"
#include "domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH (8 * 1024 * 1024)
#define FLAGS  UCT_MD_MEM_ACCESS_RMA


static int completed;


static void done(uct_completion_t *comp)
{
    ++completed;
}

static long pinned_kib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    long kib     = -1;
    char line[128];

    while (fgets(line, sizeof(line), status) != NULL) {
        if (sscanf(line, "VmPin: %ld", &kib) == 1) {
            break;
        }
    }
    fclose(status);
    return kib;
}

int main(void)
{
    uct_completion_t comp            = {.func = done, .count = 1};
    uct_md_h md                      = app_open_domain("ib");
    uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH |
                      UCT_MD_MEM_DEREG_FIELD_FLAGS |
                      UCT_MD_MEM_DEREG_FIELD_COMPLETION,
        .flags      = UCT_MD_MEM_DEREG_FLAG_INVALIDATE,
        .comp       = &comp
    };
    void *buffer                     = aligned_alloc(4096, LENGTH);
    long before                      = pinned_kib();
    uct_mem_h first, second, third;

    memset(buffer, 1, LENGTH);

    /* Two uses at the same time */
    CHECK(uct_md_mem_reg(md, buffer, LENGTH, FLAGS, &first) == UCS_OK);
    CHECK(uct_md_mem_reg(md, buffer, LENGTH, FLAGS, &second) == UCS_OK);
    CHECK(pinned_kib() >= before + LENGTH / 1024);

    params.memh = first;
    CHECK(uct_md_mem_dereg_v2(md, &params) == UCS_OK);
    CHECK(completed == (first != second));

    /* A new use begins while the invalidated region is still there */
    CHECK(uct_md_mem_reg(md, buffer, LENGTH, FLAGS, &third) == UCS_OK);
    CHECK(third != second);

    CHECK(uct_md_mem_dereg(md, second) == UCS_OK);
    CHECK(completed == 1);
    CHECK(pinned_kib() <= before + LENGTH / 1024);

    /* A single use */
    comp.count  = 1;
    params.memh = third;
    CHECK(uct_md_mem_dereg_v2(md, &params) == UCS_OK);
    CHECK(completed == 2);
    CHECK(pinned_kib() == before);

    uct_md_close(md);
    free(buffer);
    printf("invalidated when the last use had ended\n");
    return 0;
}
