#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Links of installed documents to other files lead to files that are installed.
#
# usage: links.sh FOLDER
#   FOLDER  that the documents were installed in

set -eu
folder=$1
found=0
errors=0

# links FILE: where to, a line each, without the part of the page
links()
{
    grep -oE '\]\([^) ]+\)|(src|href)="[^"]+"' "$1" |
        sed -E 's/^(\]\(|[a-z]+=")//; s/[)"]$//; s/#.*//' |
        grep -vE '^$|^[a-z]+:' || true
}

while read -r file; do
    while read -r link; do
        found=$((found + 1))
        [ -e "$(dirname "$file")/$link" ] || {
            echo "FAILED: ${file#"$folder"/}: there is no $link"
            errors=1
        }
    done < <(links "$file")
done < <(find "$folder" -name '*.md')
echo "$found links"
[ "$found" -gt 0 ] || exit 1
exit $errors
