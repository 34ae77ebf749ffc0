#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Each function that libucp_firehose.so exports has a manual page that man finds, and
# each page is that of a function. Prototypes there are those of the header, as the
# compiler sees them, and all that the header says of a function, the errors that it
# returns for one, is in its page. Each page shows how it is used, in code of the
# installed example. man has no complaints about them.
#
# usage: manual.sh ROOT
#   ROOT  what `make install DESTDIR=ROOT` has left

set -eu
export LC_ALL=C MANWIDTH=1000
root=$1
library=$(find "$root" -name libucp_firehose.so)
header=$(find "$root" -path '*/ucp/firehose/firehose.h')
example=$(find "$root" -path '*/examples/firehose.c')
manual=$(dirname "$(find "$root" -type d -name man3)")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# show NAME: the page as text, without hyphens of its own; sets $text
show()
{
    text=$work/$1.txt
    man -M "$manual" --no-hyphenation --no-justification --warnings=w 3 "$1" \
        > "$work/page" 2> "$work/warnings" || fail "man 3 $1"
    col -bx < "$work/page" > "$text"
    [ ! -s "$work/warnings" ] || fail "man 3 $1: $(cat "$work/warnings")"
}

# section NAME FILE: the lines of a section
section()
{
    sed -n "/^$1\$/,/^[A-Z]/{/^[A-Z]/d; p}" "$2"
}

# What the header says of each function: a line with its name and all words of its
# comment. Between a function and the next one there is an empty line; without a
# comment, that of the function before is meant
awk -v RS= '
    {
        n = split($0, lines, "\n")
        comment = name = ""
        for (i = 1; i <= n; ++i) {
            if (lines[i] ~ /^(\/\*\*| \*)/) {
                comment = comment " " lines[i]
            } else if (match(lines[i], /ucp_fh_[a-z_]+\(/)) {
                if (name == "") {
                    name = substr(lines[i], RSTART, RLENGTH - 1)
                }
            }
        }
        if (name == "" || $0 !~ /\);$/ || $0 ~ /typedef/) next
        gsub(/@(param|return|a|ref) /, " ", comment)
        gsub(/\[(in|out)\]/, " ", comment)
        gsub(/[^A-Za-z0-9_]+/, " ", comment)
        if (comment == "") comment = before
        before = comment
        print name, comment
    }' "$header" > "$work/said"

compile()
{
    # shellcheck disable=SC2046 # options
    "${CC:-cc}" -std=gnu99 -Werror -fsyntax-only -I"${header%/ucp/firehose/*}" \
        $(pkg-config --cflags ucx) -x c "$1"
}

nm -D --defined-only "$library" | awk '{ print $3 }' | sort > "$work/exported"
cut -d ' ' -f 1 "$work/said" | sort | diff "$work/exported" - ||
    fail "the library exports other functions (<) than the header has (>)"
(cd "$manual/man3" && printf '%s\n' *.3) | sed 's/\.3$//' |
    diff "$work/exported" - ||
    fail "functions (<) are other ones than have a manual page (>)"

while read -r name words; do
    show "$name"
    section NAME "$text" | grep -qw "$name" ||
        fail "$name is not in the line NAME of its page"
    section SYNOPSIS "$text" | grep -v '^ *Compile and link' > "$work/proto.c"
    grep -qE "(^|[ *])$name\(" "$work/proto.c" ||
        fail "$name: no prototype in the manual page"
    compile "$work/proto.c" || fail "$name: prototypes in the manual page"
    section EXAMPLES "$text" > "$work/examples"
    calls=$(section NAME "$text" | grep -oE 'ucp_fh_[a-z_]+')
    grep -qFf <(sed 's/$/(/' <<< "$calls") "$work/examples" ||
        fail "$name: EXAMPLES of its page call no function of the page"
    grep -qF "${example#"$root"}" "$work/examples" ||
        fail "$name: EXAMPLES do not name ${example#"$root"}"
    sed '/^EXAMPLES$/,/^SEE ALSO$/d' "$text" | grep -oE '[A-Za-z0-9_]+' |
        sort -u > "$work/words"
    # shellcheck disable=SC2086 # words
    missing=$(printf '%s\n' $words | sort -u | comm -23 - "$work/words")
    [ -z "$missing" ] ||
        fail "$name: not in the manual page: $(tr '\n' ' ' <<< "$missing")"
done < "$work/said"

exit $errors
