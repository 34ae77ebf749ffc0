# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The table of demo.sh, from lines of
#   PROGRAM POLICY REP SECONDS AVERAGE PEAK USES HITS CRITICAL CRITICAL_SECONDS
# (MiB; the last four per rank, "-" if nobody knows). With -v json=1, the same
# as a line of JSON for each program and policy.

function add(row, name, value)
{
    if (value != "-") {
        sum[row, name] += value
        known[row, name]++
    }
}

function mean(row, name)
{
    return known[row, name] ? sum[row, name] / known[row, name] : "-"
}

# right-aligned number, or "-"
function field(width, format, value)
{
    return sprintf("%" width "s", (value == "-") ? "-" : sprintf(format, value))
}

function json_number(format, value)
{
    return (value == "-") ? "null" : sprintf(format, value)
}

function ratio(value, base)
{
    if ((value == "-") || (base == "-") || (base + 0 == 0)) {
        return "-"
    }
    return 100 * value / base
}

{
    row = $1 SUBSEP $2
    if (!(row in runs)) {
        rows[num_rows++] = row
    }
    runs[row]++
    add(row, "seconds", $4)
    add(row, "average", $5)
    add(row, "uses", $7)
    add(row, "hits", $8)
    add(row, "critical", $9)
    add(row, "critical_s", $10)
    if (($6 != "-") && ($6 > peak[row])) {
        peak[row] = $6
    }
}

function print_text(row, program, policy, base, hits)
{
    hits = ratio(mean(row, "hits"), mean(row, "uses"))
    print sprintf("%-13s %-13s %4d", program, policy, runs[row]) \
          field(8, "%.2f", mean(row, "average")) \
          field(8, "%.0f %%", ratio(mean(row, "average"), \
                                    mean(base, "average"))) \
          field(8, "%.2f", peak[row]) \
          field(8, "%.0f", mean(row, "uses")) \
          field(8, "%.0f %%", hits) \
          field(8, "%.1f", mean(row, "critical")) \
          field(10, "%.1f", (mean(row, "critical_s") == "-") ? "-" : \
                            mean(row, "critical_s") * 1000) \
          field(9, "%.2f", mean(row, "seconds")) \
          field(8, "%.0f %%", ratio(mean(row, "seconds"), \
                                    mean(base, "seconds")))
}

function print_json(row, program, policy)
{
    printf "{\"program\":\"%s\",\"policy\":\"%s\",\"runs\":%d,", program, \
           policy, runs[row]
    printf "\"registered_avg_mib\":%s,\"registered_peak_mib\":%s,", \
           json_number("%.3f", mean(row, "average")), \
           json_number("%.3f", peak[row])
    printf "\"uses\":%s,\"hits\":%s,\"regs_critical\":%s,", \
           json_number("%.1f", mean(row, "uses")), \
           json_number("%.1f", mean(row, "hits")), \
           json_number("%.1f", mean(row, "critical"))
    printf "\"critical_path_seconds\":%s,\"seconds\":%s}\n", \
           json_number("%.6f", mean(row, "critical_s")), \
           json_number("%.3f", mean(row, "seconds"))
}

END {
    num_programs = split("fig1-reuse fig1-noreuse transpose hpcc", programs, \
                         " ")
    num_policies = split("leave-pinned on-demand predict", policies, " ")

    if (!json) {
        printf "%-31s%24s%8s%8s%18s%17s\n", "", \
               "registered user memory", "", "", "critical path", "run time"
        printf "%-13s %-13s %4s%8s%8s%8s%8s%8s%8s%10s%9s%8s\n", "program", \
               "policy", "runs", "avg MiB", "of l-p", "peak", "uses", "hits", \
               "regs", "ms", "s", "of l-p"
    }
    for (i = 1; i <= num_programs; ++i) {
        base = programs[i] SUBSEP "leave-pinned"
        for (j = 1; j <= num_policies; ++j) {
            row = programs[i] SUBSEP policies[j]
            if (!(row in runs)) {
                continue
            }
            if (json) {
                print_json(row, programs[i], policies[j])
            } else {
                print_text(row, programs[i], policies[j], base)
            }
        }
    }
}
