#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# ucx_predreg explain names the entry of docs/errors.md that fits what a job has printed.
# All words of the page are found, each by the entry that has them; the page's commands have
# only knobs, options and variables that there are.
#
# usage: explain.sh BUILD-FOLDER

set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
command=$build/src/tools/predreg/ucx_predreg
page=$top/docs/errors.md
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-explain.XXXXXX")
trap 'rm -rf "$work"' EXIT
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# named ENTRY [PATTERN]: what is read is explained by this entry, "none" for none, and what is
# printed has the pattern
named()
{
    local name status=0
    "$command" explain - > "$work/said" 2>&1 || status=$?
    name=$(sed -n '1s/:.*//p' "$work/said")
    [ $status -ne 1 ] || name=none
    [ "$name" = "$1" ] || fail "$name instead of $1: $(head -n 2 "$work/said")"
    [ $# -lt 2 ] || grep -qE -e "$2" "$work/said" || fail "$1: no '$2': $(cat "$work/said")"
}

# Of each line of words its entry, a tab, and a line that has the words
awk '
    /^## / { entry = "" }
    /^### / { entry = $2; sub(/:$/, "", entry); words = 1; next }
    entry != "" && /^    / {
        if (words > 0) {
            words = 2
            sub(/^ +/, "")
            gsub(/ \.\.\. /, "(x=0x17 y) ")
            gsub(/#/, "17")
            print entry "\t[1613401128.44] [node:1:0] any.c:1 " $0
        }
        next
    }
    words == 2 && !/^$/ { words = 0 }' "$page" > "$work/words"
num=$(wc -l < "$work/words")
[ "$num" -gt 150 ] || fail "only $num lines of words are in $page"
while IFS=$'\t' read -r entry line; do
    named "$entry" < <(echo "$line")
done < "$work/words"

# Each entry has words, text and a command
awk '
    function check() { if (entry != "" && (blocks < 2 || text == 0)) print entry }
    /^##/ { check(); entry = "" }
    /^### / { entry = $2; blocks = text = 0; last = "" }
    entry != "" {
        if (/^    / && last == "") ++blocks
        if (/^[A-Za-z*`]/) ++text
        last = $0
    }
    END { check() }' "$page" > "$work/bad"
[ ! -s "$work/bad" ] || fail "entries without text or command: $(xargs < "$work/bad")"

# Knobs, policies and variables of the page's commands
grep -ohE -- '--set [A-Z_]+=[a-z0-9]+' "$page" | sort -u > "$work/sets"
while read -r set; do
    # shellcheck disable=SC2086
    "$command" run $set -- true || fail "$page: $set"
done < "$work/sets"
LD_PRELOAD=$build/src/uct/ib/predreg/.libs/libuct_predreg.so ucx_info -cf |
    sed -n 's/^\(UCX_[A-Z0-9_]*\)=.*/\1/p' > "$work/variables"
# From UCX 1.16 on
echo UCX_RCACHE_MAX_REGIONS >> "$work/variables"
for variable in $(grep -ohE '\bUCX_[A-Z0-9_]+' "$page" | sort -u); do
    grep -qx "$variable" "$work/variables" || fail "$page: $variable is no variable of UCX"
done

# The first error is named first, whatever its place on the page; others follow
named network 'registration: the system' <<'OUTPUT'
step 17 of 100
[n1:31180:0:31180] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)
[1613401128.4] [n2:11838:0] ib_md.c:325 UCX ERROR ibv_reg_mr(address=0xabc, length=26, access=0xf) failed: Cannot allocate memory
OUTPUT
named registration '^  line 3: ' <<'OUTPUT'
[n1:17] pml_ucx.c:860  Error: ucx send failed: Input/output error
MPI_ERR_INTERN: internal error
[1613401128.4] [n2:11838:0] ib_md.c:325 UCX ERROR ibv_reg_mr(address=0xabc, length=26, access=0xf) failed: Cannot allocate memory
OUTPUT

# On the same line the more special entry counts
named memlock <<'OUTPUT'
UCX  ERROR ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Cannot allocate memory. Please set max locked memory (ulimit -l) to 'unlimited' (current: 8192 kbytes)
OUTPUT
named keys <<'OUTPUT'
UCX  ERROR ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Resource temporarily unavailable
OUTPUT
named address <<'OUTPUT'
UCX  ERROR ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Bad address
UCX  ERROR failed to register address 0x1 (cuda) length 2 on md[7]=mlx5_0: Input/output error
OUTPUT
named verbs < <(echo 'ibv_reg_mr() failed: Invalid argument')

# Words broken into two lines, between words and inside of one; spaces and letters that differ
named registration '^  line 3: ' <<'OUTPUT'
[1613401128.4] [n2:11838:0] ib_md.c:325  UCX  ERROR
ibv_reg_mr(address=0xabc, length=26, access=0xf) failed: Cannot
allocate memory
OUTPUT
named pools < <(printf 'address.c:1733 UCX  ERROR f\nailed to allocate address list\n')
named keys < <(printf '[1,0]<stderr>:CREATE_MKEY(0x200) op_mod(0x0) failed,\tstatus  LIMITS exceeded(0x8)\r\n')

# Parts of two errors are not one
named none < <(printf 'CREATE_MKEY %0400d limits exceeded\n' 0)
named none < <(printf 'CREATE_MKEY done\nstep 1\nlimits exceeded\n')

# What UCX only tells in passing does not count, nor does it join with the next line
named none <<'OUTPUT'
[1681107537.4] [n:1:0] rc_mlx5.c:735  UCX  DEBUG ibv_create_cq(cqe=4096) failed: Cannot allocate memory
[1681107537.4] [n:1:0] uct_mem.c:221  UCX  TRACE failed to allocate 19033456 bytes from hugetlb: Out of memory
OUTPUT
named killed < <(printf 'UCX  DEBUG x\nOut of memory: Killed process 17 (app)\n')

named none <<'OUTPUT'
[1681107537.4] [n:1:0] ib_md.c:325  UCX  DIAG  ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Cannot allocate memory
[1681107537.4] [n:1:0] ib_md.c:325  UCX  INFO  ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Cannot allocate memory
OUTPUT

# Warnings count where there is no error, wherever the two are
named gpu-memory <<'OUTPUT'
n1:17:17 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.4.0
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
OUTPUT
unavailable="UCX  WARN  transport 'ib' is not available, please use one or more of: self, tcp"
named registration 'consequences' <<OUTPUT
$unavailable
UCX  ERROR ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Cannot allocate memory
OUTPUT
named killed < <(printf '%s\nOut of memory: Killed process 17 (app)\n' "$unavailable")
named killed < <(printf 'Out of memory: Killed process 17 (app)\n%s\n' "$unavailable")
named transport '^  line 2: ' <<OUTPUT
$unavailable
ucp_ep_create failed: Destination is unreachable
OUTPUT
[ "$(grep -c '^transport: ' "$work/said")" -eq 1 ] || fail "an entry is named twice"
named transport < <(echo "$unavailable")
named libfabric < <(echo 'n1:17:17 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.4.0')
named nccl < <(echo 'n1:17:17 [0] NCCL WARN Call to ibv_reg_mr failed')

# A GPU lacks memory, or a node
named gpu-memory < <(echo "n1:17:17 [0] enqueue.cc:1 NCCL WARN Cuda failure 'out of memory'")
named gpu-memory < <(echo "n1:17:17 [0] enqueue.cc:1 NCCL WARN Cuda failure 2 'out of memory'")
named gpu-memory <<'OUTPUT'
MemoryError: std::bad_alloc: CUDA error at: /include/rmm/mr/device.hpp:70: cudaErrorMemoryAllocation out of memory
OUTPUT
named gpu-memory < <(echo 'MemoryError: std::bad_alloc: CUDA error at: a.hpp:70')
named gpu-memory < <(echo 'HIP error 2 in a.cpp: std::bad_alloc')
named gpu-memory < <(echo 'ray::train() RuntimeError: CUDA error: out of memory')
named gpu-memory <<'OUTPUT'
(raylet) task train() failed
ray::train() RuntimeError: CUDA error: out of memory
OUTPUT
named gpu-memory <<'OUTPUT'
srun: error: n1: task 3: RuntimeError: CUDA error: out of memory
OUTPUT
named killed < <(echo 'srun: error: n1: task 3: Out Of Memory')
named killed < <(echo 'srun: error: n1: tasks 0-3,7: Out Of Memory')
named killed < <(printf 'CUDA error handler is set\nwhat(): std::bad_alloc\n')
named memory < <(printf 'task 3 starts\nOut of memory\n')
named memory < <(echo 'task 3: solver: Out of memory')

# A network that ends on the node
named transport '172\.17' <<'OUTPUT'
[1613401128.4] [n2:11838:0] sock.c:325 UCX  ERROR connect(fd=51, dest_addr=172.17.0.1:40637) failed: Connection refused
[n2:11838] pml_ucx.c:424  Error: ucp_ep_create failed: Destination is unreachable
OUTPUT
named transport '-x UCX_NET_DEVICES=' <<'OUTPUT'
connect(...) failed: Connection refused
ucp_ep_create failed: Destination is unreachable
OUTPUT

# Words of completions in another sense
for line in 'Local length scale = 3.2 m' 'Max retry exceeded with url: /simple' \
            'x86/pkeys: Memory Protection Keys' 'Remote access on port 22' \
            'Local protection of the coast' 'Remote operation on table 4'; do
    named none < <(echo "$line")
done
for line in 'local length error' 'transport retry counter exceeded' \
            'Local length on mlx5_0:1/IB (synd 0x1 vend 0xd6 hw_synd 0/0)'; do
    named network < <(echo "$line")
done
for line in 'remote access error' 'local protection error' \
            'Remote access on mlx5_0:1/RoCE (synd 0x13 vend 0x88 hw_synd 0/0)'; do
    named protection < <(echo "$line")
done

# Variables arrive at the ranks of other nodes
! grep -nE '^    (export UCX|([A-Z_]+=[^ ]+ )+(mpirun|\./app))' "$page" ||
    fail "$page: a variable that Open MPI does not hand on"

# Vague words count where nothing else does
named mpi < <(echo 'MPI_ERR_INTERN: internal error')
named none < <(printf 'step 1\nall is well\n')
named none < /dev/null

# Junk, long lines, and much of both, in little memory
error='UCX ERROR ibv_reg_mr(address=0x1, length=2, access=0xf) failed: Cannot allocate memory'
for before in 100 3990 4090 4190 4290 8300; do
    named registration '^  line 2: ' < <(
        printf 'a\n%0*d %s' "$before" 0 "$error"; head -c 5000 /dev/zero)
done
named registration < <(head -c 1000000 /dev/urandom | tr -d '\n'; printf '\n%s\n' "$error")
(ulimit -v 100000
 named registration '^  line 2000001: ' < <(yes 'step 17 energy -1.5' | head -n 2000000
                                            echo "$error")
 exit $errors) || errors=1
! grep -q '[^[:print:][:space:]]' "$work/said" || fail "junk is printed"

# refused STATUS PATTERN ARGUMENT...
refused()
{
    local expected=$1 pattern=$2 output status=0
    shift 2
    output=$("$command" explain "$@" 2>&1 < /dev/null) || status=$?
    [ "$status" -eq "$expected" ] || fail "explain $*: status $status, not $expected"
    echo "$output" | grep -qE "$pattern" || fail "explain $*: no '$pattern': $output"
}

refused 2 "'/nowhere/at/all': No such file.*accepted: a file, or -" /nowhere/at/all
refused 2 "'$work': Is a directory.*accepted: a file" "$work"
refused 2 '0 arguments; accepted: one file'
refused 2 '2 arguments; accepted: one file' - -
refused 2 'explain --help lists' --json
refused 0 '^usage: ucx_predreg explain FILE' --help
! "$command" explain --help | grep -E '.{81}' || fail "a line of the help is too long"
refused 1 'No entry of docs/errors.md fits' -
echo "$error" > "$work/out"
"$command" explain "$work/out" > /dev/full 2> /dev/null
[ $? -eq 1 ] || fail "a full disk was not noticed"

exit $errors
