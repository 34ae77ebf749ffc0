/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE_SIZE  4096ul
#define HUGE_SIZE  (2ul << 20)
#define MAX_RANGES 64

/* Of <linux/fs.h> since 6.7, under names of our own */
typedef struct range {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
} range_t;

typedef struct scan {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end;
    uint64_t vec;
    uint64_t vec_len;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
} scan_t;

#define SCAN    _IOWR('f', 16, scan_t)
#define IS_HUGE (1ul << 6)

/* The page map of this process. A forked child has to open its own. -1: pages count */
static int pagemap = -1;


/* Find huge pages. @return how many ranges of them there are up to scan->walk_end. */
static int find_huge(uintptr_t start, uintptr_t end, range_t *ranges, scan_t *scan)
{
    *scan = (scan_t){
        .size          = sizeof(*scan),
        .start         = start,
        .end           = end,
        .vec           = (uintptr_t)ranges,
        .vec_len       = MAX_RANGES,
        .category_mask = IS_HUGE,
        .return_mask   = IS_HUGE
    };
    return ioctl(pagemap, SCAN, scan);
}

void pieces_start(void)
{
    const char *value = getenv("NATIVE_PIECES");
    range_t ranges[MAX_RANGES];
    scan_t scan;

    if ((value == NULL) || (atoi(value) == 0)) {
        return;
    }

    if (pagemap >= 0) {
        close(pagemap); /* Of the parent */
    }
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if ((pagemap < 0) || (find_huge(0, PAGE_SIZE, ranges, &scan) < 0)) {
        fprintf(stderr, "native rig: NATIVE_PIECES=%s needs Linux 6.7: %s\n", value,
                strerror(errno));
        _exit(77);
    }
}

size_t pieces_count(uintptr_t start, uintptr_t end)
{
    size_t count = (end - start) / PAGE_SIZE;
    range_t ranges[MAX_RANGES];
    scan_t scan = {.walk_end = start};
    int num, i;

    while ((pagemap >= 0) && (scan.walk_end < end)) {
        num = find_huge(scan.walk_end, end, ranges, &scan);
        if (num < 0) {
            fprintf(stderr, "native rig: cannot read the page map: %s\n", strerror(errno));
            abort();
        }
        for (i = 0; i < num; ++i) {
            count -= (ranges[i].end - ranges[i].start) / PAGE_SIZE;
            count += ((ranges[i].end - 1) / HUGE_SIZE) - (ranges[i].start / HUGE_SIZE) + 1;
        }
    }
    return count;
}
