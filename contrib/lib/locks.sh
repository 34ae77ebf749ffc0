#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Checks that all locks are in the list of docs/design/locks.md. Prints a line that
# begins with
#   lock:  for each use of a lock without a rank, or of a way to wait that does not know
#          of real-time classes (see src/ucs/base/mutex.h and wait.h),
#   rank:  where the list and src/ucs/base/mutex.h differ, and a rank that no lock has.
#
# usage: locks.sh SOURCES LIST
#   SOURCES  folder of the sources (src)
#   LIST     docs/design/locks.md
# exit status: 0; 1 if there is something to print; 2 if it cannot be checked

set -eu
export LC_ALL=C

[ $# -eq 2 ] || { echo "usage: $0 SOURCES LIST" >&2; exit 2; }
list=$(realpath "$2")
cd "$1"
ranks=$(sed -n 's/^ *_rank(\([A-Z_]*\)).*/\1/p' ucs/base/mutex.h)
[ -n "$ranks" ] || { echo "$0: no ranks in $1/ucs/base/mutex.h" >&2; exit 2; }

# The lock of UCM is none of ours. A condition waits with its mutex: ucs_mutex_wait()
without='pthread_(mutex|spin|rwlock)_[a-z]+ *\(|pthread_(mutex|spinlock|rwlock)_t'
without+='|PTHREAD_(MUTEX|RWLOCK)_[A-Z_]*INIT|pthread_cond_(timed)?wait *\('
without+='|ucs_(recursive_)?spin(lock)?_[a-z_]+|sched_yield *\('
{
    grep -rnE "$without" --include='*.[ch]' . |
        grep -vE -e '^\./ucs/base/(mutex|wait)\.[ch]:' \
            -e '^\./[a-z/]*/compat/ucm_lock\.c:' \
            -e '^[^:]*:[0-9]*: *(\*|/\*)' |
        sed 's/^\.\//lock: /' || true
    for rank in $ranks; do
        grep -rqw --include='*.[ch]' "UCS_RANK_$rank" . ||
            echo "rank: no lock has UCS_RANK_$rank"
    done
    diff <(echo "$ranks") <(sed -n 's/^| `\([A-Z_]*\)` |.*/\1/p' "$list") |
        sed -n 's/^< /rank: only in mutex.h, or elsewhere there: /p
                s/^> /rank: only in the list, or elsewhere there: /p'
} | { ! grep .; }
