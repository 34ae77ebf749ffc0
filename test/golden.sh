#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The golden set: what `ucx_predreg replay --json` printed for the programs of
# test/golden/programs, beside what it prints now. See test/golden/README.md.
#
# usage: golden.sh [--remake] BUILD-FOLDER [NAME]...
#   NAME       these programs only
#   --remake   put what is printed now into the set; what differs is printed all the
#              same, for the message of the commit
#
# Each row of a replay that differs is one line: the program, what was replayed, the
# policy, and each value that is another one, as the set has it and as it is now. A value
# that only the present replay prints is told at the end, and is no difference.
# exit status: 0; 1 if something differs; 2 if something cannot be replayed

set -euo pipefail
export LC_ALL=C

remake=
if [ "${1-}" = --remake ]; then
    remake=1
    shift
fi
[ $# -ge 1 ] ||
    { echo "usage: $0 [--remake] BUILD-FOLDER [NAME]..." >&2; exit 2; }
top=$(cd "$(dirname "$0")/.." && pwd)
command=$(cd "$1" && pwd)/src/tools/predreg/ucx_predreg
shift
golden=$top/test/golden
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-golden.XXXXXX")
trap 'rm -rf "$work"' EXIT

# make_traces KIND NAME WORD...: the traces of a program, one a rank, to $work/NAME. The
# words are settings of make_trace.awk; for recorded programs there are none
make_traces()
{
    local kind=$1 name=$2 file
    shift 2
    mkdir "$work/$name"
    if [ "$kind" = made ]; then
        awk "${@/#/-v}" -f "$top/test/traces/make_trace.awk" \
            > "$work/$name/0.trace"
        return
    fi
    for file in "$golden/traces/$name".*.xz; do
        xz -dc "$file" > "$work/$name/${file##*/}.trace" || return
    done
}

# replay NAME OPTION...: what it prints, a line for each value, below one that says what
# is replayed: POLICY FIELD VALUE. Other lines than those of policies depend on what
# this machine has measured
replay()
{
    local name=$1
    shift
    echo "== $*"
    "$command" replay --json "$@" "$work/$name" 2>> "$work/$name.err" |
        awk '
        function field(words,    name, value) {
            name  = words
            value = words
            sub(/^"/, "", name)
            sub(/".*/, "", name)
            sub(/^"[^"]*":/, "", value)
            gsub(/[]["]/, "", value)
            gsub(/,/, " ", value)
            if (name == "phases")
                row = row "/" value
            else
                print row, prefix name, value
        }
        function fields(object,    first) {
            while (match(object, /"[a-z_]+":([{][^}]*[}]|[[][^]]*[]]|[^,{}]+)/)) {
                first  = substr(object, RSTART, RLENGTH)
                object = substr(object, RSTART + RLENGTH)
                if (first ~ /^"[a-z_]+":[{]/) {
                    prefix = first
                    gsub(/^"|":.*/, "", prefix)
                    prefix = prefix "."
                    sub(/^"[a-z_]+":/, "", first)
                    fields(first)
                    prefix = ""
                } else {
                    field(first)
                }
            }
        }
        match($0, /"policy":"[a-z-]+"/) {
            row = substr($0, RSTART + 10, RLENGTH - 11)
            fields(substr($0, RSTART + RLENGTH))
        }'
}

# play KIND NAME WORD...: a program, as test/golden/programs says
play()
{
    local kind=$1 name=$2 word half few="" costs=() settings=() helper budget more
    shift 2
    for word in "$@"; do
        case $word in
        half=*)  half=${word#*=} ;;
        few)     few=1 ;;
        costs=*) costs=(--reg-cost "${word#*=}" --dereg-cost "16000,0") ;;
        *)       settings+=("$word") ;;
        esac
    done

    make_traces "$kind" "$name" "${settings[@]}" || return
    echo "traces $(cat "$work/$name"/* | cksum)"
    replay "$name" "${costs[@]}" \
        --policy "leave-pinned,on-demand,lru=$half,clairvoyant" || return
    for helper in "" --shared-processor "--shared-processor --set HELPER=aggressive"
    do
        for budget in 1 inf; do
            # shellcheck disable=SC2086 # words
            for more in "" "--set MAX_PINNED=$half"; do
                [[ $helper$more != *aggressive*MAX_PINNED* ]] || continue
                [ -z "$few" ] || [[ $helper$more != *[A-Z]* ]] || continue
                replay "$name" "${costs[@]}" --policy predict $helper \
                    --set "BUDGET=$budget" $more || return
            done
        done
    done
    while read -r _ word more; do
        # shellcheck disable=SC2086 # words
        [ "$word" != "$name" ] || replay "$name" "${costs[@]}" $more || return
    done < <(grep '^also ' "$golden/programs")
    rm -r "${work:?}/$name"
}

# play_to_file NAME WORD...
play_to_file()
{
    play "$@" > "$work/$2.now" && mv "$work/$2.now" "$work/$2.replayed"
}

# compare NAME: prints what differs; fails if something does. New values are
# gathered in $work/new
compare()
{
    local set=$golden/set/$1
    [ -f "$set" ] || { echo "$1: not in the set"; return 1; }
    ! cmp -s "$set" "$work/$1.replayed" || return 0
    awk -v program="$1" -v new="$work/new" '
        function tell(row, text) {
            if (!(row in told))
                order[++rows] = row
            told[row] = told[row] sep[row] " " text
            sep[row]  = ","
        }
        $1 == "=="     { sub(/^== /, ""); replayed = $0; next }
        $1 == "traces" { replayed = ""; row = "traces"; name = "" }
        $1 != "traces" { row = $1; name = $2; sub(/^[^ ]+ /, "") }
        {
            sub(/^[^ ]+ /, "")
            row = (replayed == "") ? row : replayed ": " row
            key = row SUBSEP name
        }
        FNR == NR { was[key] = $0; had[row] = 1; next }
        { now[key] = 1; has[row] = 1 }
        !(row in had) {
            if (!(row in told))
                tell(row, "not in the set")
            next
        }
        !(key in was)  { print name > new; next }
        was[key] != $0 { tell(row, (name == "" ? "" : name " ") was[key] " -> " $0) }
        END {
            for (key in was) {
                if (key in now)
                    continue
                split(key, part, SUBSEP)
                if (part[1] in has)
                    tell(part[1], part[2] " gone")
                else if (!(part[1] in told))
                    tell(part[1], "gone")
            }
            for (i = 1; i <= rows; ++i)
                print program ": " order[i] told[order[i]]
            exit rows > 0
        }' "$set" "$work/$1.replayed"
}

# Programs at the same time, as many as there are processors
names=()
while read -r kind name words; do
    case $kind in
    made|recorded) ;;
    *) continue ;;
    esac
    [ $# -eq 0 ] || [[ " $* " = *" $name "* ]] || continue
    names+=("$name")
    # shellcheck disable=SC2086 # words
    play_to_file "$kind" "$name" $words &
    [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n || true
done < "$golden/programs"
wait
[ ${#names[@]} -gt 0 ] || { echo "no program is called $*" >&2; exit 2; }

: > "$work/new"
differ=0
for name in "${names[@]}"; do
    if [ ! -f "$work/$name.replayed" ]; then
        echo "$name: cannot be replayed" >&2
        cat "$work/$name.err" >&2 || true
        exit 2
    fi
    compare "$name" || differ=$((differ + 1))
    [ -z "$remake" ] || cp "$work/$name.replayed" "$golden/set/$name"
done
if [ -s "$work/new" ]; then
    echo "not in the set: $(sort -u "$work/new" | paste -sd ' ')"
fi

# What is in the set, and is played no more
if [ $# -eq 0 ]; then
    for file in "$golden/set"/*; do
        name=${file##*/}
        [[ " ${names[*]} " != *" $name "* ]] || continue
        echo "$name: in the set, and not in test/golden/programs"
        differ=$((differ + 1))
        [ -z "$remake" ] || rm "$file"
    done
fi

echo "$differ of ${#names[@]} programs differ"
[ -n "$remake" ] || [ $differ -eq 0 ]
