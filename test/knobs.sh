#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What the manual page, the README and docs/ say of knobs is what the library
# reads: their names, their defaults, their help and the values of those that
# have names. The table that the library reads is asked for with ucx_info.
#
# usage: knobs.sh BUILD-FOLDER

set -eu
export LC_ALL=C
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
page=$build/src/tools/predreg/ucx_predreg.7
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-knobs.XXXXXX")
trap 'rm -rf "$work"' EXIT
errors=0

[ -f "$page" ] || {
    echo "$page is not made in a build with sanitizers, or for another machine"
    exit 77
}

fail()
{
    echo "FAILED: $*"
    errors=1
}

# Of each knob a line NAME=DEFAULT, a tab, and its help on one line
env -i PATH="$PATH" LD_PRELOAD="$library" ucx_info -cf |
    awk '
        /^# / { sub(/^# +/, ""); help = help " " $0; next }
        /^UCX_RCACHE_PRED_/ { print $0 "\t" help }
        /^$/ || /^UCX/ { help = "" }' > "$work/knobs"

# For each entry of the manual page: its name, a tab, its text, a tab, and the
# values that it has items for. Macros are left out, but not what they print
awk '
    function flush() {
        if (name != "") print name "\t" text "\t" items
        name = ""
    }
    { gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\e/, "\\") }
    /^\.It Ev UCX_RCACHE_PRED_/ {
        flush(); name = $3; text = ""; items = ""; lists = 0; next
    }
    /^\.Bl/ { ++lists }
    /^\.El/ { if (lists == 0) flush(); else --lists }
    /^\.Sh/ { lists = 0 }
    /^\.It Cm/ { items = items " " $3 }
    name != "" {
        sub(/^\.(Cm|It Cm) */, "")
        if ($0 !~ /^\./) text = text " " $0
    }
    END { flush() }' "$page" > "$work/page"

# Rows of tables: the name and the default in quotes of code, then text
grep -hrE '^\| *`UCX_RCACHE_PRED_[A-Z_]+` *\| *`[^`]*` *\|' "$top/README.md" \
    "$top/docs" --include=*.md |
    sed -E 's/^\| *`([A-Z_]+)` *\| *`([^`]*)` *\| */\1=\2\t/' > "$work/rows" ||
    true

# accepted HELP: names of values, one a line
accepted()
{
    echo "$1" | sed -nE 's/.*syntax: +\[([^]]*\|[^]]*)\].*/\1/p' | tr '|' '\n'
}

# words TEXT: with one space between them, and without the dashes between names
# and what they mean
words()
{
    echo "$1" | tr -s ' ' | sed 's/ - / /g'
}

# check_entry NAME DEFAULT HELP: of the manual page
check_entry()
{
    local name=$1 said items expected value
    said=$(awk -F'\t' -v name="$name" '$1 == name { print $2 }' "$work/page")
    items=$(awk -F'\t' -v name="$name" '$1 == name { print $3 }' "$work/page")
    [ -n "$said" ] || {
        fail "$name is not in the manual page"
        return
    }

    expected=$(words "${3%% syntax:*} Default: ${2:-empty}.")
    [[ "$(words "$said") " = "$expected "* ]] ||
        fail "$name in the manual page: no '$expected' in '$said'"
    # The text may name values as well, so that only the items tell whether all
    # of them are there
    for value in $items; do
        accepted "$3" | grep -qx -e "$value" ||
            fail "$name in the manual page: '$value' is no value"
    done
    for value in $(accepted "$3"); do
        [ -z "$items" ] || [[ " $items " = *" $value "* ]] ||
            fail "$name in the manual page: no item for '$value'"
    done
}

while IFS=$'\t' read -r knob help; do
    check_entry "${knob%%=*}" "${knob#*=}" "$help"
done < "$work/knobs"

while IFS=$'\t' read -r name said items; do
    grep -q "^$name=" "$work/knobs" ||
        fail "$name in the manual page is no knob"
done < "$work/page"

while IFS=$'\t' read -r row said; do
    help=$(awk -F'\t' -v knob="$row" '$1 == knob { print $2 }' "$work/knobs")
    [ -n "$help" ] || {
        fail "there is no knob with this default: $row"
        continue
    }

    number=$(echo "$said" | grep -oE '[0-9]+[KMG]? (to [0-9]+|and more)' |
             head -n 1 || true)
    [ -z "$number" ] || [[ $help = *"$number"* ]] ||
        fail "${row%%=*} in a table: '$number' is not its range"
done < "$work/rows"

count=$(wc -l < "$work/knobs")
[ "$count" -ge 10 ] || fail "ucx_info lists $count knobs"
echo "$count knobs, $(wc -l < "$work/page") entries, $(wc -l < "$work/rows") rows"
[ "$errors" -eq 0 ] || exit 1
