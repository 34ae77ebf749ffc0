/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The all-to-all exchanges of a three-dimensional FFT, in the manner of NAS FT:
 * with slabs (1d), all ranks exchange with all; with pencils (2d), those of a
 * row of the process grid do, and then those of a column. In between, each rank
 * computes on its part. The arrays are few and large, and each is used by few
 * exchanges.
 */

#include "kernel.h"
#include "apps.h"

#define FT_ARRAYS 3


typedef struct {
    MPI_Comm comm;
    int      ranks;
    int      *world_ranks; /* of the ranks of comm */
} ft_group_t;

static int ft_pencils = 0;


static void ft_set_layout(const char *value)
{
    if (!strcmp(value, "2d")) {
        ft_pencils = 1;
    } else if (strcmp(value, "1d")) {
        app_fatal("ft: --layout: '%s'; accepted: 1d, 2d", value);
    }
}

static void ft_group_init(const kernel_t *k, ft_group_t *group, int color)
{
    MPI_Comm_split(MPI_COMM_WORLD, color, k->rank, &group->comm);
    MPI_Comm_size(group->comm, &group->ranks);
    group->world_ranks = calloc(group->ranks, sizeof(*group->world_ranks));
    if (group->world_ranks == NULL) {
        kernel_fatal(k, "out of memory");
    }

    MPI_Allgather(&k->rank, 1, MPI_INT, group->world_ranks, 1, MPI_INT,
                  group->comm);
}

static void ft_group_cleanup(ft_group_t *group)
{
    MPI_Comm_free(&group->comm);
    free(group->world_ranks);
}

/* @return the number of groups that this rank exchanges with, one after the
 * other. */
static int ft_groups_init(const kernel_t *k, ft_group_t groups[2])
{
    int dims[2] = {0, 0};

    if (!ft_pencils) {
        ft_group_init(k, &groups[0], 0);
        return 1;
    }

    MPI_Dims_create(k->ranks, 2, dims);
    if (dims[1] < 2) {
        kernel_fatal(k, "%d ranks make no grid for --layout 2d: accepted are "
                     "products of two numbers from 2 on", k->ranks);
    }

    ft_group_init(k, &groups[0], k->rank / dims[1]); /* row */
    ft_group_init(k, &groups[1], k->rank % dims[1]); /* column */
    return 2;
}

static void ft_exchange(kernel_t *k, const ft_group_t *group, uint8_t *from,
                        uint8_t *to, int step)
{
    size_t length = k->size / group->ranks;
    int i;

    for (i = 0; i < group->ranks; ++i) {
        kernel_fill(k, from + (i * length), length, step,
                    group->world_ranks[i]);
    }

    MPI_Alltoall(from, length, MPI_BYTE, to, length, MPI_BYTE, group->comm);

    for (i = 0; i < group->ranks; ++i) {
        kernel_check(k, to + (i * length), length, step,
                     group->world_ranks[i]);
    }
}

int main(int argc, char **argv)
{
    kernel_t k = {
        .name        = "ft",
        .what        = "All-to-all exchanges of a 3D FFT; 2 ranks or more, for "
                       "2d no prime number of them.",
        .size_help   = "of an array's part on a rank; there are 3 arrays",
        .size        = 4 * 1024 * 1024,
        .iters       = 8,
        .compute_ms  = 400,
        .option      = "layout",
        .option_help = "  --layout 1d|2d   two exchanges of all ranks, or one "
                       "of each row of a\n"
                       "                   grid and one of each column (1d)",
        .set_option  = ft_set_layout
    };
    uint8_t *arrays[FT_ARRAYS];
    ft_group_t groups[2];
    int num_groups, i;

    kernel_begin(&k, argc, argv);
    num_groups = ft_groups_init(&k, groups);
    for (i = 0; i < FT_ARRAYS; ++i) {
        arrays[i] = kernel_alloc(&k, k.size);
    }

    kernel_start(&k);
    for (k.iter = 0; k.iter < k.iters; ++k.iter) {
        /* The second transposition starts from where the first one went */
        for (i = 0; i < 2; ++i) {
            kernel_compute(&k, k.compute_ms / 2.0);
            ft_exchange(&k, &groups[i % num_groups], arrays[i], arrays[i + 1],
                        i);
        }
    }

    for (i = 0; i < num_groups; ++i) {
        ft_group_cleanup(&groups[i]);
    }

    return kernel_end(&k);
}
