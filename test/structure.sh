#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# contrib/lib/structure.sh says nothing of sources whose uses go one way, and
# names the files and the symbol of a use that does not.
#
# usage: structure.sh
# needs a compiler, in CC or called cc

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-structure-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/low" "$work/src/high" "$work/build/low/.libs" \
    "$work/build/high"
cd "$work"

printf '# lowest first\nlow\nhigh\n' > order
printf '# none\n' > circles

# All is well: high calls low, and one file of high another
cat > src/low/store.h <<'C'
extern int store_limit;
int store(int x);
C
cat > src/low/store.c <<'C'
#include "store.h"
int store_limit = 3;
int store(int x) { return (x < store_limit) ? x : store_limit; }
C
cat > src/high/show.h <<'C'
int show(int x);
C
cat > src/high/show.c <<'C'
#include "show.h"
#include <low/store.h>
int show(int x) { return store(x); }
C
cat > src/high/start.c <<'C'
#include "show.h"
int start(void) { return show(1); }
C

# build: objects are named as libtool and automake do, and one is left over
build()
{
    local cc=(${CC:-cc} -Isrc -c)
    "${cc[@]}" -o build/low/.libs/liblow_la-store.o src/low/store.c
    "${cc[@]}" -o build/high/show.o src/high/show.c
    "${cc[@]}" -o build/high/prog-start.o src/high/start.c
    cp build/high/prog-start.o build/low/gone.o
}

# expect STATUS LINE...: exactly these lines
expect()
{
    local status=0 expected=$1
    shift
    build
    "$top/contrib/lib/structure.sh" src build order circles > found || status=$?
    printf '%s' "${@/%/$'\n'}" > expected
    diff expected found && [ "$status" -eq "$expected" ] || {
        echo "exit status $status instead of $expected, or other lines (above)"
        exit 1
    }
}

expect 0

# A function, a variable and a header of a folder above
cp -r src good
cat > src/low/store.c <<'C'
#include "store.h"
#include <high/show.h>
int store_limit = 3;
int store(int x) { return show(x); }
C
expect 1 \
    "upward: low/store.c uses high/show.c: show" \
    "upward: low/store.c uses high/show.h: #include" \
    "circle: high/show.c uses low/store.c, which leads back to it: store" \
    "circle: low/store.c uses high/show.c, which leads back to it: show"

# A circle within a folder, round a corner
rm -r src && cp -r good src
cat > src/high/show.c <<'C'
#include "show.h"
#include "more.h"
int show(int x) { return more(x); }
C
cat > src/high/more.h <<'C'
#include "show.h"
int more(int x);
C
cat > src/high/more.c <<'C'
int start(void);
int more(int x) { return x + start(); }
C
build_high_more() { ${CC:-cc} -Isrc -c -o build/high/more.o src/high/more.c; }
build_high_more
expect 1 \
    "circle: high/more.c uses high/start.c, which leads back to it: start" \
    "circle: high/show.c uses high/more.c, which leads back to it: more" \
    "circle: high/start.c uses high/show.c, which leads back to it: show"

# A circle through an inline function, which no object has a symbol of: of a header with
# a .c file, and of one without. What comments and strings have is not called
rm -r src && cp -r good src
cat > src/high/more.h <<'C'
int start(void);
static inline int
more(int x)
{
    return x + start(); /* show(1) */
}
C
cat > src/high/show.c <<'C'
#include "show.h"
#include "more.h"
int show(int x) { return (x > 0) ? more(x) : 0; } /* less(x) */
const char *text(void) { return "start()"; }
C
rm -f build/high/more.o
expect 1 \
    "circle: high/more.h uses high/start.c, which leads back to it: start" \
    "circle: high/show.c uses high/more.h, which leads back to it: more" \
    "circle: high/show.c uses high/start.c, which leads back to it: start" \
    "circle: high/start.c uses high/show.c, which leads back to it: show"
printf 'high/more.h high/show.c high/start.c\n' > circles
expect 0
printf 'high/show.c high/start.c\n' > circles
expect 1 \
    "circle: high/more.h uses high/start.c, which leads back to it: start" \
    "circle: high/show.c uses high/more.h, which leads back to it: more" \
    "circle: high/show.c uses high/start.c, which leads back to it: start" \
    "circle: high/start.c uses high/show.c, which leads back to it: show" \
    "straight: no such circle any more: high/show.c high/start.c"
touch src/high/more.c
printf 'high/more.c high/show.c high/start.c\n' > circles
expect 0
printf '# none\n' > circles

# Headers that include each other
rm -r src && cp -r good src
printf '#include "more.h"\n' >> src/high/show.h
printf '#pragma once\n#include "show.h"\n' > src/high/more.h
expect 1 \
    "circle: high/more.h uses high/show.h, which leads back to it: #include" \
    "circle: high/show.h uses high/more.h, which leads back to it: #include"

# A folder that may use one header only of what is below it
rm -r src && cp -r good src
printf 'low\nhigh  only low/store.h\n' > order
expect 1 "upward: high/show.c uses low/store.c: store"

# A folder without a place, and one with too many files
printf 'low\n' > order
for ((i = 0; i < 15; ++i)); do
    touch "src/low/file$i.c" "src/low/file$i.h"
done
expect 1 \
    "folder: high is not in $work/order" \
    "folder: low has 16 modules; accepted: up to 15"

# Nothing was built
rm -r build
mkdir build
"$top/contrib/lib/structure.sh" src build order 2> message && exit 1
grep -q 'no object files' message
