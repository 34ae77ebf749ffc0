#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The tarball that `make dist` leaves has all files of the checkout, as they are
# there, and the checksum beside it.
#
# usage: dist.sh BUILD-FOLDER

set -eu
export LC_ALL=C
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# For those who work on a checkout only
checkout_only='^(\.ci/|\.clang-format$|\.editorconfig$)|(^|/)\.gitignore$'

git -C "$top" rev-parse 2> /dev/null || { echo "no checkout"; exit 77; }
tarball=$(echo "$build"/ucx-predreg-*.tar.gz)
[ -f "$tarball" ] || { echo "no tarball in $build; run make dist" >&2; exit 1; }

(cd "$build" && sha256sum --strict -c "${tarball##*/}.sha256") || exit 1
tar xf "$tarball" -C "$work" --strip-components=1
errors=0
while read -r file; do
    # A file that was removed from the checkout is not in it either
    [ ! -f "$top/$file" ] || cmp "$top/$file" "$work/$file" || errors=1
done < <(git -C "$top" ls-files | grep -Ev "$checkout_only")

# Recipes for Spack and EasyBuild name the version
version=$(basename "$tarball" .tar.gz)
version=${version##*-}
for file in "$work"/contrib/easybuild/*.eb "$work"/contrib/spack/*/*/*/*/package.py; do
    grep -qE "^ *version[ =(]+[\"']$version[\"']" "$file" || {
        echo "${file#"$work"/} is not for version $version"
        errors=1
    }
done
exit $errors
