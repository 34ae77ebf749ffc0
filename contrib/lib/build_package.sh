#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Of the ucx-predreg-VERSION.tar.gz in a folder, builds the Debian packages for the
# system that this runs in, beside it, and checks them. package.sh runs it, also
# within a root; it needs no other file.
#
# usage: build_package.sh FOLDER

set -eu
cd "$1"
name=$(echo ucx-predreg-*.tar.gz)
name=${name%.tar.gz}
tarball=ucx-predreg_${name#ucx-predreg-}.orig.tar.gz
mv "$name.tar.gz" "$tarball"
tar xf "$tarball"
cd "$name"

# The packages of two suites differ in their versions, so that a system which is
# upgraded takes that of the newer suite
# shellcheck disable=SC1091
. /etc/os-release
sed -i "1s/) [a-z]*;/~$ID${VERSION_ID-}) ${VERSION_CODENAME:-unstable};/" \
    debian/changelog
dpkg-buildpackage -us -uc
lintian --allow-root --display-info --fail-on error,warning ../*.changes
