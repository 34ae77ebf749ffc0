#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Programs of users, each under stock UCX and then with the library: their own
# checks have to pass, and what they pin stands side by side in a table (Markdown).
# To be run in the rig:
#
#   RIG_PACKAGES="..." test/rig/run.sh [--suite S] [--cma] --timeout 3600 -- \
#       test/consumers.sh BUILD [PATTERN]
#
#   BUILD     an absolute path; test/rig/build.sh builds what is needed there for a
#             suite, with --mpich for MPICH
#   PATTERN   an extended regular expression: only programs whose name it matches
#
#   RIG_PACKAGES   adds what is packaged to the suite's root: netpipe-openmpi
#                  netpipe-mpich2 lammps quantum-espresso scalapack-mpi-test
#   RIG_UPF        a pseudopotential of carbon for Quantum ESPRESSO, packed by gzip:
#                  C_3.98148.UPF.gz of Debian's package quantum-espresso-data
#   RIG_SETTINGS   of the library, for all programs: predict, on-demand, bound (at
#                  most 16 MB pinned), separated by blanks (default: what is listed
#                  with each program)
#   RIG_LIMIT      seconds a program may take (default: 120)
#
# Programs that are not there are left out, and said. Status 1 if one did not do
# with the library what it does without.
#
# shellcheck disable=SC2317

set -u
build=${1:?usage: consumers.sh BUILD [PATTERN], see its first lines}
pattern=${2:-}
top=$(cd "$(dirname "$0")/.." && pwd)
apps=$build/${RIG_SUITE:+$RIG_SUITE/}test/apps
apps_mpich=$build/${RIG_SUITE:-no}-mpich/test/apps
predreg=$build/src/tools/predreg/ucx_predreg
limit=${RIG_LIMIT:-120} # seconds a program may take
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
failed=0
prefix=()

# What programs are started with. Natively the stand-in for UCT counts what is
# pinned; over verbs it is the kernel's VmPin, sampled, with UCX's own pools in it.
mpi()
{
    timeout -k 5 "$limit" "${prefix[@]}" mpirun "$@"
}

mpich()
{
    timeout -k 5 "$limit" "${prefix[@]}" mpirun.mpich "$@"
}

shmem()
{
    timeout -k 5 "$limit" "${prefix[@]}" oshrun --mca spml ucx "$@"
}

# with NAME=VALUE COMMAND...
with()
{
    local assignment=$1
    shift
    (export "${assignment?}"; "$@")
}

# pinned: peak of a process, average of a process, in MiB
pinned()
{
    if [ -s "$work/stat" ]; then
        awk 'function value(name) {
                 match($0, "\"" name "\":[0-9.]+")
                 return substr($0, RSTART + length(name) + 3) + 0
             }
             { p = value("pinned_peak_bytes"); if (p > peak) peak = p
               sum += value("pinned_average_bytes"); ++n }
             END { printf "%.1f %.1f", peak / 1048576, n ? sum / n / 1048576 : 0
             }' "$work/stat"
    elif [ -s "$work/pins" ]; then
        awk -F, 'NR > 1 && $3 + 0 > 0 {
                     if ($3 + 0 > peak) peak = $3 + 0
                     sum += $3; ++n }
                 END { printf "%.1f %.1f", peak / 1024, n ? sum / n / 1024 : 0
                 }' "$work/pins"
    else
        echo "- -"
    fi
}

# summary PROCESSES: uses and hits of all processes; fails if one is missing, or has
# something registered at its end
summary()
{
    awk -v processes="$1" '
        function value(name) {
            if (!match($0, "\"" name "\":[0-9.]+"))
                return -1
            return substr($0, RSTART + length(name) + 3) + 0
        }
        { ++n; uses += value("uses"); hits += value("hits")
          if (value("bytes_now") != 0) left = 1 }
        END {
            printf "%d %s", uses, uses ? int(100 * hits / uses + 0.5) " %" : "-"
            exit processes && (left || (n != processes))
        }' "$work/summary"
}

# once COMMAND...: its result, "ok" or why not, to $work/result
once()
{
    local status=0 watch=()
    rm -f "$work"/{stat,pins,summary}
    : > "$work/summary"
    [ -z "${RIG_GUEST-}" ] ||
        watch=("$apps/pinwatch" -i 20 -o "$work/pins" --)
    prefix=("${watch[@]}" "${prefix[@]}")
    NATIVE_STAT=$work/stat "$@" > "$work/log" 2>&1 || status=$?
    case $status in
    0)   echo ok ;;
    77)  echo skipped ;;
    124) echo "not done in $limit s" ;;
    *)   echo "status $status" ;;
    esac > "$work/result"
}

# consumer NAME PROCESSES SETTINGS COMMAND...: a command that uses one of the
# functions above. PROCESSES is how many communicate, or 0 if they may end before
# they tell what they did.
consumer()
{
    local name=$1 processes=$2 settings=${RIG_SETTINGS:-$3}
    local stock stock_pinned setting options result counts
    shift 3
    [[ $name =~ $pattern ]] || return
    prefix=()
    once "$@"
    stock=$(cat "$work/result")
    stock_pinned=$(pinned)
    if [ "$stock" != ok ]; then
        tail -n 15 "$work/log" | sed 's/^/    /' >&2
    fi
    [ "$stock" != skipped ] || return
    for setting in $settings; do
        case $setting in
        predict)   options=() ;;
        on-demand) options=(--policy on-demand) ;;
        bound)     options=(--set MAX_PINNED=16M) ;;
        *) echo "no setting '$setting'; accepted are predict, on-demand," \
                "bound" >&2
           exit 2 ;;
        esac
        prefix=("$predreg" run --summary=json --summary-file "$work/summary"
                "${options[@]}" --)
        once "$@"
        result=$(cat "$work/result")
        counts=$(summary "$processes") || [ "$result" != ok ] ||
            result="ok, but left: $(sed \
                's/.*"bytes_now":\([0-9]*\).*/\1/' "$work/summary" |
                paste -sd ' ') of $processes processes"
        grep -E 'predreg.*(WARN|ERROR)|(WARN|ERROR).*predreg' "$work/log" |
            sort -u | head -n 5 | sed 's/^/    /' >&2
        line "$name" "$setting" "$stock" "$result" \
            "$stock_pinned" "$(pinned)" "$counts"
        if [ "$stock" = ok ] && [ "$result" != ok ]; then
            failed=1
            tail -n 40 "$work/log" | sed 's/^/    /' >&2
            cut -c 1-600 "$work/summary" >&2
        fi
    done
}

# line NAME SETTING STOCK OURS "PEAK AVERAGE" "PEAK AVERAGE" "USES HITS"
line()
{
    # shellcheck disable=SC2086 # words
    printf '| %s | %s | %s | %s | %s / %s | %s / %s | %s | %s |\n' \
        "$1" "$2" "$3" "$4" ${5% *} ${6% *} ${5#* } ${6#* } ${7%% *} "${7#* }"
}

# there COMMAND: whether it is here; said if it is not
there()
{
    command -v "$1" > /dev/null && return
    echo "left out, $1 is not here: $2" >&2
    return 1
}

# same NAME COMMAND...: what the command prints is what it printed under stock UCX
same()
{
    local file=$work/same-$1
    shift
    "$@" > "$work/now"
    [ -s "$work/now" ] || return
    if [ -n "${setting-}" ]; then
        diff "$file" "$work/now"
    else
        mv "$work/now" "$file"
    fi
}

hpcc_verified()
{
    cp "$top/contrib/lib/hpccinf.txt" hpccinf.txt
    rm -f hpccoutf.txt
    mpi -np "$1" hpcc || return
    grep -q '^Success=1' hpccoutf.txt || {
        grep -E 'Success|FAILED' hpccoutf.txt
        return 1
    }
}

# Each message's bytes are compared
#   netpipe LAUNCHER PROGRAM
netpipe()
{
    "$1" -np 2 "$2" -i -n 30 -l 4096 -u 3000000 -o np.out > np.log 2>&1 || {
        cat np.log
        return 1
    }
    cat np.log
    grep -q 'Integrity check passed' np.log &&
        ! grep -qi 'integrity check failed' np.log
}

# A liquid; its energies have to be those of stock UCX
lammps_melt()
{
    cat > melt.in <<INPUT
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 40 0 40 0 40
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 10
run $1
INPUT
    mpi -np 4 lmp -in melt.in -log melt.log || return
    # shellcheck disable=SC2016
    same melt awk '$1 == "Step" { on = 1 } /^Loop/ { on = 0 } on' melt.log
}

# The ground state of diamond; its energy has to be that of stock UCX
espresso_diamond()
{
    [ -s "${RIG_UPF-}" ] || { echo "RIG_UPF is not set"; return 77; }
    gzip -dc "$RIG_UPF" > C.UPF
    cat > diamond.in <<INPUT
&control
    calculation = 'scf', prefix = 'diamond', pseudo_dir = '.', outdir = '.'
/
&system
    ibrav = 2, celldm(1) = 6.64245, nat = 2, ntyp = 1, ecutwfc = 60.0,
    occupations = 'smearing', smearing = 'mp', degauss = 0.02
/
&electrons
    conv_thr = 1.0d-9
/
ATOMIC_SPECIES
C 12.01078 C.UPF
ATOMIC_POSITIONS alat
C 0.00 0.00 0.00
C 0.25 0.25 0.25
K_POINTS automatic
$1 $1 $1 0 0 0
INPUT
    mpi -np 4 pw.x -in diamond.in > diamond.out || { cat diamond.out; return 1; }
    grep -q 'convergence has been achieved' diamond.out &&
        grep -q 'JOB DONE' diamond.out &&
        same diamond awk '/^!/' diamond.out
}

# ScaLAPACK's tests, with the matrices that come with them. These are small: so that
# their messages are registered, all go by rendezvous. Natively, and in 4 processes.
#   scalapack LAUNCHER FOLDER PROGRAM...
scalapack()
{
    local launcher=$1 folder=$2 program
    shift 2
    for program in "$@"; do
        cp -Lf "$folder"/*.dat .
        with UCX_RNDV_THRESH=0 "$launcher" -np 4 "$folder/$program" \
            > tests.log 2>&1 || {
            tail -n 30 tests.log
            return 1
        }
        # Each program has words of its own for how its tests ended
        grep -hiE 'tests? (completed|passed|failed)|passed all|residual checks' \
            tests.log ./*.out ./*.SUMM 2>/dev/null | tail -n 4
        if grep -hE 'FAILED|\*\*\*.*fail|[1-9][0-9]* tests? (completed and )?failed' \
            tests.log
        then
            echo "$program"
            return 1
        fi
        rm -f ./*.out ./*.SUMM ./*.dat
    done
}

# A program that ends without MPI_Finalize leaves no process, no shared memory of
# System V, and of POSIX none but what UCX and MPI themselves leave; its status is
# that of stock UCX
#   abrupt HOW
abrupt()
{
    local pid pids i
    export limit
    export -f mpi
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --ipc --mount bash -c '
        mount -t tmpfs none /dev/shm || exit 125
        how=$1 program=$2
        shift 2
        prefix=("$@")
        mpi -np 2 "$program" "$how" > abrupt.log 2>&1
        echo "status $?" > abrupt.status
        ls /dev/shm > abrupt.shm
        ipcs -m | grep -c "^0x" > abrupt.ipc
        exit 0' - "$1" "$apps/abrupt" "${prefix[@]}" || return
    cat abrupt.log abrupt.status abrupt.shm
    mapfile -t pids < <(sed -n 's/.* is process //p' abrupt.log)
    [ ${#pids[@]} -eq 2 ] || return
    for pid in "${pids[@]}"; do
        for ((i = 0; i < 50; ++i)); do # Until the kernel has undone it
            grep -q '^VmPin' "/proc/$pid/status" 2>/dev/null || break
            sleep 0.1
        done
        [ "$i" -lt 50 ] || { echo "$pid is still there"; return 1; }
    done
    [ "$(cat abrupt.ipc)" -eq 0 ] || { echo "shared memory left"; return 1; }
    ! grep -Ev '^(ucx_shm_posix|vader_|sm_segment|osc_)' abrupt.shm || return
    same "abrupt-$1" cat abrupt.status
}

# Parts of MPI, by one of them
#   features NAME LAUNCHER FOLDER
features()
{
    local name=$1 launcher=$2 folder=$3 mixed spawned tls size=(--bytes 1m --rounds 10)
    if [ ! -x "$folder/mpi_features" ]; then
        echo "left out, not built: $name" >&2
        return
    fi
    [ -z "${RIG_GUEST-}" ] || size=(--bytes 256k --rounds 2)
    # Open MPI has a component of its own for windows that ranks share
    mixed=(with "OMPI_MCA_osc=ucx,sm")
    consumer "$name: messages of all modes, persistent, cancelled, too long" 2 \
        "predict on-demand bound" "$launcher" -np 2 "$folder/mpi_features" \
        --only persistent,modes,probe,cancel,truncate "${size[@]}"
    consumer "$name: datatypes with gaps" 2 "predict on-demand bound" \
        "$launcher" -np 2 "$folder/mpi_features" \
        --only vector,struct,subarray "${size[@]}"
    consumer "$name: communicators, shared windows" 4 "predict bound" \
        "${mixed[@]}" "$launcher" -np 4 "$folder/mpi_features" \
        --only comms,intercomm,shared "${size[@]}"
    # What Open MPI 5 starts later does not get the library from the command, and
    # needs tcp to be reached natively
    spawned=4
    tls=${UCX_TLS-}
    [ -n "${RIG_GUEST-}" ] || tls=cma,tcp,posix,self
    ! mpirun --version | grep -q ' 5\.' || [ "$launcher" != mpi ] || spawned=2
    consumer "$name: spawn" $spawned "predict on-demand" \
        with "UCX_TLS=$tls" "$launcher" -np 2 "$folder/mpi_features" --only spawn "${size[@]}"
    consumer "$name: collectives, 4 ranks" 4 "predict on-demand bound" \
        "$launcher" -np 4 "$folder/mpi_features" \
        --only rooted,all,reductions,overlapped "${size[@]}"
    consumer "$name: collectives, 7 ranks" 7 "predict" \
        "$launcher" -np 7 "$folder/mpi_features" \
        --only rooted,all,reductions,overlapped "${size[@]}"
    if can_put "$launcher"; then
        consumer "$name: one-sided" 2 "predict on-demand bound" \
            "$launcher" -np 2 "$folder/mpi_features" \
            --only windows,dynamic,atomics "${size[@]}"
    fi
    consumer "$name: 4 threads a rank" 2 "predict on-demand bound" \
        "$launcher" -np 2 "$folder/integrity" --threads 4 --ops "$operations"
    consumer "$name: sessions" 2 "predict on-demand" \
        "$launcher" -np 2 "$folder/sessions"
    if [ -z "${RIG_GUEST-}" ]; then
        consumer "$name: messages of 2.25 GiB" 2 "predict on-demand bound" \
            "$launcher" -np 2 "$folder/huge"
    fi
}

# Natively UCX emulates puts and gets, and Open MPI 4 then reads wrong bytes
can_put()
{
    [ -n "${RIG_GUEST-}" ] || [ "$1" != mpi ] || ! mpirun --version | grep -q ' 4\.'
}

operations=300
[ -z "${RIG_GUEST-}" ] || operations=40
tests=/usr/lib/x86_64-linux-gnu/scalapack
programs=(xdlu xdqr xdinv xdsep xdsvd xdbrd xdtrd xdhrd xdls xzlu)

echo "| program | setting | stock | ours | peak MiB, stock / ours |" \
     "average MiB, stock / ours | uses | hits |"
echo "|---|---|---|---|--:|--:|--:|--:|"
features "Open MPI" mpi "$apps"
for how in _exit exit abort kill MPI_Abort; do
    consumer "Open MPI: ends by $how" 0 "predict on-demand" abrupt $how
done
if [ -x "$apps/symmetric" ] && can_put mpi; then
    consumer "OpenSHMEM" 2 "predict on-demand bound" \
        shmem -np 2 "$apps/symmetric"
    consumer "OpenSHMEM, 4 ranks" 4 "predict" shmem -np 4 "$apps/symmetric"
fi
features "MPICH" mpich "$apps_mpich"

if there hpcc HPCC; then
    consumer "HPCC, 2 ranks" 2 "predict on-demand bound" hpcc_verified 2
    consumer "HPCC, 4 ranks" 4 "predict" hpcc_verified 4
fi
if there NPopenmpi NetPIPE; then
    consumer "NetPIPE, Open MPI" 2 "predict on-demand bound" netpipe mpi NPopenmpi
    consumer "NetPIPE, MPICH" 2 "predict" netpipe mpich NPmpich2
fi
if there lmp LAMMPS; then
    consumer "LAMMPS, 4 ranks" 4 "predict on-demand bound" lammps_melt 30
fi
if there pw.x "Quantum ESPRESSO"; then
    consumer "Quantum ESPRESSO, 4 ranks" 4 "predict on-demand bound" \
        espresso_diamond 4
fi
if there "$tests/openmpi-tests/xdlu" ScaLAPACK; then
    for mpi in openmpi mpich; do
        [ $mpi = mpich ] && launcher=mpich || launcher=mpi
        settings=predict
        [ $mpi = mpich ] || settings="predict on-demand bound"
        consumer "ScaLAPACK's tests, $mpi" $((4 * ${#programs[@]})) \
            "$settings" scalapack "$launcher" "$tests/$mpi-tests" "${programs[@]}"
    done
fi
exit $failed
