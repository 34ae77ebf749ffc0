#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What `make install DESTDIR=ROOT` leaves is all there and usable from there.
#
# usage: install.sh ROOT

set -eu
root=$1
errors=0

find_one()
{
    local found
    found=$(find "$root" -path "*/$1" | head -n 1)
    [ -n "$found" ] || {
        echo "$1 was not installed" >&2
        return 1
    }
    echo "$found"
}

for name in libuct_predreg.so libuct_predreg_core.so libucp_windows.so bin/ucx_predreg \
            ucx_predreg_probe ucx_predreg.1 ucx_predreg.7 ucx-predreg.pc \
            libucp_firehose.so firehose.h ucp-firehose.pc firehose.c \
            completions/ucx_predreg site-functions/_ucx_predreg; do
    find_one "$name" || errors=1
done
[ $errors -eq 0 ] || exit 1

"$(find_one bin/ucx_predreg)" --version

# Under the installed library, UCX itself lists the knobs
LD_PRELOAD=$(find_one libuct_predreg.so) ucx_info -c |
    grep '^UCX_RCACHE_PRED_POLICY=predict'

# Every document is installed, under the path that others refer to it by
doc=$(dirname "$(find_one NEWS)")
(cd "$(dirname "$0")/.." && find docs -type f) | while read -r file; do
    [ -f "$doc/$file" ] || {
        echo "$file was not installed" >&2
        exit 1
    }
done

"$(dirname "$0")/links.sh" "$doc" || errors=1

pkg-config --variable=preload "$(find_one ucx-predreg.pc)"
for name in ucx_predreg.1 ucx_predreg.7; do
    # All of it is read, so that man does not end with a broken pipe
    man -l "$(find_one $name)" | grep -c ucx_predreg > /dev/null
done

# The RPM packages have to be told of every file. The list of the spec file is
# compared with what is there, in the folders that configure has by default
mapfile -t listed < <(sed -n '/^%files/,/^%changelog/p' \
    "$(dirname "$0")/../ucx-predreg.spec.in" | sed -n \
    -e 's/^%doc //' -e 's/%{name}/ucx-predreg/' -e 's|^%{_bindir}|bin|p' \
    -e 's|^%{_libdir}|lib|p' -e 's|^%{_libexecdir}|libexec|p' \
    -e 's|^%{_docdir}|share/doc|p' -e 's|^%{_mandir}|share/man|p' \
    -e 's|^%{_datadir}|share|p' -e 's|^%{_includedir}|include|p')
prefix=$(dirname "$(dirname "$(find_one bin/ucx_predreg)")")
while read -r file; do
    for pattern in "${listed[@]}"; do
        # shellcheck disable=SC2053 # It is a pattern
        [[ $file != $pattern && $file != $pattern/* ]] || continue 2
    done
    echo "$file is not among the files of ucx-predreg.spec.in" >&2
    errors=1
done < <(find "$prefix" ! -type d ! -name '*.la' -printf '%P\n')
exit $errors
