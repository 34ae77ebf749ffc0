# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# A table of evaluate.sh in markdown, from results.csv. Memory and counts are
# averages of the repetitions, times are medians.
#
#   awk -v kind=policies|errors -v cpus=N -v cases="CASE ..." \
#       -v variants="VARIANT ..." -f evaluate-table.awk results.csv
#
# policies: memory and time of each variant, also against leave-pinned
# errors:   how wrong predictions were

BEGIN {
    FS = ","
}

function add(row, name, value)
{
    if (value != "") {
        sum[row, name] += value
        values[row, name, known[row, name]++] = value
    }
}

(FNR > 1) && ($1 == cpus) {
    row = $2 SUBSEP $3
    runs[row]++
    add(row, "seconds", $5)
    add(row, "communication", $6)
    add(row, "average", $7)
    add(row, "peak", $8)
    add(row, "uses", $9)
    add(row, "hits", $10)
    for (i = 0; i < 6; ++i) {
        add(row, "error" i, $(11 + i))
    }
}

function mean(row, name)
{
    return known[row, name] ? (sum[row, name] / known[row, name]) : "-"
}

function median(row, name,    n, i, j, x, sorted)
{
    n = known[row, name] + 0
    if (n == 0) {
        return "-"
    }
    for (i = 0; i < n; ++i) {
        x = values[row, name, i]
        for (j = i - 1; (j >= 0) && (sorted[j] + 0 > x + 0); --j) {
            sorted[j + 1] = sorted[j]
        }
        sorted[j + 1] = x
    }
    return (sorted[int((n - 1) / 2)] + sorted[int(n / 2)]) / 2
}

# The number, or "-"
function cell(format, value)
{
    return " " ((value == "-") ? "-" : sprintf(format, value)) " |"
}

# The number as a percentage of another
function part(format, value, base)
{
    if ((value == "-") || (base == "-") || (base + 0 == 0)) {
        return cell(format, "-")
    }
    return cell(format, 100 * value / base)
}

function print_policy(name, variant,    row, base)
{
    row  = name SUBSEP variant
    base = name SUBSEP "leave-pinned"
    print "| " name " | " variant " |" cell("%d", runs[row]) \
          cell("%.2f", mean(row, "average")) \
          part("%.0f %%", mean(row, "average"), mean(base, "average")) \
          cell("%.2f", mean(row, "peak")) \
          part("%.0f %%", mean(row, "peak"), mean(base, "peak")) \
          part("%.0f %%", mean(row, "hits"), mean(row, "uses")) \
          cell("%.2f", (median(row, "communication") == "-") ? "-" : \
                       median(row, "communication") * 1000) \
          part("%.1f %%", median(row, "communication"), \
               median(base, "communication")) \
          cell("%.3f", median(row, "seconds")) \
          part("%.1f %%", median(row, "seconds"), median(base, "seconds"))
}

function print_errors(name, variant,    row, i, predicted, within)
{
    row = name SUBSEP variant
    for (i = 0; i < 6; ++i) {
        predicted += sum[row, "error" i]
    }
    printf "| %s | %s |%s%s%s", name, variant, cell("%d", runs[row]), \
           cell("%.0f", mean(row, "uses")), cell("%d", predicted)
    for (i = 0; i < 5; ++i) {
        within += sum[row, "error" i]
        printf "%s", part("%.1f %%", within, predicted)
    }
    printf "\n"
}

# The rows that there are, in the order asked for
function print_rows(    c, v, name, variant, num_cases, num_variants)
{
    num_cases    = split(cases, name, " ")
    num_variants = split(variants, variant, " ")
    for (c = 1; c <= num_cases; ++c) {
        for (v = 1; v <= num_variants; ++v) {
            if (!((name[c] SUBSEP variant[v]) in runs)) {
                continue
            }
            if (kind == "errors") {
                print_errors(name[c], variant[v])
            } else {
                print_policy(name[c], variant[v])
            }
        }
    }
}

END {
    if (kind == "errors") {
        print "| program | policy | runs | uses, a rank | predicted, all" \
              " ranks | within 0.5 % | 1 % | 5 % | 10 % | 25 % |"
        print "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    } else {
        print "| program | policy | runs | memory, MiB | of l-p | peak, MiB" \
              " | of l-p | hits | transfer, ms | of l-p | run, s | of l-p |"
        print "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    }
    print_rows()
}
