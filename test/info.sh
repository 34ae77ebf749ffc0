#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# ucx_predreg info: what it says of this machine, of machines that have a memory
# domain to manage (the native rig), and of UCXs and programs with which the library
# would step aside, or that crash. What the rig cannot do here is left out.
#
# usage: info.sh BUILD-FOLDER

set -u
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
command=$build/src/tools/predreg/ucx_predreg
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# says PATTERN...: each is found in $output
says()
{
    local pattern
    for pattern in "$@"; do
        grep -qE -- "$pattern" <<< "$output" || fail "$name: no '$pattern'"
    done
}

# expect STATUS NAME COMMAND...: what it prints is in $output
expect()
{
    local expected=$1 status=0
    name=$2
    shift 2
    output=$(timeout 120 "$@" 2>&1 < /dev/null) || status=$?
    echo "== $name"
    echo "$output"
    [ "$status" -eq "$expected" ] || fail "$name: status $status, not $expected"
}

# problem PATTERN ADVICE: the two are found on lines after each other
problem()
{
    grep -A1 -E -- "^  (\(note\) )?$1" <<< "$output" |
        grep -qE "^    do this: .*$2" || fail "$name: no problem '$1', '$2'"
}

# nothing: the text says that nothing would be managed, and why; else that is true
nothing()
{
    says '^  all in all +nothing would be managed$' '^Problems$'
}

# Of a variable that is set where the tests run, more would be said
unset "${!UCX_RCACHE_PRED_@}"
version=$(ucx_info -v | sed -nE 's/^# (Library v|Version |UCT version=)([0-9.]+).*/\2/p')

echo "==== no device"
if [ -z "$(ls /sys/class/infiniband 2> /dev/null)" ]; then
    expect 1 "without a device" "$command" info
    nothing
    problem 'nothing would be managed: UCX has no memory domain of ib' 'RDMA device'
    says "^  version +$version, known$" '^  memory events +delivered$' \
        '^  kernel +Linux ' '^  usable +[1-9]' \
        '^  tcp +not managed: its transports do not need registrations$'
fi

echo "==== the library steps aside"
expect 1 "UCX's cache" env UCX_RCACHE_ENABLE=y "$command" info
nothing
problem "the library steps aside: UCX_RCACHE_ENABLE=y keeps UCX's own cache on" \
    'or set it to n'

expect 1 "no memory events" env UCX_MEM_EVENTS=n "$command" info
problem 'the library steps aside: memory events of UCM are not available' \
    'unset UCX_MEM_EVENTS'
says '^  memory events +Unsupported operation$'

expect 1 "a bad value" env UCX_RCACHE_PRED_WINDOW=9 "$command" info
problem 'UCX_RCACHE_PRED_WINDOW=9 is not accepted; accepted: .* 0 to 4$' 'unset it'
expect 1 "a bad value after --set" "$command" info --set history=0
problem 'UCX_RCACHE_PRED_HISTORY=0 is not accepted' 'unset it'
expect 1 "no knob" env UCX_RCACHE_PRED_WINDO=1 "$command" info
problem "UCX_RCACHE_PRED_WINDO: .*the nearest is WINDOW" 'unset it'
expect 1 "leave-pinned" "$command" info --set POLICY=leave-pinned
problem 'UCX_RCACHE_PRED_POLICY=leave-pinned' 'unset it'

expect 1 "another library" "$command" info --library /bin/true
problem "--library: '.*' is not libuct_predreg.so" '--library PATH'
mkdir "$work/lone"
cp "$library" "$work/lone"
expect 1 "no core" "$command" info --library "$work/lone/libuct_predreg.so"
problem 'the library steps aside: cannot load .*/lone/libuct_predreg_core.so' \
    'install both libraries again'

echo "==== other UCXs"
# fake NAME CODE: a folder whose libucp is that code
fake()
{
    mkdir "$work/$1"
    cc -shared -fPIC -Wl,-soname,libucp.so.0 -x c -o "$work/$1/libucp.so.0" - \
        <<< "$2" || fail "$1 cannot be compiled"
}

# told MAJOR MINOR: the code of a UCP that says to be of that version
told()
{
    echo "void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
          { *major = $1; *minor = $2; *release = 0; }"
}

fake new "$(told 1 99)"
expect 1 "a UCX to come" env LD_LIBRARY_PATH="$work/new" "$command" info
nothing
says '^  version +1.99.0, not known$' "$work/new/libucp.so.0"
problem 'the library steps aside: this process uses UCX 1.99; accepted: 1.13 to ' \
    'use another UCX'
fake old "$(told 1 12)"
expect 1 "an old UCX" env LD_LIBRARY_PATH="$work/old" "$command" info
problem 'the library steps aside: this process uses UCX 1.12' 'use another UCX'
fake part "$(told 1 18)"
expect 1 "a part of UCX" env LD_LIBRARY_PATH="$work/part" "$command" info
problem 'the library steps aside: this UCX lacks the function' 'use another UCX'

fake abort '#include <stdlib.h>
            void ucp_get_version(void) { abort(); }'
expect 1 "a UCX that crashes" env LD_LIBRARY_PATH="$work/abort" "$command" info
problem 'a process that looked at UCX was ended by signal 6 .*: it was asking UCX' \
    'does the same without the library'

mkdir "$work/none"
echo 'no library' > "$work/none/libucp.so.0"
expect 1 "no UCX" env LD_LIBRARY_PATH="$work/none" "$command" info
problem 'no UCX can be loaded: .*/none/libucp.so.0: ' 'LD_LIBRARY_PATH'

echo "==== commands"
expect 1 "a program that is linked with UCX" "$command" info -- ucx_info -d
says '^  command +/.*/ucx_info$' 'what the dynamic loader finds for the command$' \
    "^  version +$version, known$"
# It is not run: this program would leave a file
expect 1 "a program that is not" "$command" info touch "$work/touched"
says 'the command is not linked with UCX$'
[ ! -e "$work/touched" ] || fail "the command was run"
expect 1 "a launcher" "$command" info -- "$(command -v mpirun || echo srun)" -np 2 x
says 'the command is a launcher' '^  processes +[0-9]+ now with the library, 2 of'

mkdir "$work/lib"
cp "$work/new/libucp.so.0" "$work/lib"
cc -x c -o "$work/own" - "-Wl,-rpath,$work/lib" -x none "$work/new/libucp.so.0" <<< \
    'void ucp_get_version(void); int main(void) { ucp_get_version(); return 0; }'
expect 1 "a program with a UCX of its own" "$command" info "$work/own"
says "$work/lib/libucp.so.0" '^  version +1.99.0, not known$'

if cc -static -x c -o "$work/static" - <<< 'int main(void) { return 0; }'; then
    expect 1 "a static program" "$command" info "$work/static"
    problem '.*/static is linked statically' 'shared libraries'
fi

printf '#!/bin/sh\n' > "$work/script"
chmod +x "$work/script"
expect 1 "a script" "$command" info "$work/script"
says 'the command is a script'

if [ "$(id -u)" -eq 0 ]; then
    chmod 711 "$work"
    cp "$work/own" "$work/rights"
    chmod u+s "$work/rights"
    expect 1 "a program with rights" setpriv --reuid=65534 --clear-groups \
        "$command" info "$work/rights"
    problem '.*/rights has rights that its user lacks' 'set-user-ID'
fi

expect 1 "a preload that is missing" \
    env LD_PRELOAD="$work/missing.so" "$command" info
problem "the dynamic loader: '.*/missing.so' from LD_PRELOAD cannot be preloaded" \
    'look at the file'

expect 127 "no such command" "$command" info -- nosuch-command
says "'nosuch-command' was not found"
expect 2 "no such option" "$command" info --xml
says 'info --help lists what is accepted'
expect 2 "no setting" "$command" info --set WINDOW
says "--set: 'WINDOW'; accepted: KNOB=VALUE"
expect 0 "help" "$command" info --help
says 'usage: ucx_predreg info'

echo "==== JSON"
# member EXPRESSION: of the JSON object in $output
member()
{
    python3 -c 'import json, sys
print(eval(sys.argv[1], {"o": json.loads(sys.argv[2])}))' "$1" "$output"
}

if command -v python3 > /dev/null; then
    expect 1 "JSON" env UCX_X=$'"\\\t\xff\xc3\xa9' UCX_RCACHE_ENABLE=y \
        "$command" info --json ucx_info
    [ "$(member 'o["ucx_version"]')" = "$version" ] || fail "ucx_version"
    [ "$(member 'o["settings"]["UCX_X"] == "\"\\\t?\u00e9"')" = True ] ||
        fail "strings"
    [ "$(member '[o["works"], o["tried"], o["aside"], o["command_kind"]]')" = \
        "[False, 'aside', 'CACHE_ON', 'linked']" ] || fail "what came of it"
    [ "$(member '[p["stops"] for p in o["problems"] if "RCACHE_ENABLE" in p["what"]]')" \
        = '[True]' ] || fail "problems"
fi

echo "==== the native rig"
# in_rig STATUS NAME OPTION... -- COMMAND...: 1 if the rig cannot do it here
in_rig()
{
    local expected=$1 rig_name=$2
    shift 2
    "$top/test/rig/run.sh" --build "$build" --cma "${@:1:rig_options}" -- true \
        > /dev/null 2>&1 || { echo "not here: $rig_name"; return 1; }
    expect "$expected" "$rig_name" "$top/test/rig/run.sh" --build "$build" --cma "$@"
}

rig_options=0
if in_rig 0 "cma" -- "$command" info ucx_info; then
    says '^  all in all +memory would be managed$' '^  cma +managed$' \
        '^ +registration +[0-9.]+ us \+ [0-9.]+ us a page$' \
        '^  tried in UCX +memory is managed$'
    # The adapter's cost is what was measured
    in_rig 0 "a dear adapter" --adapter-cost 50,1 -- "$command" info --json
    [ "$(member '[45 < d["registration"]["us"] < 90 and
                  0.9 < d["registration"]["us_a_page"] < 2
                  for d in o["domains"] if d["managed"]]')" = '[True]' ] ||
        fail "the cost was not measured"
    in_rig 0 "a lone program" -- env LD_PRELOAD="$library" "$command" info
    in_rig 1 "UCX's cache in the rig" -- env UCX_RCACHE_ENABLE=y "$command" info
    problem 'the library steps aside: UCX_RCACHE_ENABLE=y' 'set it to n'
    in_rig 1 "not named" -- env UCX_RCACHE_PRED_COMPONENTS=ib "$command" info
    problem 'nothing would be managed' 'COMPONENTS name .*: cma'
    in_rig 1 "not used" -- env UCX_TLS=tcp "$command" info
    problem 'nothing would be managed: UCX does not use' 'UCX_TLS'
    in_rig 1 "no transport" -- env UCX_TLS=nonesuch "$command" info
    problem 'UCX does not start: UCP cannot be initialised' 'UCX_TLS'
    RIG_MEMLOCK=2048 in_rig 0 "little locked memory" -- "$command" info --json
    [ "$(member '[o["locked_memory"], o["may_lock_anything"]]')" = \
        '[2097152, False]' ] || fail "limit of locked memory"
fi

rig_options=2
# With env, so that what is before it are two arguments, as of an option
calibrate=(env "$command" calibrate)
if in_rig 0 "calibration" -- "${calibrate[@]}"; then
    says '^UCP, with all of its memory domains' '^cma: managed$' \
        '^tcp: not managed: its transports do not need registrations$' \
        '^ +8192 +[0-9.]+ +[0-9.]+ +[0-9]+ +[0-9]+$' '^  It pays from [0-9]+ bytes'
    # Which 50 us more of a registration are
    in_rig 0 "calibration of a dear adapter" --adapter-cost 50,1 -- \
        "${calibrate[@]}" --json
    says '"managed":true,"registration_call_us":[5-9][0-9]|[1-9][0-9][0-9]' \
        '"ucp":\{.*"registration_call_us":[4-9][0-9]|[1-9][0-9][0-9]'

    in_rig 1 "calibration, not managed" -- \
        "${calibrate[@]}" --set COMPONENTS=ib
    says 'nothing would be managed: UCX has no memory domain of ib here'
    in_rig 1 "calibration, aside" -- env UCX_RCACHE_ENABLE=y "${calibrate[@]}"
    says 'ucx_predreg: the library steps aside: UCX_RCACHE_ENABLE=y'
    ! grep -q '^UCP, with' <<< "$output" ||
        fail "calibration, aside: UCX without the library was measured"
    in_rig 1 "calibration, not used" -- env UCX_TLS=tcp "${calibrate[@]}"
    says 'nothing would be managed: UCX does not use the memory domains'
fi

if in_rig 0 "Debian 13" --suite trixie -- env UCX_RCACHE_PRED_MAX_PINNED=1M \
    UCX_RCACHE_MAX_SIZE=64M "$command" info -- mpirun; then
    says '^  taken from UCX +UCX_RCACHE_MAX_SIZE=64M$'
    says '^  version +1\.18\.1, known$' '^  cma +managed$' 'Debian GNU/Linux 13'
    ! grep -q '^Problems' <<< "$output" || fail "$name: there are problems"
    ! grep -q 'PROTO_ENABLE' <<< "$output" || fail "$name: other protocols"

    # With less than 80 MiB, UCX's pools might not find their room
    export RIG_MEMLOCK=8192
    in_rig 0 "Debian 13, little locked memory" --suite trixie -- "$command" info
    says '^  PROTO_ENABLE +n with the library, y without$'
    problem 'the library sets UCX_PROTO_ENABLE=n, since a process may lock only 8M' \
        "raise 'ulimit -l' to 81920"
    in_rig 0 "its protocols in JSON" --suite trixie -- "$command" info --json
    [ "$(member '[o["proto_enable"], o["proto_enable_alone"], o["works"]]')" = \
        "['n', 'y', True]" ] || fail "$name"
    in_rig 0 "protocols that the user has chosen" --suite trixie -- \
        env UCX_PROTO_ENABLE=y "$command" info
    ! grep -q 'PROTO_ENABLE=n' <<< "$output" || fail "$name: changed all the same"
    unset RIG_MEMLOCK
fi
exit $errors
