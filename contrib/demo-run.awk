# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What one run had registered, from the samples of pinwatch: prints average and
# peak of registered user memory (MiB a rank, the average over ranks of the
# average over time, and the highest of all ranks), and writes the curve of one
# rank.
#
#   awk -v pools="BYTES BYTES ..." -v curve=FILE -f demo-run.awk SAMPLES.csv
#
# pools: registered by UCX's own pools, by rank. Ranks are started in order, so
# the process ids in ascending order are the ranks.
#
# The average is taken from the first registration of user memory to the end of
# UCX, that is, to the last sample at which all of the rank's pools were
# registered. Both are the same points of the program under each policy: the
# first use of a buffer registers it under all of them, and the pools go when
# the program ends. Setting up connections, which takes a time that varies, does
# not count.

BEGIN {
    FS = ","
}

FNR > 1 {
    if (!($2 in count)) {
        pids[num_ranks++] = $2
    }
    i = count[$2]++
    t[$2, i] = $1 / 1000
    pinned[$2, i] = $3 / 1024
}

function sort_pids(    i, j, pid)
{
    for (i = 1; i < num_ranks; ++i) {
        pid = pids[i]
        for (j = i - 1; (j >= 0) && (pids[j] + 0 > pid + 0); --j) {
            pids[j + 1] = pids[j]
        }
        pids[j + 1] = pid
    }
}

function user_memory(pid, i, pool,    user)
{
    user = pinned[pid, i] - pool
    return (user < 0.01) ? 0 : user
}

# Sets average, peak; writes the curve of rank 0
function analyse(rank, pid, pool,    i, first, last, user, sum)
{
    first = last = -1
    for (i = 0; i < count[pid]; ++i) {
        if ((first < 0) && (user_memory(pid, i, pool) > 0)) {
            first = i
        }
        if (pinned[pid, i] >= pool - 0.01) {
            last = i
        }
    }
    if (last < 0) {
        return 0
    }

    average = peak = sum = 0
    if ((first < 0) || (first == last)) {
        return 1
    }
    for (i = first; i <= last; ++i) {
        user = user_memory(pid, i, pool)
        if (i < last) {
            sum += user * (t[pid, i + 1] - t[pid, i])
        }
        if (user > peak) {
            peak = user
        }
        if (rank == 0) {
            printf "%.3f %.3f\n", t[pid, i] - t[pid, first], user > curve
        }
    }
    average = sum / (t[pid, last] - t[pid, first])
    return 1
}

END {
    sort_pids()
    num_pools = split(pools, pool, " ")
    if ((num_ranks == 0) || (num_pools != num_ranks)) {
        printf "%d ranks were sampled, pools are known of %d\n", num_ranks, \
               num_pools > "/dev/stderr"
        exit 1
    }

    for (i = 0; i < num_ranks; ++i) {
        if (!analyse(i, pids[i], pool[i + 1] / 1048576)) {
            printf "rank %d never had all its pools registered\n", i \
                > "/dev/stderr"
            exit 1
        }
        average_sum += average
        if (peak > peak_max) {
            peak_max = peak
        }
    }
    printf "%.3f %.3f\n", average_sum / num_ranks, peak_max
}
