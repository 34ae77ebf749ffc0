/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cost.h"
#include "say.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* From two lengths the reader gets the cost of a call and that of a page */
#define SMALL (4ul << 10)
#define LARGE (1ul << 20)


static uint64_t now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (ts.tv_sec * 1000000000ull) + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;

    return (*first > *second) - (*first < *second);
}

/* @return the median of an odd number of times */
static uint64_t median(uint64_t *times, unsigned count)
{
    qsort(times, count, sizeof(*times), compare);
    return times[count / 2];
}

static ucs_status_t
measure_once(const predreg_probe_ucx_t *ucx, uct_md_h md, void *buffer,
             size_t length, uint64_t *reg_p, uint64_t *dereg_p)
{
    uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH
    };
    uint64_t start                   = now();
    ucs_status_t status;

    status = ucx->compat->mem_reg(&ucx->real, md, buffer, length,
                                  UCT_MD_MEM_ACCESS_ALL |
                                  ucx->compat->quiet_flag, &params.memh);
    if (status != UCS_OK) {
        return status;
    }

    *reg_p   = now() - start;
    start    = now();
    status   = ucx->real.uct_md_mem_dereg_v2(md, &params);
    *dereg_p = now() - start;
    return status;
}

/* @return whether it was possible */
static int measure(const predreg_probe_ucx_t *ucx, uct_md_h md, void *buffer,
                   size_t length)
{
    uint64_t reg[PREDREG_PROBE_REPEAT], dereg[PREDREG_PROBE_REPEAT];
    ucs_status_t status;
    int i;

    for (i = -1; i < PREDREG_PROBE_REPEAT; ++i) {
        status = measure_once(ucx, md, buffer, length, &reg[(i < 0) ? 0 : i],
                              &dereg[(i < 0) ? 0 : i]);
        if (status != UCS_OK) {
            predreg_say("nocost %zu bytes: %s", length,
                        predreg_probe_text(ucx, status));
            return 0;
        }
    }

    predreg_say("cost %zu %lu %lu %d", length,
                median(reg, PREDREG_PROBE_REPEAT),
                median(dereg, PREDREG_PROBE_REPEAT), PREDREG_PROBE_REPEAT);
    return 1;
}

void predreg_probe_cost(const predreg_probe_ucx_t *ucx, uct_md_h md)
{
    void *buffer = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (buffer == MAP_FAILED) {
        predreg_say("nocost %lu bytes: out of memory", LARGE);
        return;
    }

    memset(buffer, 1, LARGE); /* As a program's: its pages are there */
    if (measure(ucx, md, buffer, SMALL)) {
        measure(ucx, md, buffer, LARGE);
    }
    munmap(buffer, LARGE);
}
