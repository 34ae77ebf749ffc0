#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# contrib/lib/locks.sh says nothing of locks that are all in the list, and names a lock
# without a rank, a rank without a row, and a rank that no lock has.
#
# usage: locks.sh

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-locks-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p src/ucs/base src/uct/compat
printf '#define UCS_RANKS(_rank) \\\n    _rank(CORE) \\\n    _rank(CACHE)\n' \
    > src/ucs/base/mutex.h
printf '| rank | lock |\n|---|---|\n| `CORE` | a |\n| `CACHE` | b |\n' > list

# expect STATUS [LINE]...
expect()
{
    local status=0
    "$top/contrib/lib/locks.sh" src list > output || status=$?
    [ $status -eq "$1" ] || { cat output; exit 1; }
    shift
    diff output <([ $# -eq 0 ] || printf '%s\n' "$@")
}

# What has a rank, what is allowed, and a comment
cat > src/uct/good.c <<'C'
/* As pthread_mutex_lock() does
 * with sched_yield() */
static ucs_mutex_t lock  = UCS_MUTEX_INITIALIZER(UCS_RANK_CORE);
static ucs_mutex_t other = UCS_MUTEX_INITIALIZER(UCS_RANK_CACHE);
void f(void) { ucs_mutex_lock(&lock); pthread_cond_broadcast(&cond); }
C
echo 'pthread_mutex_t mutex;' >> src/ucs/base/mutex.h
echo 'pthread_rwlock_init(found, NULL);' > src/uct/compat/ucm_lock.c
expect 0

for line in 'static pthread_mutex_t lock;' 'pthread_spin_lock(&lock);' \
            'pthread_cond_wait(&cond, &lock);' 'ucs_spin_lock(&lock);' \
            'lock = PTHREAD_MUTEX_INITIALIZER;' '    sched_yield();'; do
    echo "$line" > src/uct/bad.c
    expect 1 "lock: uct/bad.c:1:$line"
done
rm src/uct/bad.c

# A rank without a lock
sed -i '/other/d' src/uct/good.c
expect 1 "rank: no lock has UCS_RANK_CACHE"
echo 'ucs_mutex_init(&cache, UCS_RANK_CACHE, 0);' >> src/uct/good.c

# Another order, and a rank without a row
printf '| `CACHE` | b |\n| `CORE` | a |\n' > list
expect 1 "rank: only in mutex.h, or elsewhere there: CORE" \
    "rank: only in the list, or elsewhere there: CORE"
printf '| `CORE` | a |\n' > list
expect 1 "rank: only in mutex.h, or elsewhere there: CACHE"
