/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A bucket sort, in the manner of NAS IS: every rank has keys at random, counts
 * how many belong to each rank, tells all of them, and sends each its own. How
 * the keys are distributed changes with every iteration, and with it how much
 * is sent to whom.
 */

#include "kernel.h"
#include "apps.h"

#define IS_KEY_BITS 20
#define IS_NUM_KEYS (1u << IS_KEY_BITS)


/* What a rank tells another about the keys it has for it. */
typedef struct {
    uint64_t count;
    uint64_t checksum; /* sum over app_mix(key): one wrong key changes it */
} is_announce_t;

typedef struct {
    size_t        num_keys; /* of a rank, before sorting */
    uint32_t      *keys;
    uint32_t      *sorted;  /* by the rank they belong to */
    uint32_t      *mine;    /* those received */
    is_announce_t *sent;    /* by rank, as all of the following */
    is_announce_t *received;
    int           *send_counts;
    int           *send_starts;
    int           *recv_counts;
    int           *recv_starts;
} is_t;


static void is_init(const kernel_t *k, is_t *is)
{
    size_t ints = k->ranks * sizeof(int);

    if ((uint64_t)k->size * k->ranks > INT32_MAX) {
        kernel_fatal(k, "--size is %zu for each of %d ranks: accepted are %d "
                     "together", k->size, k->ranks, INT32_MAX);
    }

    is->num_keys    = k->size / sizeof(uint32_t);
    is->keys        = kernel_alloc(k, k->size);
    is->sorted      = kernel_alloc(k, k->size);
    is->mine        = kernel_alloc(k, k->size * k->ranks); /* if all are */
    is->sent        = kernel_alloc(k, k->ranks * sizeof(*is->sent));
    is->received    = kernel_alloc(k, k->ranks * sizeof(*is->received));
    is->send_counts = kernel_alloc(k, ints);
    is->send_starts = kernel_alloc(k, ints);
    is->recv_counts = kernel_alloc(k, ints);
    is->recv_starts = kernel_alloc(k, ints);
}

static int is_owner(const kernel_t *k, uint32_t key)
{
    return ((uint64_t)key * k->ranks) >> IS_KEY_BITS;
}

/* Each key is the sum of two random numbers, so that some keys are more
 * frequent than others. They are others in each iteration. */
static void is_generate(const kernel_t *k, is_t *is)
{
    uint64_t state = app_mix(((uint64_t)k->iter << 32) + k->rank);
    uint32_t shift = app_mix(k->iter) % IS_NUM_KEYS;
    uint64_t random;
    size_t i;

    for (i = 0; i < is->num_keys; ++i) {
        random      = app_random(&state);
        is->keys[i] = (((random % IS_NUM_KEYS) +
                        ((random >> IS_KEY_BITS) % IS_NUM_KEYS)) / 2 + shift) %
                      IS_NUM_KEYS;
    }
}

static void is_count(const kernel_t *k, is_t *is)
{
    int start = 0;
    size_t i;
    int p;

    memset(is->sent, 0, k->ranks * sizeof(*is->sent));
    for (i = 0; i < is->num_keys; ++i) {
        p = is_owner(k, is->keys[i]);
        ++is->sent[p].count;
        is->sent[p].checksum += app_mix(is->keys[i]);
    }

    for (p = 0; p < k->ranks; ++p) {
        is->send_counts[p] = is->sent[p].count;
        is->send_starts[p] = start;
        start             += is->send_counts[p];
    }
}

static void is_sort(const kernel_t *k, is_t *is)
{
    size_t i;
    int p;

    for (i = 0; i < is->num_keys; ++i) {
        p                                = is_owner(k, is->keys[i]);
        is->sorted[is->send_starts[p]++] = is->keys[i];
    }

    for (p = 0; p < k->ranks; ++p) {
        is->send_starts[p] -= is->send_counts[p];
    }
}

static void is_exchange(const kernel_t *k, is_t *is)
{
    int start = 0;
    int p;

    MPI_Alltoall(is->sent, sizeof(*is->sent), MPI_BYTE, is->received,
                 sizeof(*is->received), MPI_BYTE, MPI_COMM_WORLD);
    for (p = 0; p < k->ranks; ++p) {
        is->recv_counts[p] = is->received[p].count;
        is->recv_starts[p] = start;
        start             += is->recv_counts[p];
    }

    MPI_Alltoallv(is->sorted, is->send_counts, is->send_starts, MPI_UINT32_T,
                  is->mine, is->recv_counts, is->recv_starts, MPI_UINT32_T,
                  MPI_COMM_WORLD);
}

static void is_check(kernel_t *k, is_t *is)
{
    uint64_t checksum;
    int p, i;
    uint32_t key;

    for (p = 0; p < k->ranks; ++p) {
        checksum = 0;
        for (i = 0; i < is->recv_counts[p]; ++i) {
            key       = is->mine[is->recv_starts[p] + i];
            checksum += app_mix(key);
            if ((key >= IS_NUM_KEYS) || (is_owner(k, key) != k->rank)) {
                kernel_error(k, "key %u from rank %d belongs elsewhere", key,
                             p);
            }
        }

        if (checksum != is->received[p].checksum) {
            kernel_error(k, "the %d keys from rank %d are not those it sent",
                         is->recv_counts[p], p);
        }
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name       = "is",
        .what       = "A bucket sort of random keys; 2 ranks or more.",
        .size_help  = "of the keys of a rank",
        .size       = 4 * 1024 * 1024,
        .iters      = 8,
        .compute_ms = 300
    };
    is_t is;

    kernel_begin(&k, argc, argv);
    is_init(&k, &is);
    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        is_generate(&k, &is);
        is_count(&k, &is);
        is_sort(&k, &is);
        is_exchange(&k, &is);
        is_check(&k, &is);
        kernel_compute(&k, k.compute_ms);
    }

    return kernel_end(&k);
}
