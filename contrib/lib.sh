# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo.sh and check.sh have in common: installing what is missing, and
# building. To be sourced by bash with `set -eu`; needs $top, the folder of the
# sources.
#
# shellcheck shell=bash disable=SC2034

# Folder of the build, out of the source tree
build=${PREDREG_BUILD:-$top/build}

packages_build=(build-essential autoconf automake libtool pkg-config
                libucx-dev openmpi-bin libopenmpi-dev)
# What test/rig/run.sh needs to boot a guest
packages_guest=(qemu-system-x86 busybox-static cpio kmod iproute2 xz-utils
                ibverbs-providers)

me=$(basename "$0")

say()
{
    echo "$me: $*"
}

die()
{
    echo "$me: $*" >&2
    exit 1
}

has_rdma_device()
{
    [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]
}

missing_packages()
{
    local package
    for package in "$@"; do
        # pkg-config and others may be provided by a package of another name
        dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null |
            grep -q '^install ok installed' || echo "$package"
    done
}

# Run a command as root, or say that it is not possible
as_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null &&
         { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo "$@"
    else
        return 1
    fi
}

apt_install()
{
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        --no-install-recommends install "$@"
}

# install_missing LOG PACKAGE...
install_missing()
{
    local log=$1 missing
    shift

    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null
    then
        say "no Debian packages here; going on with what is installed" \
            "(on Debian these would be needed: $*)"
        return 0
    fi

    mapfile -t missing < <(missing_packages "$@")
    # The guest's kernel is downloaded through apt, which has to know it
    if [ ${#missing[@]} -eq 0 ] && {
           has_rdma_device || [ -n "$(apt-cache pkgnames linux-image-amd64)" ]
       }; then
        return 0
    fi

    as_root true || {
        [ ${#missing[@]} -gt 0 ] || return 0
        die "missing packages, and no root to install them; run" \
            "'apt-get install ${missing[*]}' as root"
    }

    say "apt-get update"
    as_root apt-get -q update >> "$log" 2>&1 ||
        say "'apt-get update' failed (see $log); going on with old lists"
    if [ ${#missing[@]} -gt 0 ]; then
        say "installing ${missing[*]}"
        apt_install "${missing[@]}" >> "$log" 2>&1 || {
            tail -n 20 "$log" >&2
            die "could not install ${missing[*]} (all of it: $log)"
        }
    fi
}

# build_step LOG TEXT COMMAND...: quiet unless it fails
build_step()
{
    local log=$1 text=$2
    shift 2
    say "$text"
    "$@" >> "$log" 2>&1 || {
        tail -n 30 "$log" >&2
        die "failed: $* (all of it: $log)"
    }
}

# build_project [CONFIGURE-OPTION...]
build_project()
{
    local log=$build/build.log

    { mkdir -p "$build" && [ -w "$build" ]; } 2>/dev/null ||
        die "cannot write to '$build'; name a folder for the build in" \
            "PREDREG_BUILD"
    : > "$log"
    if [ ! -f "$top/configure" ] ||
       [ "$top/configure.ac" -nt "$top/configure" ]; then
        build_step "$log" "autogen.sh" "$top/autogen.sh"
    fi

    if [ ! -f "$build/config.status" ] ||
       [ "$top/configure" -nt "$build/config.status" ]; then
        build_step "$log" "configure in $build" \
            env --chdir "$build" "$top/configure" "$@"
    fi
    build_step "$log" "make" make -C "$build" -j"$(nproc)"
}

# The programs that are run in the rig
build_apps()
{
    build_step "$build/build.log" "make the programs" \
        make -C "$build/test/apps" -j"$(nproc)" check TESTS=
}
