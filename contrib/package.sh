#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Builds the Debian packages. See usage() below.

set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=contrib/lib/build.sh
. "$top/contrib/lib/build.sh"
# shellcheck source=contrib/lib/root.sh
. "$top/contrib/lib/root.sh"

packages=$build/packages
log=$packages/package.log

# Those that are installed; the others have debug information
installed=(ucx-predreg libucp-firehose0 libucp-firehose-dev)

# What else a root needs to build and check a package: debian/control has these
# as well
packages_root=(debhelper lintian libucx-dev libdw-dev libgtest-dev pkgconf
               zlib1g-dev)

usage()
{
    cat <<USAGE
usage: package.sh [SUITE]

Builds the Debian packages of ucx-predreg for SUITE, this machine's own
($own) unless given, and checks them with lintian. Accepted: ${suites[*]}.
Another suite than this machine's is built in a root that mmdebstrap makes, once,
in $cache; that needs to be root, or sudo.

The packages are then in $packages, and all that was
built, with debug information and sources, in SUITE below it. Packages of other
suites stay there.

Installs what is missing. DEB_BUILD_OPTIONS is '$DEB_BUILD_OPTIONS' unless set;
without nocheck in it the unit tests are built and run, which takes minutes.
USAGE
}

export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck}

# make_tarball: as for a release, so that what is packaged is what is released
make_tarball()
{
    configure_project
    rm -f "$build"/ucx-predreg-*.tar.gz*
    build_step "$log" "make dist" make -C "$build" dist
}

build_in_root()
{
    local root
    install_missing "$log" mmdebstrap
    root=$(prepare_root "$log" package "$suite" --variant=buildd \
               "${packages_root[@]}") || exit $?
    build_step "$log" "building the packages for $suite in $root" \
        in_root "$root" "$work" \
        env DEB_BUILD_OPTIONS="$DEB_BUILD_OPTIONS" /mnt/build_package.sh /mnt
}

# collect: what was built
collect()
{
    local file name
    rm -rf "${packages:?}/$suite" "$packages"/*.deb
    mkdir -p "$packages/$suite"
    for file in "$work"/*; do
        [ ! -f "$file" ] || cp "$file" "$packages/$suite"
    done
    rm -f "$packages/$suite"/build_package.sh
    for name in "${installed[@]}"; do
        cp "$packages/$suite/${name}"_*.deb "$packages"
    done
}

own=$(own_suite)
suites=("${known_suites[@]}")
[[ -z $own || " ${suites[*]} " = *" $own "* ]] || suites+=("$own")
case ${1-} in
--help|-h) usage; exit 0 ;;
esac
[ $# -le 1 ] || die "one suite at a time; accepted: ${suites[*]}"
suite=${1:-$own}
[ -n "$suite" ] ||
    die "this is no Debian; name a suite to build for: ${suites[*]}"
[[ " ${suites[*]} " = *" $suite "* ]] ||
    die "unknown suite '$suite'; accepted: ${suites[*]}"

mkdir -p "$packages"
: > "$log"
install_missing "$log" "${packages_build[@]}" "${packages_package[@]}"
make_tarball
work=$(mktemp -d "$build/package.XXXXXX")
trap 'as_root rm -rf "$work" || rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$build"/ucx-predreg-*.tar.gz "$top/contrib/lib/build_package.sh" "$work"
if [ "$suite" = "$own" ]; then
    build_step "$log" "building the packages for $suite" \
        "$work/build_package.sh" "$work"
else
    build_in_root
fi
collect
say "the packages for $suite are in $packages/$suite;" \
    "to install: apt install $(echo "$packages"/ucx-predreg_*.deb)," \
    "for programs with Firehose $(echo "$packages"/libucp-firehose*.deb)"
