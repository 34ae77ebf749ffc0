#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Prepare the kernel and the initramfs of the Soft-RoCE guest, once, and print
# the folder they are in:
#
#   prepare.sh            reuse what is cached, else build it
#   prepare.sh --force    build it again (picks up a newer kernel package)
#
#   RIG_KERNEL_DIR=DIR    take the kernel from a folder in which a kernel
#                         package was unpacked (boot/ and lib/modules/, or
#                         usr/lib/modules/ alone), instead of downloading the
#                         one linux-image-amd64 depends on
#
# Nothing is installed. Exit status: 0, 77 if it cannot be done here, 1 if it
# should have worked and did not.

set -u -o pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ucx-predreg-rig

# What the guest needs; what these depend on is found by modprobe. Not every
# kernel has all of them, or has them as modules.
modules="virtio_pci 9p 9pnet_virtio overlay crc32_generic crc32_pclmul
         ib_uverbs rdma_ucm ib_uverbs_support rdma_rxe dummy veth"
modules_required="9p overlay ib_uverbs rdma_rxe dummy"

say()
{
    echo "prepare.sh: $*" >&2
}

skip()
{
    say "$*"
    exit 77
}

fail()
{
    say "$*"
    exit 1
}

need()
{
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null ||
            skip "'$tool' is not installed (Debian package: $(package $tool))"
    done
}

package()
{
    case $1 in
    busybox)          echo busybox-static ;;
    modprobe|depmod)  echo kmod ;;
    xz)               echo xz-utils ;;
    cpio)             echo cpio ;;
    apt-get|apt-cache) echo apt ;;
    *)                echo "$1" ;;
    esac
}

# A name for everything that determines the result, the kernel apart.
recipe_hash()
{
    {
        cat "$here/prepare.sh" "$here/guest-init.sh"
        "$busybox" | head -n 1
        echo "${RIG_KERNEL_DIR-}"
    } | sha256sum | cut -c 1-12
}

# Download and unpack the kernel package into the folder $1.
download_kernel()
{
    local dir=$1 pkg
    need apt-get apt-cache dpkg
    pkg=$(apt-cache depends linux-image-amd64 2>/dev/null |
          sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
    [ -n "$pkg" ] ||
        skip "no kernel package: linux-image-amd64 is unknown to apt" \
             "(run 'apt-get update', or set RIG_KERNEL_DIR)"

    say "downloading $pkg (once)"
    (cd "$dir" &&
     apt-get -q -q -o APT::Sandbox::User=root download "$pkg" >&2) ||
        skip "kernel package $pkg could not be downloaded"
    dpkg -x "$dir/$pkg"_*.deb "$dir/kernel" ||
        fail "kernel package $pkg could not be unpacked"
}

# The kernel image unpacks itself when it boots, which takes an emulated
# processor longer than all the rest of its start: unpack it here. See
# Documentation/x86/boot.rst of Linux for the offsets.
unpack_kernel()
{
    local image=$1 out=$2 sects offset length magic tool
    sects=$(od -An -tu1 -j $((0x1f1)) -N 1 "$image")
    offset=$(od -An -tu4 -j $((0x248)) -N 4 "$image")
    length=$(od -An -tu4 -j $((0x24c)) -N 4 "$image")
    offset=$(((sects + 1) * 512 + offset))
    magic=$(od -An -tx1 -j $offset -N 4 "$image" | tr -d ' ')
    case $magic in
    fd377a58) tool="xz --single-stream" ;;
    28b52ffd) tool="zstd" ;;
    1f8b*)    tool="gzip" ;;
    02214c18) tool="lz4" ;;
    *)        return 1 ;;
    esac
    # The size of the result follows the compressed data: the tools complain
    # about it after they have written everything, so look at the result.
    tail -c +$((offset + 1)) "$image" | head -c "$length" |
        $tool -dc > "$out" 2>/dev/null
    [ "$(od -An -tx1 -N 4 "$out" | tr -d ' ')" = 7f454c46 ]
}

# Put the modules into the folder $3, numbered in the order of loading.
copy_modules()
{
    local root=$1 version=$2 dest=$3 module path name n=100
    local -A seen=()
    depmod -b "$root" "$version" || fail "depmod failed"
    for module in $modules; do
        while read -r path; do
            name=${path##*/}
            name=${name%%.ko*}
            [ -z "${seen[$name]-}" ] || continue
            seen[$name]=1
            n=$((n + 1))
            case $path in
            *.ko.xz)  xz -dc "$path" ;;
            *.ko.zst) zstd -dcq "$path" ;;
            *.ko.gz)  gzip -dc "$path" ;;
            *)        cat "$path" ;;
            esac > "$dest/$n-$name.ko" || fail "could not copy module $name"
        done < <(modprobe -d "$root" -S "$version" --show-depends "$module" \
                     2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p')
    done
    for module in $modules_required; do
        [ -n "${seen[$module]-}" ] ||
            grep -q "/$module\.ko" "$root/lib/modules/$version/modules.builtin" ||
            fail "kernel $version has no module $module"
    done
}

build()
{
    local tmp=$1 root image version tree
    root=${RIG_KERNEL_DIR-}
    if [ -z "$root" ]; then
        mkdir "$tmp/deb"
        download_kernel "$tmp/deb"
        root=$tmp/deb/kernel
    fi
    # depmod writes beside the modules, which must not be in a folder of the
    # user
    mkdir "$tmp/root"
    cp -a "$root/lib" "$tmp/root" 2>/dev/null ||
        cp -a "$root/usr/lib" "$tmp/root" || fail "no modules in $root"
    image=$(ls "$root"/boot/vmlinuz-* 2>/dev/null | tail -n 1)
    version=${image##*/vmlinuz-}
    if [ -z "$image" ]; then # Packages of Linux 7 have it beside the modules
        image=$(ls "$root"/usr/lib/modules/*/vmlinuz 2>/dev/null | tail -n 1)
        [ -n "$image" ] || fail "no kernel in $root/boot"
        version=$(basename "$(dirname "$image")")
    fi

    tree=$tmp/tree
    mkdir -p "$tree"/{bin,dev,proc,sys,modules,ctl,host,suite,rw,newroot}
    cp "$busybox" "$tree/bin/busybox" || fail "could not copy busybox"
    cp "$here/guest-init.sh" "$tree/init" || fail "could not copy guest-init.sh"
    chmod 755 "$tree/init" "$tree/bin/busybox"
    copy_modules "$tmp/root" "$version" "$tree/modules"

    mkdir "$tmp/out"
    (cd "$tree" && find . | cpio -o -H newc -R 0:0 --quiet) \
        > "$tmp/out/initramfs" || fail "could not write the initramfs"
    unpack_kernel "$image" "$tmp/out/kernel" || cp "$image" "$tmp/out/kernel" ||
        fail "could not copy the kernel"
    echo "$version" > "$tmp/out/version"
}

need busybox cpio depmod modprobe xz sha256sum
busybox=$(command -v busybox)
! ldd "$busybox" >/dev/null 2>&1 ||
    skip "busybox is not static (Debian package: busybox-static)"
hash=$(recipe_hash)

if [ "${1-}" != --force ]; then
    # Any kernel will do, so the one that is in the cache is kept although there
    # may be a newer one
    for dir in "$cache"/rig-*-"$hash"; do
        if [ -f "$dir/version" ]; then
            echo "$dir"
            exit 0
        fi
    done
fi

mkdir -p "$cache" || skip "no cache folder: $cache"
tmp=$(mktemp -d "$cache/tmp.XXXXXX") || fail "no temporary folder in $cache"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
build "$tmp"

# Several first runs may come here at a time: each has built its own, and the
# first to rename wins. (A rename onto a folder that is not empty fails.)
dir=$cache/rig-$(cat "$tmp/out/version")-$hash
if [ "${1-}" = --force ] && [ -d "$dir" ]; then
    mv -T "$dir" "$tmp/old"
fi
mv -T "$tmp/out" "$dir" 2>/dev/null || [ -f "$dir/version" ] ||
    fail "could not rename into $dir"
say "prepared $dir"
echo "$dir"
