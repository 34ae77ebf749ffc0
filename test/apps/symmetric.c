/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * OpenSHMEM: puts, gets and atomics between symmetric memory, and memory that is
 * not, which has to be registered for each. Every byte is checked.
 */

#include "apps.h"
#include "options.h"

#include <shmem.h>
#include <sys/mman.h>

typedef struct {
    size_t   size;    /* Of a message */
    int      iters;
    int      rank;
    int      ranks;
    uint64_t errors;
} symmetric_t;


static void symmetric_usage(void)
{
    printf("usage: symmetric [options]\n"
           "  --size BYTES  of a message, a multiple of 8 (262144)\n"
           "  --iters N     rounds (10)\n");
}

static void symmetric_check(symmetric_t *s, const char *what,
                            const void *buffer, uint64_t key)
{
    size_t first = 0;
    size_t errors;

    errors = app_pattern_check(buffer, s->size, key, 0, &first);
    if (errors > 0) {
        fprintf(stderr, "symmetric: %s: rank %d: %zu bytes wrong, first at "
                "%zu\n", what, s->rank, errors, first);
        s->errors += errors;
    }
}

static uint64_t symmetric_key(int iter, int kind, int rank)
{
    return app_mix(((uint64_t)iter << 32) + (kind << 16) + rank + 1);
}

/* Put from and get into memory of the program's own, of a new mapping each time */
static void symmetric_private(symmetric_t *s, char *shared, int iter)
{
    int next     = (s->rank + 1) % s->ranks;
    int previous = (s->rank + s->ranks - 1) % s->ranks;
    char *mine   = mmap(NULL, 2 * s->size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mine == MAP_FAILED) {
        app_fatal("symmetric: could not map memory: %s", strerror(errno));
    }

    app_pattern_fill(mine, s->size, symmetric_key(iter, 1, s->rank), 0);
    shmem_putmem(shared, mine, s->size, next);
    shmem_barrier_all();
    symmetric_check(s, "put", shared, symmetric_key(iter, 1, previous));
    shmem_getmem(mine + s->size, shared, s->size, next);
    symmetric_check(s, "get", mine + s->size, symmetric_key(iter, 1, s->rank));
    shmem_barrier_all();

    app_pattern_fill(mine, s->size, symmetric_key(iter, 2, s->rank), 0);
    shmem_putmem_nbi(shared, mine, s->size, next);
    shmem_quiet();
    shmem_barrier_all();
    symmetric_check(s, "put_nbi", shared, symmetric_key(iter, 2, previous));
    shmem_getmem_nbi(mine + s->size, shared, s->size, next);
    shmem_quiet();
    symmetric_check(s, "get_nbi", mine + s->size,
                    symmetric_key(iter, 2, s->rank));
    shmem_barrier_all();
    munmap(mine, 2 * s->size);
}

/* From symmetric memory to symmetric memory, told by a flag, and a counter that
 * all add to */
static void symmetric_shared(symmetric_t *s, char *source, char *target,
                             long *flag, long *counter, int iter)
{
    int next     = (s->rank + 1) % s->ranks;
    int previous = (s->rank + s->ranks - 1) % s->ranks;
    long value;

    app_pattern_fill(source, s->size, symmetric_key(iter, 3, s->rank), 0);
    shmem_putmem(target, source, s->size, next);
    shmem_fence();
    shmem_long_p(flag, iter + 1, next);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, iter + 1);
    symmetric_check(s, "flag", target, symmetric_key(iter, 3, previous));
    shmem_long_atomic_add(counter, 1, 0);
    shmem_barrier_all();
    value = shmem_long_g(counter, 0);
    if (value != ((iter + 1l) * s->ranks)) {
        fprintf(stderr, "symmetric: counter is %ld, not %ld\n", value,
                (iter + 1l) * s->ranks);
        ++s->errors;
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    symmetric_t s                = {.size = 256 * 1024, .iters = 10};
    const app_option_t options[] = {
        {"size", .size = &s.size},
        {"iters", .count = &s.iters},
        {NULL}
    };
    char *source, *target;
    long *words;
    int i;

    app_parse(argc, argv, "symmetric", options, symmetric_usage);
    if ((s.size == 0) || ((s.size % 8) != 0)) {
        app_fatal("symmetric: --size is %zu: accepted are multiples of 8",
                  s.size);
    }

    shmem_init();
    s.rank  = shmem_my_pe();
    s.ranks = shmem_n_pes();
    source  = shmem_malloc(s.size);
    target  = shmem_malloc(s.size);
    words   = shmem_calloc(3, sizeof(*words));
    if ((source == NULL) || (target == NULL) || (words == NULL)) {
        app_fatal("symmetric: could not allocate symmetric memory");
    }

    shmem_barrier_all();
    for (i = 0; i < s.iters; ++i) {
        symmetric_private(&s, target, i);
        symmetric_shared(&s, source, target, &words[0], &words[1], i);
    }

    if (s.errors > 0) {
        shmem_long_atomic_add(&words[2], s.errors, 0);
    }
    shmem_barrier_all();
    s.errors = shmem_long_g(&words[2], 0);
    if (s.rank == 0) {
        printf("symmetric: %d ranks, %d rounds of %zu bytes, %llu errors\n",
               s.ranks, s.iters, s.size, (unsigned long long)s.errors);
    }

    shmem_free(words);
    shmem_free(target);
    shmem_free(source);
    shmem_finalize();
    return s.errors ? 1 : 0;
}
