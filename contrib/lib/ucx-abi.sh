#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Checks that what was built works beside every version of UCX that a process may
# have, whichever it was built with: all that it uses of UCX's libraries by name,
# and all headers of UCX that the sources include, must be in a list that says why
# they are the same in all versions. Prints a line that begins with
#   symbol:  for each function or variable of UCX that a program or library
#            imports and that is not in the list,
#   copy:    for each variable of UCX that a program has a copy of: its size is
#            that of the UCX of the build,
#   header:  for each #include of a header of UCX that is not in the list, or that
#            is for a folder which the source is not in,
#   never:   for each use of a name that the list forbids, and why it does,
#   unused:  for each symbol and header of the list that nobody uses.
#
# usage: ucx-abi.sh SOURCES OBJECTS LIST
#   SOURCES  folder of the sources (src)
#   OBJECTS  the folder they were built in (build/src)
#   LIST     see ucx-abi.txt
# exit status: 0; 1 if there is something to print; 2 if it cannot be checked

set -eu
export LC_ALL=C

[ $# -eq 3 ] || { echo "usage: $0 SOURCES OBJECTS LIST" >&2; exit 2; }
sources=$(cd "$1" && pwd)
objects=$(cd "$2" && pwd)
list=$(realpath "$3")
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-ucx-abi.XXXXXX")
trap 'rm -rf "$work"' EXIT

# What the names of UCX's functions and variables begin with. Our own that begin
# so are not imported.
ours='^(ucm|ucp|ucs|uct)_'

# The list, without comments: KIND NAME REASON
grep -vE '^[ \t]*(#|$)' "$list" > "$work/list" || true
awk '
    $1 !~ /^(symbol|header|compat|also|never)$/ {
        print "unknown kind \"" $1 "\" in the list; accepted: " \
              "symbol header compat also never"
    }
    NF < 3 + ($1 == "also") {
        print "no reason for " $1 " " $2 " in the list"
    }
    ($1 != "also") && seen[$2]++ {
        print $2 " is twice in the list"
    }' "$work/list" > "$work/bad"
[ ! -s "$work/bad" ] || { cat "$work/bad" >&2; exit 2; }

# of KIND...: their names
of()
{
    local kind
    for kind in "$@"; do
        awk -v kind="$kind" '$1 == kind { print $2 }' "$work/list"
    done | sort
}

# Programs and libraries. Libtool keeps programs of a similar name to run them
# before they are installed, and scripts that do so.
cd "$objects"
find . -type f \( -name '*.so' -o -perm -u+x \) ! -path '*/.libs/lt-*' \
    -printf '%P\n' | sort |
while read -r file; do
    ! readelf -d "$file" 2> /dev/null | grep -q NEEDED || echo "$file"
done > "$work/built"
[ -s "$work/built" ] || {
    echo "$0: no programs and libraries in $objects" >&2
    exit 2
}

check_built()
{
    local file name
    : > "$work/imports"
    while read -r file; do
        nm -D --undefined-only "$file" | awk '{ print $NF }' |
            sed 's/@.*//' | { grep -E "$ours" || true; } |
            sort -u > "$work/undefined"
        cat "$work/undefined" >> "$work/imports"
        comm -23 "$work/undefined" <(of symbol) |
            sed "s|.*|symbol: $file imports &|"
        readelf -Wr "$file" | awk '$3 ~ /_COPY$/ { print $5 }' |
            sed 's/@.*//' | { grep -E "$ours" || true; } |
            sed "s|.*|copy: $file has a copy of &|"
    done < "$work/built"
    comm -13 <(sort -u "$work/imports") <(of symbol) |
        sed 's|^|unused: symbol |'
}

# Headers of UCX that are included, as FILE HEADER
find_headers()
{
    grep -rE --include='*.[ch]' \
        '^[ \t]*#[ \t]*include[ \t]*<(ucm|ucp|ucs|uct)/' . |
        sed -E 's|^\./([^:]*):.*<([^>]*)>.*|\1 \2|' |
        while read -r file header; do
            [ -e "$header" ] || echo "$file $header"
        done
}

check_sources()
{
    local file header name reason
    cd "$sources"
    find_headers > "$work/includes"
    of header > "$work/anywhere"
    of compat > "$work/compat"
    while read -r file header; do
        if grep -qxF "$header" "$work/compat"; then
            [[ /$file = */compat/* ]] ||
                grep -q "^also $header $file " "$work/list" ||
                echo "header: $file includes $header, which is for compat"
        elif ! grep -qxF "$header" "$work/anywhere"; then
            echo "header: $file includes $header"
        fi
    done < "$work/includes"
    comm -13 <(cut -d ' ' -f 2 "$work/includes" | sort -u) \
        <(of header compat | sort) | sed 's|^|unused: header |'

    # Comments may speak of it
    while read -r _ name reason; do
        grep -rnwE --include='*.[ch]' "$name" . |
            { grep -vE '^[^:]*:[0-9]*:[ \t]*(/?\*|//)' || true; } |
            sed -E "s|^\./([^:]*):([0-9]*):.*|\1:\2|" |
            while read -r file; do
                echo "never: $file uses $name: $reason"
            done
    done < <(grep '^never' "$work/list" || true)
}

{
    check_built
    check_sources
} > "$work/found"
cat "$work/found"
[ ! -s "$work/found" ]
