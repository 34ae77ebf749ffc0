#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo.sh and evaluate.sh make of what they have measured: medians, ratios and
# tables of runs that are made up here; and that their parts, cases and policies
# fit together.
#
# usage: results.sh BUILD-FOLDER

set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
tables=$build/test/tables/tables
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
errors=0
quick=
work_per_ms=1
# shellcheck source=contrib/lib/cases.sh
. "$top/contrib/lib/cases.sh"

[ -x "$tables" ] || { echo "the build has no json-c"; exit 77; }

fail()
{
    echo "FAILED: $*"
    errors=1
}

# same NAME EXPECTED COMMAND...: what a command prints
same()
{
    local name=$1 expected=$2 output
    shift 2
    output=$("$@") || fail "$name: status $?"
    echo "== $name"
    echo "$output"
    [ "$output" = "$expected" ] || fail "$name; expected: $expected"
}

# native_run CASE VARIANT REP SECONDS AVERAGE-MIB PEAK-MIB: of two ranks, of which
# the second one has a MiB less, on average and at most
native_run()
{
    local raw=$work/raw/$1.$2.$3 mib=1048576 less
    echo "$1 $2 $3 99" >> "$work/runs"
    for less in 0 1; do
        echo "{\"seconds\":$4,\"uses\":8,$(
            )\"pinned_average_bytes\":$((($5 - less) * mib)),$(
            )\"pinned_peak_bytes\":$((($6 - less) * mib))}"
    done > "$raw.stat"
}

# said CASE VARIANT REP LOOP-SECONDS TRANSFER-SECONDS: by the program
said()
{
    echo "{\"loop_s\":$4,\"comm_avg_s\":$5}" > "$work/raw/$1.$2.$3.out"
}

# summary CASE VARIANT REP HITS WAITED HELPER: of the library, two ranks, 10 uses
summary()
{
    local rank
    for rank in 0 1; do
        echo "{\"rank\":$rank,\"uses\":10,\"hits\":$4,\"regs_critical\":3,$(
            )\"critical_path_seconds\":$5,\"helper_cpu_seconds\":$6,$(
            )\"pool_bytes\":0,\"prediction_errors\":[1,2,3,4,5,5]}"
    done > "$work/raw/$1.$2.$3.json"
}

# Stock takes 4 s (median of 3, 4 and 9) and predict 5, the mean of 4 and 6; the
# run that was sampled counts for nothing
mkdir "$work/raw"
native_run app stock 0 100 900 900
native_run app stock 1 9 5 9
native_run app stock 2 3 5 9
native_run app stock 3 4 5 9
native_run app predict 1 4 2 9
native_run app predict 2 6 4 9
summary app predict 1 9 0.001 0.004
summary app predict 2 7 0.003 0.008
# What a program says of its time is believed
native_run says stock 1 77 5 9
said says stock 1 2 0.004
native_run says predict 1 77 5 9
said says predict 1 3 0.005

head="| program | policy | runs | time, s | min..max | ratio | memory, MiB | \
ratio | peak, MiB | ratio | hits | waited, ms | helper, ms | transfer, ms | \
ratio |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
same "medians, spread, ratios to the first policy" "$head
| app | stock | 3 | 4.000 | 3.000..9.000 | 1.000 | 4.50 | 1.000 | 9.00 | \
1.000 | - | - | - | - | - |
| app | predict | 2 | 5.000 | 4.000..6.000 | 1.250 | 2.50 | 0.556 | 9.00 | \
1.000 | 80 % | 2.0 | 6.0 | - | - |
| says | stock | 1 | 2.000 | 2.000..2.000 | 1.000 | 4.50 | 1.000 | 9.00 | \
1.000 | - | - | - | 4.000 | 1.000 |
| says | predict | 1 | 3.000 | 3.000..3.000 | 1.500 | 4.50 | 1.000 | 9.00 | \
1.000 | - | - | - | 5.000 | 1.250 |" \
    "$tables" policies "$work" "app says missing" "stock predict missing"

same "no ratio without the first policy" "$head
| app | predict | 2 | 5.000 | 4.000..6.000 | - | 2.50 | - | 9.00 | - | 80 % | \
2.0 | 6.0 | - | - |" "$tables" policies "$work" "app" "missing predict"

same "counts, without time" "| program | policy | runs | memory, MiB | ratio | \
peak, MiB | ratio | uses | hits | waited for |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
| app | stock | 3 | 4.50 | 1.000 | 9.00 | 1.000 | 8 | - | - |
| app | predict | 2 | 2.50 | 0.556 | 9.00 | 1.000 | 10 | 80 % | 3 |" \
    "$tables" counts "$work" "app" "stock predict"

# Ratios of time are 1.25 and 1.5, of memory 0.556 and 1
same "all programs together" "| policy | programs | time, median | longest | \
above 1.01 | memory, median | most | peak, most |
|---|--:|--:|--:|--:|--:|--:|--:|
| predict | 2 | 1.375 | 1.500 | 2 | 0.778 | 1.000 | 1.000 |" \
    "$tables" summary "$work" "app says missing" "stock predict missing"

same "errors of predictions" "| program | policy | runs | uses, a rank | \
predicted, all ranks | within 0.5 % | 1 % | 5 % | 10 % | 25 % |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
| app | predict | 2 | 10 | 80 | 5.0 % | 15.0 % | 30.0 % | 50.0 % | 75.0 % |" \
    "$tables" errors "$work" "app" "predict"

same "a line of CSV for each run" \
    '"cma-0,0",says,predict,1,3.000000,0.005000,4.500,9.000,8,,,,,,,,,' \
    sh -c "$tables results $work cma-0,0 | grep says,predict"

cat > "$work/paper" <<PAPER
# a comment

Table 9 | time | +1 % | app | predict | stock | time
Table 9 | nobody ran it | +1 % | other | predict | stock | time
Figure 9|memory|-2 %|app|predict|stock|memory
Figure 9 | peak | 0 % | app | predict | stock | peak
Figure 9 | transfer | - | says | predict | stock | transfer
PAPER
same "beside the paper" "| | the paper | | here | |
|---|---|--:|---|--:|
| Table 9 | time | +1 % | \`app\`, time of predict against stock | +25.00 % |
| Figure 9 | memory | -2 % | \`app\`, memory of predict against stock | -44.44 % |
| Figure 9 | peak | 0 % | \`app\`, peak of predict against stock | +0.00 % |
| Figure 9 | transfer | - | \`says\`, transfer of predict against stock | \
+25.00 % |" "$tables" compare "$work" "$work/paper"
echo "Table 9 | time" > "$work/paper"
"$tables" compare "$work" "$work/paper" 2>&1 | grep "paper:1: not 7 fields" ||
    fail "a line with too few fields is taken"

# Samples of memory: the curve ends with UCX, although those of the process go on
native_run fig1-reuse-2 stock 0 2 5 9
native_run fig1-reuse-2 stock 1 2 5 9
printf '%s\n' t_ms,pid,vmpin_kb 0,7,0 0,8,0 100,7,5120 100,8,5120 900,7,5120 \
    900,8,5120 1500,7,0 1500,8,0 9000,7,0 9000,8,0 \
    > "$work/raw/fig1-reuse-2.stock.0.csv"
picture=$("$tables" demo-picture "$work" subtitle) || fail "no picture"
echo "$picture" | grep -o '>[^<]*[sB]<'
grep -q ">leave-pinned<" <<< "$picture" || fail "no curve in the picture"
grep -q ">average[^<]*4.50[^<]*MiB<" <<< "$picture" || fail "another average"
grep -q ">1.40[^<]*s<" <<< "$picture" || fail "the curve does not end with UCX"

same "summary of the demonstration" '{"rig":"rig","program":"fig1-reuse",'$(
    )'"policy":"leave-pinned","runs":1,"registered_avg_mib":4.500,'$(
    )'"registered_peak_mib":9.000,"uses":8.0,"hits":null,'$(
    )'"regs_critical":null,"critical_path_seconds":null,"seconds":2.000}' \
    "$tables" demo-json "$work" rig

# Rounds of runs, with programs that only seem to be some. is fails.
fake=$work/fake
mkdir -p "$fake/bin" "$fake/src/tools/predreg"
cat > "$fake/bin/mpirun" <<'FAKE'
#!/bin/sh
case $3 in
*/is) exit 3 ;;
esac
echo '{"loop_s":1,"work_per_ms":5}'
FAKE
cat > "$fake/src/tools/predreg/ucx_predreg" <<'FAKE'
#!/bin/bash
echo "$*" >> "$COMMANDS"
while [ "$1" != -- ]; do
    shift
done
shift
exec "$@"
FAKE
chmod +x "$fake/bin/mpirun" "$fake/src/tools/predreg/ucx_predreg"

# rounds OPTION... CASE:VARIANT...: runs them natively; what it says
rounds()
{
    local options=()
    while [[ $1 = -* ]]; do
        options+=("$1")
        shift
    done
    COMMANDS=$work/commands PATH=$fake/bin:$PATH \
        "$top/contrib/lib/rounds.sh" -g cma-0,0 "${options[@]}" "$fake" \
        "$work/out" "$@"
}

same "variants take turns, and another one begins each time" "run cg-2 predict 1
run cg-2 budget-1 1
run cg-2 stock 1
run ft1d-2 stock 1
run cg-2 budget-1 2
run cg-2 stock 2
run cg-2 predict 2
run ft1d-2 stock 2" rounds -r2 cg-2:stock cg-2:predict cg-2:budget-1 ft1d-2:stock
[ "$(cut -d ' ' -f 1-3 "$work/out/runs" | sort -u | wc -l)" -eq 8 ] ||
    fail "not all good runs are listed"
[ "$(cat "$work/out/work")" -eq 5 ] || fail "the work of a millisecond is lost"
[ "$(grep -c '^run --policy predict --summary=json --summary-file ' \
     "$work/commands")" -eq 2 ] || fail "predict was not run twice"
[ "$(grep -c '^run --policy predict --set BUDGET=1 --summary=json ' \
     "$work/commands")" -eq 2 ] || fail "no budget was set"

output=$(rounds -r1 is-2:stock cg-2:stock) && fail "a failed run is not told"
grep -q '^failed is-2 stock 1 status 3$' <<< "$output" || fail "$output"
[ "$(cut -d ' ' -f 1-3 "$work/out/runs")" = "cg-2 stock 1" ] ||
    fail "a failed run is listed"
same "a program of the user" "run mine-2 stock 1" \
    rounds -r1 -p'mine=/bin/mine --and more' mine-2:stock
output=$(rounds -r1 hpcc-2:stock) && fail "wrong results are not told"
grep -q '^failed hpcc-2 stock 1 wrong results$' <<< "$output" || fail "$output"

# Each part can be run in full and quickly, and each line of the paper is of one
# of them, in the rig that it is compared in
known=" "
for quick in "" 1; do
    for part in "${parts_all[@]}" demo; do
        part_of "$part" || fail "no part $part"
        [ -n "$title" ] || fail "part $part has no title"
        for name in "${cases[@]}"; do
            for rig in "${rigs[@]}"; do
                case_of "$name" "$rig" /apps || fail "$part: no case $name"
                [ "${launch[*]:0:3}" = "mpirun -np $ranks" ] ||
                    fail "$name: ${launch[*]}"
            done
            for variant in "${variants[@]}"; do
                variant_of "$variant"
                case $policy in
                ''|leave-pinned|on-demand|predict) ;;
                *) fail "$part: no policy $policy" ;;
                esac
                [[ " ${rigs[*]} " != *" $rig_usual "* ]] ||
                    known+="$name:$variant "
            done
        done
    done
done
while IFS='|' read -r place _ _ name variant base quantity; do
    [[ $place != "#"* ]] || continue
    for variant in $variant $base; do
        [[ $known = *" ${name// /}:$variant "* ]] ||
            fail "paper.txt: nobody runs ${name// /} under $variant"
    done
    [[ " time transfer memory peak " = *" ${quantity// /} "* ]] ||
        fail "paper.txt: no quantity $quantity"
done < "$top/contrib/lib/paper.txt"

own_program cg=/bin/true && fail "a program of ours is taken for another"
own_program 'a b=/bin/true' && fail "a name of two words is accepted"
own_program mine= && fail "a program without a command is accepted"

# The length of all runs, and what is accepted
output=$("$top/contrib/evaluate.sh" --list)
echo "$output"
[ "$(grep -c ' runs, ' <<< "$output")" -eq ${#parts_all[@]} ] ||
    fail "--list does not list all parts"
same "two parts that need the same runs" "together about 2 min: what several \
parts need is run once" \
    sh -c "'$top/contrib/evaluate.sh' --list fig2 fig2 | tail -n 1"
same "a program of the user takes turns as well" "own      30 runs,  2 min: Other \
programs" sh -c "'$top/contrib/evaluate.sh' --list --program a=b | head -n 1"

# The advice of reports: of three programs one is as promised, one has more memory and
# takes longer, and of one the advice is not the best
mkdir "$work/advice"
cat > "$work/advice/advice" <<'ADVICE'
good promised 0 0.50 1.005 BUDGET=1
good stock 1 100 1.00
good stock 2 100 1.01
good stock 3 100 1.02
good advised 1 60 1.01
good on-demand 1 10 1.20
good budget-1 1 61 1.01
good budget-5 1 40 1.05
good budget-inf 1 20 1.30
wrong promised 0 0.20 1.000 BUDGET=2
wrong stock 1 100 1.00
wrong advised 1 36 1.03
wrong on-demand 1 90 1.00
wrong budget-1 1 90 1.00
wrong budget-5 1 90 1.00
wrong budget-inf 1 90 1.00
poor promised 0 0.90 1.000 bound of 8 MiB
poor stock 1 100 1.00
poor advised 1 90 1.00
poor on-demand 1 20 1.00
poor budget-1 1 90 1.00
poor budget-5 1 90 1.00
poor budget-inf 1 90 1.00
ADVICE
same "marks of the advice" "good |  |
wrong | memory, time |
poor | advice |

1 of 3 programs are within all marks." \
    sh -c "'$top/contrib/lib/advice.sh' --table '$work/advice' | tail -n 5 |
        sed 's/^| \([a-z]*\) .*| \([a-z, ]*\) |\$/\1 | \2 |/'"
"$top/contrib/lib/advice.sh" --check "$work/advice" 0.2 || fail "an error of 0.16 is refused"
! "$top/contrib/lib/advice.sh" --check "$work/advice" 0.15 || fail "an error of 0.16 passes"
[ "$("$top/contrib/lib/advice.sh" --draw 12 | sort -u | wc -l)" -eq 12 ] ||
    fail "a draw has a program twice"

# What demo.sh does where one of the rigs, or both, cannot be had: scripts of a
# tree in which runs only seem to be some
tree=$work/tree
mkdir -p "$tree/test/rig" "$tree/bin"
cp -r "$top/contrib" "$tree"
touch -d 2000-01-01 "$tree/configure"
cat > "$tree/test/rig/run.sh" <<'FAKE'
#!/bin/bash
rig=verbs
while [ "$1" != -- ]; do
    case $1 in
    --cma) rig=cma ;;
    --out) out=$2 ;;
    esac
    shift
done
[[ $RIGS = *$rig* ]] || exit 77
for run in "$@"; do
    [[ $run != *:* ]] || echo "${run%:*} ${run#*:} 1 2.5" >> "$out/runs"
done
FAKE
# Nothing is missing, so that nothing gets installed for a test
cat > "$tree/bin/dpkg-query" <<'FAKE'
#!/bin/bash
printf 'install ok installed %s\n' "${@:4}"
FAKE
printf '#!/bin/sh\necho linux-image-amd64\n' > "$tree/bin/apt-cache"
chmod +x "$tree/test/rig/run.sh" "$tree/bin"/*

# demo STATUS RIGS PATTERN...: with these rigs; what is said or written has these
# patterns, or, if they begin with !, does not
demo()
{
    local expected=$1 offered=$2 status=0 output pattern
    shift 2
    rm -rf "$work/demo"
    output=$(PATH=$tree/bin:$PATH RIGS=$offered PREDREG_BUILD=$build \
        "$tree/contrib/demo.sh" --out "$work/demo" 2>&1) || status=$?
    echo "== demo.sh with $offered"
    echo "$output"
    [ $status -eq "$expected" ] || fail "demo.sh with $offered: status $status"
    for pattern in "$@"; do
        if [[ $pattern = !* ]]; then
            ! grep -qE "${pattern#!}" <<< "$output" ||
                fail "demo.sh with $offered: ${pattern#!}"
        else
            grep -qE "$pattern" <<< "$output" ||
                fail "demo.sh with $offered: no '$pattern'"
        fi
    done
}

if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
    demo 0 "cma verbs" '^Native rig, an adapter' 'hpcc .* 2\.500 ' \
        '^Soft-RoCE in an emulated' '^. fig1-reuse-2 . predict' '!^. hpcc-2 .'
    demo 0 cma '^Native rig' 'nothing of verbs: no RDMA' '!^Soft-RoCE'
    demo 0 verbs 'no times: they need the native' '^. hpcc-2 . predict . 1 .' \
        '!^Native rig' '!2\.500'
    demo 77 neither 'no times: they need' 'nothing of verbs'
    grep -q . "$work/demo/table.md" 2>/dev/null && fail "a table of nothing"
fi

exit $errors
