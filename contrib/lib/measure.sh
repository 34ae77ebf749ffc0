# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo.sh and evaluate.sh have in common: options, rounds of runs in a rig,
# and what is said of the machine. To be sourced by bash, after build.sh and
# cases.sh.
#
# shellcheck shell=bash disable=SC2034,SC2154

# range OPTION VALUE MIN MAX: ends the script unless the value is in the range
range()
{
    [[ $2 =~ ^[1-9][0-9]{0,7}$ ]] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] ||
        die "$1: '$2'; accepted: $3 to $4"
}

# new_folder DIR: makes a folder for results, or ends the script. A folder with files in
# it is refused: they may have the names of results.
new_folder()
{
    [ -n "$1" ] || die "--out: ''; accepted: the name of a folder"
    { mkdir -p "$1" && [ -w "$1" ]; } 2>/dev/null ||
        die "cannot write to '$1'; accepted: a folder that can be written to" \
            "(--out DIR)"
    [ -z "$(ls -A "$1")" ] ||
        die "'$1' has files in it already; accepted: a new folder"
}

# prepare_rigs LOG RIG...: installs and builds all that the programs need in these
# rigs, and sets load, the load average before
prepare_rigs()
{
    local log=$1 packages=(hpcc libdw-dev)
    shift
    # The build is load too
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    install_missing "$log" "${packages_build[@]}" "${packages[@]}"
    # Where these cannot be installed, the native rig says that it is not built
    [[ " $* " != *" cma-"* ]] ||
        (install_missing "$log" "${packages_native[@]}") || true
    [[ " $* " != *" verbs "* ]] || install_guest "$log"
    build_project
    build_programs
}

tables()
{
    "$build/test/tables/tables" "$@"
}

# show_progress DIR RUNS: says what rounds.sh is doing, from its lines
show_progress()
{
    local word count=0 from=$SECONDS text open=
    while read -ra word; do
        text=
        case ${word[0]-} in
        run)     # CASE VARIANT REP
                 count=$((count + 1))
                 text=$(printf '%d:%02d, run %d of %d: %s %s' \
                     $(((SECONDS - from) / 60)) $(((SECONDS - from) % 60)) \
                     $count "$2" "${word[@]:1:2}") ;;
        failed)  # CASE VARIANT REP WHY
                 text="${word[1]} ${word[2]} failed (${word[*]:4}); see"
                 text+=" $1/raw/${word[1]}.${word[2]}.${word[3]}.out" ;;
        skipped) # CASE REP
                 text="no time for repetition ${word[2]} of ${word[1]}" ;;
        *)       text="${word[*]-}" ;;
        esac
        # On a terminal, runs share a line
        if [ -t 1 ] && [ "${word[0]-}" = run ]; then
            printf '\r\033[K%s' "$text"
            open=1
        else
            [ -z "$open" ] || echo
            open=
            say "$text"
        fi
    done
    [ -z "$open" ] || echo
}

# run_rounds RIG DIR TIMEOUT RUNS OPTION... CASE:VARIANT...: runs cases in a rig
# through rounds.sh, with its options; there are so many runs. The status is that
# of run.sh.
run_rounds()
{
    local rig=$1 dir=$2 timeout=$3 runs=$4 options status
    shift 4
    options_of "$rig"
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    : > "$dir/runs"
    say "$runs runs, $(name_of "$rig")"
    set +e
    "$top/test/rig/run.sh" "${options[@]}" --build "$build" --out "$dir" \
        --timeout "$timeout" -- "$top/contrib/lib/rounds.sh" -g "$rig" "$@" |
        show_progress "$dir" "$runs"
    status=${PIPESTATUS[0]}
    set -e
    return "$status"
}

# where_and_when SECONDS: when and on what something was measured that took so
# long
where_and_when()
{
    printf '%s, in %d min. %s, %d processors%s; %s, kernel %s; UCX %s, %s.\n\n' \
        "$(date +%Y-%m-%d)" $((($1 + 59) / 60)) \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
        "$(nproc)" \
        "$(grep -q '^flags.* hypervisor' /proc/cpuinfo && echo ' (virtual)')" \
        "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" \
        "$(uname -r)" "$(pkg-config --modversion ucx)" \
        "$(mpirun --version | sed -n 's/^mpirun (\(.*\)) /\1 /p')"
}

# busy_note LOAD: a note below run times which something else that ran here, and
# cannot be seen in them, made meaningless; LOAD is the load average before
busy_note()
{
    awk -v busy="$1" -v cpus="$(nproc)" 'BEGIN {
        if (busy > cpus / 4) {
            print "**This machine was busy** (load average " busy " before the" \
                  " runs, " cpus " processors):\ncompare memory and counts," \
                  " not run times.\n"
        }
    }'
}
