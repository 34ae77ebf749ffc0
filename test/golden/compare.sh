#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# A table of what policy predict does better and worse in the golden set than at another
# commit: for each program that differs, the least and the greatest change over its rows.
#
# usage: compare.sh [COMMIT [COMMIT]]
#   the sets of two commits; without the second one, the set as the files are now; without
#   the first one, that of HEAD
#
# A row is worse if one of its values is beyond the tolerance:
#   memory         byte-seconds above 1.03 of those before; less than 0.001 of
#                  leave-pinned's count as 0.001
#   hits           less than before by 0.3 % of the uses
#   waits          above 1.05; less than 0.0001 of the run time count as 0.0001
#   registrations  above 1.10; less than 5 count as 5
#   run time       above 1.001

set -euo pipefail
export LC_ALL=C

[ $# -le 2 ] || { sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-compare.XXXXXX")
trap 'rm -rf "$work"' EXIT

# get_set COMMIT NAME: the set of a commit, to $work/NAME
get_set()
{
    mkdir "$work/$2"
    git -C "$top" archive "$1" test/golden/set |
        tar -x -C "$work/$2" --strip-components=3
}

get_set "${1-HEAD}" old
if [ $# -eq 2 ]; then
    get_set "$2" new
else
    cp -r "$top/test/golden/set" "$work/new"
fi

# Of each program that differs, a line for each value of both sets
for file in "$work/new"/*; do
    name=${file##*/}
    if [ ! -f "$work/old/$name" ] || cmp -s "$work/old/$name" "$file"; then
        continue
    fi
    for set in old new; do
        awk -v set=$set -v program="$name" -v OFS='\t' '
            /^== /  { replayed = substr($0, 4); next }
            NF >= 3 { print set, program, replayed, $1, $2, $3 }' "$work/$set/$name"
    done
done | awk -F '\t' -v programs="$(find "$work/new" -type f | wc -l)" '
    $4 == "leave-pinned" && $5 == "byte_seconds" && !($2 in pinned) { pinned[$2] = $6 }
    $4 == "predict" {
        row = $2 FS $3
        value[$1, row, $5] = $6
        if ($1 == "old" && $5 == "uses")
            order[++rows] = row
    }
    # What a value is now, as a multiple of what it was; less than "least" counts as that
    function ratio(row, name, least,    was, now) {
        was = value["old", row, name] + 0
        now = value["new", row, name] + 0
        was = (was < least) ? least : was
        now = (now < least) ? least : now
        return (was == 0) ? 1 : now / was
    }
    function hits(set, row) {
        # No use is left where a bound refuses all of them
        if (value[set, row, "uses"] + 0 == 0)
            return 0
        return 100 * value[set, row, "hits"] / value[set, row, "uses"]
    }
    function note(program, column, change) {
        if (!((program, column) in low) || change < low[program, column])
            low[program, column] = change
        if (!((program, column) in high) || change > high[program, column])
            high[program, column] = change
        all[column, rows_seen] = change
    }
    function median(column,    i, j, change, sorted) {
        for (i = 1; i <= rows; i++) {
            change = all[column, i]
            for (j = i - 1; j > 0 && sorted[j] > change; j--)
                sorted[j + 1] = sorted[j]
            sorted[j + 1] = change
        }
        return sorted[int((rows + 1) / 2)]
    }
    END {
        format = "%-22s %7s  %15s  %15s  %15s  %15s  %17s\n"
        printf format, "program", "worse", "memory", "hits, %", "waits", "registrations",
               "run time, %"
        for (rows_seen = 1; rows_seen <= rows; rows_seen++) {
            row = order[rows_seen]
            program = substr(row, 1, index(row, FS) - 1)
            if (!(program in rows_of))
                names[++differ] = program
            rows_of[program]++
            note(program, 1, ratio(row, "byte_seconds", 0.001 * pinned[program]))
            note(program, 2, hits("new", row) - hits("old", row))
            note(program, 3, ratio(row, "critical_path_seconds",
                                   0.0001 * value["old", row, "duration_seconds"]))
            note(program, 4, ratio(row, "regs", 5))
            note(program, 5, 100 * ratio(row, "duration_seconds", 0) - 100)
            worse[program] += all[1, rows_seen] > 1.03 || all[2, rows_seen] < -0.3 ||
                              all[3, rows_seen] > 1.05 || all[4, rows_seen] > 1.1 ||
                              all[5, rows_seen] > 0.1
        }
        for (i = 1; i <= differ; i++) {
            program = names[i]
            for (column = 1; column <= 5; column++) {
                number = (column == 2) ? "%+.2f" : (column == 5) ? "%+.3f" : "%.3f"
                cell[column] = sprintf(number " .. " number, low[program, column],
                                       high[program, column])
            }
            printf format, program, worse[program] + 0 "/" rows_of[program], cell[1],
                   cell[2], cell[3], cell[4], cell[5]
            worse_rows += worse[program]
            worse_programs += worse[program] > 0
        }
        printf "%d of %d programs differ, %d are worse in a row; of %d rows %d are worse",
               differ, programs, worse_programs, rows, worse_rows
        if (rows > 0)
            printf "; medians: memory %.3f, hits %+.2f, waits %.3f, registrations %.3f, " \
                   "run time %+.3f", median(1), median(2), median(3), median(4), median(5)
        print ""
    }'
