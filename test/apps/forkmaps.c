/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * How many mappings a process has while buffers are registered and deregistered over and
 * over under fork protection, by which each registration splits mappings (ibv_fork_init(3)).
 * With mappings that are not joined again, a process runs into vm.max_map_count.
 *
 * usage: forkmaps [CYCLES]
 */

#include "apps.h"
#include "domain.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFERS     64
#define PAGES       8    /* Of a buffer at most */
#define HELD        8    /* Uses that last at a time */
#define RENEW_EVERY 500  /* Cycles, after which half of the buffers are mapped anew */
#define PARTS       10   /* Of the cycles, after each of which mappings are counted */
#define SLACK       8    /* Further mappings of the heap and of stacks */

/* How many mappings more there may be at a time: two for each use that lasts, and for each of
 * as many registrations again that a bound of 2 HELD keeps */
#define MOST        (4 * HELD + SLACK)

#define FLAGS       (UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS)


static size_t page;
static char *areas[2];

/* Linux 5.12 and later copy pinned pages at a fork. libibverbs asks the kernel by netlink
 * whether it does, and protects nothing then: it must not get an answer. It finds devices
 * without netlink as well */
int nl_connect(void *socket, int protocol)
{
    return -1;
}

static char *map_area(void *address)
{
    char *area = mmap(address, BUFFERS * PAGES * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | ((address != NULL) ? MAP_FIXED : 0),
                      -1, 0);

    CHECK(area != MAP_FAILED);
    /* Pages that are touched first under different protection are never one mapping
     * again, for reasons of the kernel's own (anon_vma_compatible()) */
    memset(area, 1, BUFFERS * PAGES * page);
    return area;
}

/* @return how many lines of a file have a text; all lines if the text is empty */
static unsigned count_lines(const char *name, const char *text)
{
    FILE *stream   = fopen(name, "r");
    unsigned count = 0;
    char line[512];

    CHECK(stream != NULL);
    while (fgets(line, sizeof(line), stream) != NULL) {
        count += (strstr(line, text) != NULL);
    }
    fclose(stream);
    return count;
}

static unsigned count_mappings(void)
{
    return count_lines("/proc/self/maps", "");
}

/* Use a buffer, of one page to PAGES. Those of PAGES touch the next one */
static uct_mem_h begin_use(uct_md_h md, uint64_t *seed)
{
    size_t i     = app_random_below(seed, BUFFERS);
    char *buffer = areas[(i / PAGES) % 2] + (i * PAGES * page);
    uct_mem_h memh;

    CHECK(uct_md_mem_reg(md, buffer, (1 + i % PAGES) * page, FLAGS, &memh) ==
          UCS_OK);
    return memh;
}

int main(int argc, char **argv)
{
    unsigned cycles        = (argc > 1) ? atoi(argv[1]) : 100000;
    uct_md_h md            = app_open_domain("ib");
    uct_mem_h held[HELD]   = {NULL};
    uint64_t seed          = 1;
    unsigned most          = 0;
    unsigned before, now, i;

    page     = sysconf(_SC_PAGESIZE);
    areas[0] = map_area(NULL);
    areas[1] = map_area(NULL);
    before   = count_mappings();
    for (i = 0; i < cycles; ++i) {
        if (held[i % HELD] != NULL) {
            CHECK(uct_md_mem_dereg(md, held[i % HELD]) == UCS_OK);
        }
        if ((i % RENEW_EVERY == 0) && (i > 0)) {
            map_area(areas[1]);
        }
        held[i % HELD] = begin_use(md, &seed);
        if (i == 0) {
            CHECK(count_lines("/proc/self/smaps", " dc") > 0); /* MADV_DONTFORK */
        }
        if ((i + 1) % (cycles / PARTS) == 0) {
            now  = count_mappings();
            most = (now > most) ? now : most;
            printf("%u cycles: %u mappings\n", i + 1, now);
        }
    }

    for (i = 0; i < HELD; ++i) {
        CHECK(uct_md_mem_dereg(md, held[i]) == UCS_OK);
    }
    uct_md_close(md);
    now = count_mappings();
    printf("forkmaps: %u mappings before, %u at most, %u after\n", before, most, now);
    CHECK(most <= before + MOST);
    CHECK(now <= before + SLACK);
    return 0;
}
