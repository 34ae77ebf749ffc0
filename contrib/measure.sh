# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo.sh and evaluate.sh have in common, here and in the guest: reading
# what programs and the library say, and registered memory from the samples of
# pinwatch. To be sourced by bash with `set -eu`; needs $top.
#
# shellcheck shell=bash disable=SC2154

# Milliseconds since boot: date(1) is slow to start in a guest, and the clock
# may be set meanwhile
now_ms()
{
    local up
    read -r up _ < /proc/uptime
    up=${up/./}
    echo $((10#$up * 10))
}

# A number from what a program printed with --json: app_field NAME FILE
app_field()
{
    sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"
}

# What the library counted, of the ranks in order: field NAME FILE
field()
{
    sort -t: -k2n "$2" | sed -n "s/.*\"$1\":\([0-9.e+-]*\)[,}].*/\1/p"
}

# The average over ranks, or "-"
field_average()
{
    [ -s "$2" ] || { echo -; return; }
    field "$1" "$2" | awk '{ sum += $1 } END { print NR ? sum / NR : "-" }'
}

# Average and peak of registered memory (MiB), or "-" where the library was not
# loaded and could not tell what UCX's pools registered:
#   memory_of RUN CURVE    RUN.csv has the samples, RUN.json the summaries
memory_of()
{
    [ -s "$1.json" ] || { echo "- -"; return; }
    awk -v pools="$(field pool_bytes "$1.json" | tr '\n' ' ')" \
        -v curve="$2" -f "$top/contrib/demo-run.awk" "$1.csv"
}

# What else ran here makes run times meaningless, and cannot be seen in them:
#   busy_note LOAD    the load average before the runs
busy_note()
{
    awk -v load="$1" -v cpus="$(nproc)" 'BEGIN {
        if (load > cpus / 2) {
            print "This machine was busy (load average " load " before the" \
                  " runs, " cpus " processors):\ncompare memory and counts," \
                  " not run times."
        }
    }'
}
