#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# contrib/lib/ucx-abi.sh says nothing of programs and sources that use of UCX only
# what is in the list, and names what is not.
#
# usage: ucx-abi.sh
# needs a compiler, in CC or called cc, and readelf

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-ucx-abi-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/ucx" "$work/good/core" "$work/good/compat" "$work/good/ucs"
cd "$work"
cc=(${CC:-cc})

# What plays the part of libucs, and its headers
cat > ucx/ucx.c <<'C'
int ucs_number = 3;
int ucs_good(void) { return 1; }
int ucs_bad(void) { return 2; }
C
"${cc[@]}" -shared -fPIC -o ucx/libucs.so ucx/ucx.c

cat > list <<'LIST'
# comment
symbol ucs_good the same
symbol ucs_number the same

header ucs/good.h the same
compat ucs/parser.h the layout changed
never UCS_ON(STACK|HEAP) it writes down a layout
LIST

cat > good/core/core.c <<'C'
#include <ucs/good.h>
#include <ucs/own.h>
/* UCS_ONSTACK would not do, and
 * UCS_ONHEAP neither */
extern int ucs_number;
int ucs_good(void);
int core(void) { return ucs_good() + ucs_number; }
C
printf '#include <ucs/parser.h>\n' > good/compat/config.h
touch good/ucs/own.h

# build: a library, a program and what libtool leaves beside it
build()
{
    rm -rf build
    mkdir -p build/.libs
    "${cc[@]}" -shared -fPIC -Istubs -o build/.libs/libcore.so src/core/core.c \
        -Lucx -lucs
    printf 'int main(void) { return 0; }\n' |
        "${cc[@]}" -x c -o build/program -
    printf '#!/bin/sh\n' > build/wrapper
    chmod +x build/wrapper
}

# expect STATUS LINE...: exactly these lines
expect()
{
    local status=0 expected=$1
    shift
    "$top/contrib/lib/ucx-abi.sh" src build list > found 2> message || status=$?
    printf '%s' "${@/%/$'\n'}" > expected
    diff expected found && [ "$status" -eq "$expected" ] || {
        echo "exit status $status instead of $expected, or other lines (above):"
        cat message
        exit 1
    }
}

for header in good own parser other; do
    mkdir -p stubs/ucs
    touch "stubs/ucs/$header.h"
done

fresh()
{
    rm -rf src
    cp -r good src
}

fresh
build
expect 0

# A function that is not in the list, and one of it that nobody uses
sed -i 's/ucs_good/ucs_bad/' src/core/core.c
build
expect 1 "symbol: .libs/libcore.so imports ucs_bad" "unused: symbol ucs_good"

# A program with a variable of its own instead of UCX's
fresh
build
cat > program.c <<'C'
extern int ucs_number;
int main(void) { return ucs_number; }
C
"${cc[@]}" -fno-pie -no-pie -o build/program program.c -Lucx -lucs
if readelf -Wr build/program | grep -q _COPY; then
    expect 1 "copy: program has a copy of ucs_number"
else
    echo "programs have no copies of variables of libraries here"
fi

# Headers that are not in the list, are for another folder, or unused
fresh
build
sed -i 's|ucs/good.h|ucs/other.h|' src/core/core.c
printf '#include <ucs/parser.h>\n' >> src/core/core.c
expect 1 \
    "header: core/core.c includes ucs/other.h" \
    "header: core/core.c includes ucs/parser.h, which is for compat" \
    "unused: header ucs/good.h"

cp list list.good
printf 'also ucs/parser.h core/core.c for a type\n' >> list
expect 1 \
    "header: core/core.c includes ucs/other.h" \
    "unused: header ucs/good.h"
cp list.good list

# A name that may not be used
fresh
printf 'int UCS_ONHEAP;\n' >> src/core/core.c
expect 1 "never: core/core.c:8 uses UCS_ON(STACK|HEAP): it writes down a layout"

# Lists that say too little, or something twice, and nothing that was built
fresh
printf 'symbol ucs_more\n' >> list
expect 2
grep -q 'no reason for symbol ucs_more in the list' message
{ cat list.good; printf 'symbols ucs_more the same\n'; } > list
expect 2
grep -q 'unknown kind "symbols" in the list; accepted: symbol' message
{ cat list.good; printf 'symbol ucs_good the same\n'; } > list
expect 2
grep -q 'ucs_good is twice in the list' message
cp list.good list
rm -rf build
mkdir build
expect 2
grep -q 'no programs and libraries' message
