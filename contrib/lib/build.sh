# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What check.sh, demo.sh and evaluate.sh have in common: installing packages
# that are missing, and building. To be sourced by bash with `set -eu`; needs
# $top, the folder of the sources.
#
# shellcheck shell=bash disable=SC2034,SC2120,SC2154

# Folder of the build, out of the source tree
build=${PREDREG_BUILD:-$top/build}

packages_build=(build-essential autoconf automake libtool pkg-config
                libucx-dev zlib1g-dev openmpi-bin libopenmpi-dev
                libjson-c-dev)
# What the Debian packages are built and checked with
packages_package=(debhelper dpkg-dev lintian libdw-dev pkgconf)
# What the native rig is built with, and allocators that it is tried under
packages_native=(liburing-dev patchelf libjemalloc2 libtcmalloc-minimal4)
# What makes the roots of other suites for test/rig/run.sh
packages_suite=(mmdebstrap)
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

# Of the packages named, those that are not installed, a line each
missing_packages()
{
    local package installed
    installed=$(dpkg-query -W -f '${Status} ${Package}\n' "$@" 2>/dev/null |
                    sed -n 's/^install ok installed //p')
    for package in "$@"; do
        [[ $'\n'$installed$'\n' = *$'\n'"$package"$'\n'* ]] || echo "$package"
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

# apt_get LOG ARGUMENT...: apt-get as root. Only one program at a time may
# change what is installed, and apt-get fails at once while another does: waits
# for the other, up to ten minutes. (Its own option for that does not apply to
# "update".)
apt_get()
{
    local log=$1 output status=0 end=$((SECONDS + 600)) told=
    shift
    while :; do
        status=0
        output=$(as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive \
                     apt-get -q -y "$@" 2>&1) || status=$?
        echo "$output" >> "$log"
        [ $status -ne 0 ] && [ $SECONDS -lt $end ] &&
            grep -Eq '^E: .*(Could not get lock|Unable to (lock|acquire))' \
                <<< "$output" || return $status
        [ -n "$told" ] || say "another program is installing packages; waiting"
        told=1
        sleep 2
    done
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
    [ ${#missing[@]} -gt 0 ] || return 0
    as_root true ||
        die "missing packages, and no root to install them; run" \
            "'apt-get install ${missing[*]}' as root"

    update_lists "$log"
    say "installing ${missing[*]}"
    apt_get "$log" --no-install-recommends install "${missing[@]}" || {
        tail -n 20 "$log" >&2
        die "could not install ${missing[*]} (all of it: $log)"
    }
}

update_lists()
{
    say "apt-get update"
    apt_get "$1" update ||
        say "'apt-get update' failed (see $1); going on with old lists"
}

# install_guest LOG: what is needed to boot a guest, unless an RDMA device is
# here. The guest's kernel is downloaded through apt, which has to know it.
install_guest()
{
    ! has_rdma_device || return 0
    install_missing "$1" "${packages_guest[@]}"
    if command -v apt-cache >/dev/null &&
       [ -z "$(apt-cache pkgnames linux-image-amd64)" ] && as_root true; then
        update_lists "$1"
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

# Whether configure found no native rig to build, and would find one now
lacks_native_rig()
{
    grep -q '^S\["HAVE_NATIVE_TRUE"\]="#"' "$build/config.status" &&
        command -v patchelf >/dev/null && pkg-config --exists liburing
}

# Runs autogen.sh and configure if that was not done, or has to be done again
configure_project()
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

    # Only tests are in C++: optimising them takes longer than running them
    if [ ! -f "$build/config.status" ] ||
       [ "$top/configure" -nt "$build/config.status" ] ||
       lacks_native_rig; then
        build_step "$log" "configure in $build" \
            env --chdir "$build" "$top/configure" CXXFLAGS="-g0 -O0"
    fi
}

# build_project [FOLDER]: everything that gets installed; or what is in a folder
# of the sources
build_project()
{
    configure_project
    build_step "$build/build.log" "make" \
        make -C "$build/${1-}" -j"$(nproc)"
}

# The programs that are run in a rig, and the one that sums up what they did
build_programs()
{
    build_step "$build/build.log" "make the programs" \
        make -C "$build/test/apps" -j"$(nproc)"
    build_step "$build/build.log" "make the native rig" \
        make -C "$build/test/native" -j"$(nproc)"
    build_step "$build/build.log" "make the tables" \
        make -C "$build/test/tables" -j"$(nproc)"
    [ -x "$build/test/tables/tables" ] ||
        die "the build was configured without json-c; remove '$build' and run" \
            "this again"
}
