#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Prints for each folder of the sources how many lines of code it has and how
# many of them were run, in a build with --coverage. A line of a header counts
# once, and as run if any file that includes the header ran it.
#
# usage: coverage.sh SOURCES BUILD
#   SOURCES  folder of the sources (src)
#   BUILD    folder of the build; everything in it that was compiled counts,
#            whether any of it was run or not
# exit status: 0; 1 if too little was run of a folder that has a floor (below)

set -eu
export LC_ALL=C

# The least part of a folder and the folders below it that has to be run, in %
floors="ucs=97 trace=97 uct=90 tools/predreg=90"

[ $# -eq 2 ] || { echo "usage: $0 SOURCES BUILD" >&2; exit 2; }
sources=$(cd "$1" && pwd)

# gcov prints "COUNT: LINE:TEXT" for each line of each source of an object,
# where COUNT is "-" without code and "#####" or "=====" for code that was not
# run; line 0 tells the name of the source. If the path to configure was
# relative, or a compiler cache made it so, the name is relative to the folder
# of the Makefile, where gcov has to find the source.
cd "$2"
find "$PWD" -name '*.gcno' | sort |
while read -r object; do
    folder=${object%/*}
    while [ ! -e "$folder/Makefile" ]; do
        folder=${folder%/*}
    done
    (cd "$folder" && gcov --stdout "$object" 2>/dev/null)
done |
awk -F: -v sources="$sources/" -v relative="${sources##*/}/" \
    -v floors="$floors" '
    $2 + 0 == 0 {
        if ($3 == "Source") {
            root = ($4 ~ /^\//) ? sources : relative
            file = $4
            sub(/^(\.\.\/)+/, "", file)
            inside = (index(file, root) == 1)
            file = substr(file, length(root) + 1)
        }
        next
    }
    inside && ($1 !~ /-$/) {
        lines[file, $2 + 0] = 1
        if ($1 !~ /#####|=====/) {
            ran[file, $2 + 0] = 1
        }
    }

    function percent(part, all)
    {
        return all ? 100 * part / all : 0
    }

    END {
        for (key in lines) {
            split(key, part, SUBSEP)
            folder = part[1]
            while (sub(/\/?[^\/]*$/, "", folder) && (folder != "")) {
                num_lines[folder]++
                num_ran[folder] += ((key in ran) ? 1 : 0)
            }
        }

        for (folder in num_lines) {
            printf "%-28s %6d lines %6.1f %% run\n", folder, \
                   num_lines[folder], \
                   percent(num_ran[folder], num_lines[folder]) | "sort"
        }
        close("sort")

        num_floors = split(floors, floor, " ")
        for (i = 1; i <= num_floors; ++i) {
            split(floor[i], part, "=")
            x = percent(num_ran[part[1]], num_lines[part[1]])
            if (x < part[2]) {
                printf "%s: %.1f %% is below the floor of %d %%\n", part[1], \
                       x, part[2]
                failed = 1
            }
        }
        exit failed
    }'
