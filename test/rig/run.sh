#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Run a command where UCX registers memory: with an RDMA device, here if this
# machine has one, else in a QEMU guest with Soft-RoCE which sees this machine's
# files; or here without any device (--cma). See usage() below.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 125

usage()
{
    cat <<USAGE
usage: run.sh [options] [--] COMMAND [ARGS...]

Run COMMAND with an RDMA device. Where the machine has none, a guest with
Soft-RoCE is booted: it sees the same files (changes are lost, except below
RIG_OUT), starts in the same folder, and the output and the exit status of the
command become those of run.sh. Standard input is empty.

  --cpus N      processors of the guest (2)
  --mem MiB     memory of the guest (3072)
  --timeout S   seconds until everything is ended (300)
  --out DIR     a folder that COMMAND may write to for good (default: a new
                one; it is removed if it is left empty); RIG_OUT names it
  --env N[=V]   pass the variable N too, or set it to V. Passed anyway: PATH,
                HOME, USER, LANG, LC_ALL, LD_LIBRARY_PATH, UCX_*, OMPI_*,
                PRTE_*, PMIX_*, MPIR_*, RIG_*
  --native      run it here, whatever is here
  --suite S     run it with the programs and libraries of Debian's suite S,
                bookworm, trixie or unstable, on this machine's kernel or the
                guest's. Its root is made once, see root.sh; for the suite that
                this machine has, too. COMMAND sees of this machine the checkout,
                the build, the current folder, /tmp and RIG_OUT, at the same
                paths; what it writes elsewhere is lost. Programs are built for
                it by build.sh; those of the tests are in BUILD/S/test/apps
  --cma         run it here, with no device at all: between the processes of this
                machine, at the speed of memory. The memory of messages is
                registered and pinned as for an adapter, see test/native/README.md
  --adapter-cost US,US_PER_PAGE[,US,US_PER_PAGE]
                with --cma: what an adapter adds to a registration, microseconds
                a call and a page of 4 KiB; and to a deregistration (default: as
                much a call, nothing a page). UCX's model of an InfiniBand
                adapter is 16,0.25. Default: nothing
  --adapter-keys N[,again]
                with --cma: the adapter has N keys, 1 to 32767, for all processes of
                the node together; what a process has comes back when it ends. A
                registration without a key is refused with ENOMEM, or with EAGAIN,
                which UCX takes for a reason to try again as its version does
  --build DIR   with --cma: the build whose test/native is used (build); with
                --suite S as well, that in DIR/S, which build.sh brings up to date
  --verbose     say on stderr how long it took

Variables:
  RIG_MEMLOCK       limit locked memory to so many KiB (and drop CAP_IPC_LOCK)
  RIG_FORCE_GUEST   boot the guest although there is an RDMA device here
  RIG_READY         with --cma: the same has worked just before, so that it is not
                    found out again whether it can; not with RIG_MEMLOCK
  RIG_KERNEL_DIR    an unpacked kernel package to boot, see prepare.sh
  RIG_MIRROR        where the packages of a suite come from, see root.sh
  RIG_QEMU          the QEMU to use (qemu-system-x86_64)

COMMAND finds RIG_OUT, and RIG_SUITE with --suite, in its environment.

Where not set, UCX and Open MPI are told to use the device (UCX_TLS and so on).

Exit status: that of COMMAND, 128 + n if signal n ended it; 124 after the
timeout; 77 if this cannot be done here; 125 if the rig failed.
USAGE
}

say()
{
    echo "run.sh: $*" >&2
}

fail()
{
    say "$*"
    exit 125
}

# Prints the arguments quoted, so that a shell reads them back as they are.
quote()
{
    local s=$1
    printf "'%s'" "${s//\'/\'\\\'\'}"
}

number()
{
    [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1: '$2'; accepted: a whole number from 1"
}

# cost OPTION VALUE: two numbers, or four
cost()
{
    local n='[0-9]+(\.[0-9]+)?'
    [[ $2 =~ ^$n,$n(,$n,$n)?$ ]] ||
        fail "$1: not US,US_PER_PAGE or US,US_PER_PAGE,US,US_PER_PAGE: '$2'"
}

# keys OPTION VALUE: as many as a semaphore counts
keys()
{
    [[ $2 =~ ^[1-9][0-9]{0,4}(,again)?$ ]] && [ "${2%,*}" -le 32767 ] ||
        fail "$1: '$2'; accepted: 1 to 32767, and ',again' after it"
}

cpus=2
mem=3072
timeout=300
out=
native=
cma=
adapter_cost=
adapter_keys=
suite=
build=${PREDREG_BUILD:-$here/../../build}
verbose=
env_names=(PATH HOME USER LANG LC_ALL LD_LIBRARY_PATH)
env_set=()

while [ $# -gt 0 ]; do
    case $1 in
    --cpus|--mem|--timeout|--out|--env|--adapter-cost|--adapter-keys|--build|--suite)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
        --cpus)    number "$1" "$2"; cpus=$2 ;;
        --mem)     number "$1" "$2"; mem=$2 ;;
        --timeout) number "$1" "$2"; timeout=$2 ;;
        --out)     [ -n "$2" ] || fail "--out: no folder given"; out=$2 ;;
        --build)   [ -n "$2" ] || fail "--build: no folder given"; build=$2 ;;
        --adapter-cost)
            cost "$1" "$2"; adapter_cost=$2 ;;
        --adapter-keys)
            keys "$1" "$2"; adapter_keys=$2 ;;
        --suite)
            [[ $2 =~ ^(bookworm|trixie|unstable)$ ]] || fail "--suite: '$2';" \
                "accepted are bookworm, trixie and unstable"
            suite=$2 ;;
        --env)
            name=${2%%=*}
            [[ $name =~ ^[A-Za-z_][A-Za-z_0-9]*$ ]] ||
                fail "--env: not a variable: '$2'"
            # our own shell and its children must not be changed by it (think
            # of LD_PRELOAD): the value is kept aside
            if [ "$2" != "$name" ]; then
                env_set+=("$name=${2#*=}")
            else
                env_names+=("$name")
            fi ;;
        esac
        shift 2 ;;
    --native)  native=1; shift ;;
    --cma)     native=1; cma=1; shift ;;
    --verbose) verbose=1; shift ;;
    --help|-h) usage; exit 0 ;;
    --)        shift; break ;;
    -*)        fail "unknown option: $1; --help lists what is accepted" ;;
    *)         break ;;
    esac
done
[ $# -gt 0 ] || { usage >&2; fail "no command"; }
if [ -n "${RIG_MEMLOCK-}" ]; then
    number RIG_MEMLOCK "$RIG_MEMLOCK"
fi
if [ -n "$adapter_cost" ] && [ -z "$cma" ]; then
    fail "--adapter-cost needs --cma"
fi
if [ -n "$adapter_keys" ] && [ -z "$cma" ]; then
    fail "--adapter-keys needs --cma"
fi

work=
semaphore=
pids=()

cleanup()
{
    trap '' HUP INT TERM
    # Nothing that QEMU may be doing is worth waiting for
    if [ ${#pids[@]} -gt 0 ]; then
        # (bash has something to say about every job that is killed)
        { kill -KILL "${pids[@]}"; wait "${pids[@]}"; } 2>/dev/null
    fi
    [ -z "$work" ] || rm -rf "$work"
    [ -z "$semaphore" ] || ipcrm -s "$semaphore"
    [ -z "${new_out-}" ] || rmdir "$new_out" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "$out" ]; then
    out=$(mktemp -d "${TMPDIR:-/tmp}/rig-out.XXXXXX") || fail "no folder for RIG_OUT"
    new_out=$out
else
    mkdir -p "$out" || fail "no folder $out"
fi
out=$(cd "$out" && pwd -P) || fail "no folder $out"
[ "$out" != / ] || fail "RIG_OUT must not be /"
export RIG_OUT=$out

# shellcheck source=test/rig/defaults.sh
. "$here/defaults.sh"

# Without the capability even root is held to the limit.
drop_ipc_lock()
{
    local setpriv
    setpriv=$(command -v setpriv) || fail "RIG_MEMLOCK needs 'setpriv'"
    echo "$setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock"
}

# Make the semaphore that counts the keys. Its set is private, so that nobody else
# finds it
make_keys()
{
    local error=12 # ENOMEM

    [ "${adapter_keys#*,}" != again ] || error=11 # EAGAIN
    semaphore=$(perl -e '
        my $set = semget(0, 1, 01600); # IPC_PRIVATE, IPC_CREAT
        defined $set && semctl($set, 0, 16, $ARGV[0]) or die "$!\n"; # SETVAL
        print $set' "${adapter_keys%,*}") || fail "could not make a semaphore"
    export NATIVE_KEYS=$semaphore,$error
}

# shellcheck source=test/rig/folders.sh
. "$here/folders.sh"
root=
if [ -n "$suite" ]; then
    root=$("$here/root.sh" "$suite") || {
        status=$?
        [ $status -eq 77 ] || status=125
        exit $status
    }
    export RIG_SUITE=$suite
    build=$(realpath -m "$build")
    show_folder "$(cd "$here/../.." && pwd)" "$build" "$PWD" "$RIG_OUT"
fi

if [ -z "$native" ] && [ -z "${RIG_FORCE_GUEST-}" ] &&
   [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
    native=1
fi
if [ -n "$native" ]; then
    ready=
    [ -z "$cma" ] || [ -n "${RIG_MEMLOCK-}" ] || ready=${RIG_READY-}
    defaults_mpi
    prefix=
    least_mib=64 # With less, hardly a job could run
    if [ -n "${RIG_MEMLOCK-}" ]; then
        prefix=$(drop_ipc_lock) || exit
        ulimit -l "$RIG_MEMLOCK" || fail "RIG_MEMLOCK: '$RIG_MEMLOCK';" \
            "accepted: KiB, at most the hard limit (ulimit -Hl), $(ulimit -Hl)"
        least_mib=1
    fi
    inside=()
    if [ -n "$suite" ]; then
        [ -n "$ready" ] || unshare --mount true 2>/dev/null || {
            say "--suite needs a mount namespace of its own here, which only root" \
                "may have, and not in every container"
            exit 77
        }
        work=$(mktemp -d "${TMPDIR:-/tmp}/rig.XXXXXX") || fail "no temporary folder"
        inside=(unshare --mount --propagation private "$here/enter.sh" "$work"
                "$root" "${folders[@]+"${folders[@]}"}" --)
    fi
    if [ -n "$cma" ]; then
        build=$(realpath -m "$build")
        if [ -n "$suite" ]; then
            [ -n "$ready" ] || "$here/build.sh" "$suite" "$build" || {
                status=$?
                [ $status -eq 77 ] || status=125
                exit $status
            }
            build=$build/$suite
        fi
        lib=$(cd "$build/test/native" 2>/dev/null && pwd)
        if [ ! -x "$lib/probe" ] || [ ! -f "$lib/libuct.so.0" ]; then
            say "the native rig is not built in $build: configure needs liburing" \
                "and patchelf (Debian packages: liburing-dev, patchelf), then" \
                "make -C $build/test/native; if it is built elsewhere, --build DIR"
            exit 77
        fi
        [ -n "$ready" ] || why=$("${inside[@]+"${inside[@]}"}" $prefix "$lib/probe" \
                                     $least_mib 2>&1) || {
            say "no native rig here: $why"
            exit 77
        }
        defaults_cma "$lib"
        [ -z "$adapter_keys" ] || make_keys
    fi
    # in the background, so that a signal to us is handled at once; env comes
    # last, so that it changes nothing but the command
    timeout -k 5 "$timeout" "${inside[@]+"${inside[@]}"}" $prefix \
        env -- "${env_set[@]+"${env_set[@]}"}" "$@" < /dev/null 2>&1 &
    pid=$!
    trap 'kill -TERM $pid 2>/dev/null; exit 130' INT
    trap 'kill -TERM $pid 2>/dev/null; exit 143' TERM
    trap 'kill -TERM $pid 2>/dev/null; exit 129' HUP
    wait $pid 2>/dev/null
    status=$?
    [ $status -ne 124 ] || say "timeout after $timeout s"
    exit $status
fi

qemu=${RIG_QEMU:-qemu-system-x86_64}
if ! command -v "$qemu" >/dev/null; then
    say "no RDMA device here, and no '$qemu' for a guest that has one" \
        "(Debian package: qemu-system-x86)"
    exit 77
fi
if [ -z "$suite" ] && ! command -v rdma >/dev/null &&
   [ ! -x /usr/sbin/rdma ] && [ ! -x /sbin/rdma ]; then
    say "'rdma' is not installed (Debian package: iproute2)"
    exit 77
fi
if [ -n "$suite" ] && [ -z "$(find "$root"/usr/lib/*/ucx -name 'libuct_ib.so*' \
                              -print -quit 2>/dev/null)" ]; then
    say "UCX as $suite has it was built without its transports for RDMA: programs" \
        "can use a UCX of their own here, or run with --cma"
fi
image=$("$here/prepare.sh") || {
    status=$?
    [ $status -eq 77 ] || status=125
    exit $status
}

work=$(mktemp -d "${TMPDIR:-/tmp}/rig.XXXXXX") || fail "no temporary folder"
mkdir "$work/ctl"
: > "$work/ctl/out"
: > "$work/console"

# The guest's view of the environment.
defaults_guest
{
    echo "cd $(quote "$PWD") || exit 125"
    for name in $(compgen -e); do
        case $name in
        UCX_*|OMPI_*|PRTE_*|PMIX_*|MPIR_*|RIG_*) env_names+=("$name") ;;
        esac
    done
    for name in "${env_names[@]}"; do
        [ -z "${!name+set}" ] || echo "export $name=$(quote "${!name}")"
    done
    for var in "${env_set[@]+"${env_set[@]}"}"; do
        echo "export ${var%%=*}=$(quote "${var#*=}")"
    done
    echo "export RIG_GUEST=1"
    printf 'exec'
    for arg in "$@"; do
        printf ' %s' "$(quote "$arg")"
    done
    echo
} > "$work/ctl/cmd"
{
    echo "RIG_OUT=$(quote "$RIG_OUT")"
    echo "RIG_MEMLOCK=${RIG_MEMLOCK-}"
    [ -z "${RIG_MEMLOCK-}" ] || echo "RIG_PREFIX='$(drop_ipc_lock)'"
    echo "RIG_HANG=$((timeout > 20 ? timeout - 10 : 0))"
    echo "RIG_SUITE=$suite"
    echo "RIG_HOME=$(quote "${HOME:-/root}")"
} > "$work/ctl/conf"
for folder in /tmp "${folders[@]+"${folders[@]}"}"; do
    # symbolic links would be followed in the guest
    printf '%s\n' "$(realpath "$folder")" "$folder"
done > "$work/ctl/folders"

# Commas separate QEMU's options.
share()
{
    local path=${2//,/,,}
    echo "local,path=$path,mount_tag=$1,security_model=none,multidevs=remap"
}

append="console=ttyS0 panic=-1 edd=off quiet mitigations=off tsc=reliable"
append+=" no_timer_check random.trust_cpu=on"
# less to do at boot: no second serial line, and no waiting for grace periods
append+=" 8250.nr_uarts=1 rcupdate.rcu_expedited=1 cryptomgr.notests"

# Without ERMS, libc and the kernel copy memory by words and vectors: an emulated
# "rep movsb" takes a step for each byte, and tests a fourth more of processor time
qemu_args=(
    -accel tcg,thread=multi -machine pc -cpu max,-erms
    -smp "$cpus" -m "$mem" -nodefaults -no-user-config -no-reboot
    -display none -monitor none -serial "file:${work//,/,,}/console"
    -kernel "$image/kernel" -initrd "$image/initramfs" -append "$append"
    -virtfs "$(share host /),readonly=on"
    -virtfs "$(share ctl "$work/ctl")"
    -virtfs "$(share out "$RIG_OUT")"
)
[ -z "$suite" ] || qemu_args+=(-virtfs "$(share suite "$root"),readonly=on")

# Should this script be killed without a chance to clean up, QEMU goes too.
pdeathsig=
if setpriv --pdeathsig KILL true 2>/dev/null; then
    pdeathsig="setpriv --pdeathsig KILL"
fi

$pdeathsig "$qemu" "${qemu_args[@]}" < /dev/null > "$work/qemu" 2>&1 &
qemu_pid=$!
tail -c +1 -s 0.1 -f --pid=$qemu_pid "$work/ctl/out" 2>/dev/null &
tail_pid=$!
sleep "$timeout" < /dev/null > /dev/null 2>&1 &
sleep_pid=$!
pids=("$qemu_pid" "$tail_pid" "$sleep_pid")

wait -n "$qemu_pid" "$sleep_pid"
timed_out=
if kill -0 "$qemu_pid" 2>/dev/null; then
    timed_out=1
    kill -KILL "$qemu_pid" 2>/dev/null
fi
wait "$qemu_pid" 2>/dev/null
wait "$tail_pid" 2>/dev/null
kill "$sleep_pid" 2>/dev/null
pids=()

show()
{
    if [ -s "$2" ]; then
        say "$1:"
        tr -d '\r' < "$2" | tail -n "$3" | sed 's/^/    /' >&2
    fi
}

if [ -n "$verbose" ] && [ -s "$work/ctl/uptime" ]; then
    say "$(cat "$work/ctl/uptime") s from power-on to the command," \
        "$SECONDS s in all"
fi
show "trouble in the guest's kernel log" "$work/ctl/kmsg" 40
if [ -n "$timed_out" ]; then
    show "processes of the guest before the end" "$work/ctl/hang" 400
    show "the guest's console" "$work/console" 40
    say "timeout after $timeout s"
    exit 124
fi
if [ ! -s "$work/ctl/status" ]; then
    show "QEMU" "$work/qemu" 20
    show "the guest's console" "$work/console" 40
    if [ -s "$work/ctl/uptime" ]; then
        fail "the guest ended before the command did"
    fi
    fail "the guest did not start"
fi
exit "$(cat "$work/ctl/status")"
