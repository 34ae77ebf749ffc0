#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# An entry of the deregistration queue whose region is given up, and whose next use is
# predicted, passes so many functions of the helper and the cache at most: what somebody
# has to find in another file who follows it. Functions of headers do not count, nor do
# static ones, nor those that each round calls whether there is an entry or not.
#
# usage: walk.sh [--list] BUILD-FOLDER
#   --list   print the functions too, in the order in which they are called first
# needs a compiler, in CC or called cc

set -euo pipefail
list=
if [ "$1" = --list ]; then
    list=1
    shift
fi
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
most=25
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-walk.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$top/src/ucs"

# shellcheck disable=SC2206 # CC may have options
cc=(${CC:-cc} -O0 -DHAVE_CONFIG_H -I"$top/src" -I"$build")
"${cc[@]}" -c -finstrument-functions -finstrument-functions-exclude-file-list=.h \
    -o "$work/walk.o" "$top/test/bench/walk.c"
for file in rcache_pred/{cache,helper}/*.c; do
    name=$(basename "$file")
    "${cc[@]}" -g -c -finstrument-functions -finstrument-functions-exclude-file-list=.h \
        -o "$work/$(basename "$(dirname "$file")")_${name%.c}.o" "$file"
done
for file in rcache_pred/{predict,table}/*.c rcache_pred/*.c; do
    "${cc[@]}" -c -o "$work/other_$(echo "${file%.c}" | tr / _).o" "$file"
done
"${cc[@]}" -no-pie -o "$work/walk" "$work"/*.o "$build/src/ucs/.libs/librcache_pred.a" -lucs -lucm -lm -lpthread
# Lines of "SECTION DISTANCE" become names
"$work/walk" > "$work/calls"
nm "$work/walk" | awk -v list="$list" -v most=$most '
    function number(hex,    i, n) {
        for (i = 1; i <= length(hex); ++i) {
            n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
        }
        return n
    }
    FNR == NR {
        if ($2 == "T") {
            name[number($1)] = $3
        }
        if ($3 == "walk_now") {
            base = number($1)
        }
        next
    }
    !(base + $2 in name) { next } # Static
    $1 == "idle" { idle[base + $2]; next }
    !(base + $2 in seen) { seen[base + $2]; order[++called] = base + $2 }
    END {
        for (i = 1; i <= called; ++i) {
            if (!(order[i] in idle)) {
                ++count
                if (list) {
                    print name[order[i]]
                }
            }
        }
        printf "%d functions; accepted: up to %d\n", count, most
        exit (count == 0) || (count > most)
    }' - "$work/calls"
