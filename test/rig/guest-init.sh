#!/bin/busybox sh
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Process 1 of the Soft-RoCE guest: show the host's files, make an RDMA device,
# run one command, say how it ended, power off. Started by run.sh, which gives
#
#   9p tag "host"  the host's root, read only
#   9p tag "suite" the root of another suite, read only (RIG_SUITE)
#   9p tag "ctl"   a folder shared with run.sh:
#                    conf     variables for this script (sourced)
#                    cmd      the command, as a shell script
#                    folders  what the root of a suite shows of the host: two
#                             lines each, the folder and the path it gets
#                    out      what the command writes (we append)
#                    uptime   seconds from power-on to the command
#                    status   the command's exit status; its presence says that
#                             everything else is complete
#                    kmsg     lines of the kernel log that speak of trouble
#                    hang     what every process is doing, short of the timeout
#   9p tag "out"   the folder RIG_OUT, read and write
#
# Everything up to the command runs from the initramfs: a file out of 9p costs
# milliseconds here.

export PATH=/bin
/bin/busybox --install -s /bin 2>/dev/null

die()
{
    echo "rig: $*" # the console
    poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev

for module in /modules/*.ko; do
    insmod $module 2>/dev/null
done

opts=trans=virtio,version=9p2000.L,msize=512000
# no cache: what is written here must be on the host before the power goes
mount -t 9p -o $opts,cache=none,access=any ctl /ctl || die "no ctl folder"
. /ctl/conf

# The host's files may be cached: nobody expects to see them change during a
# run. The overlay lets everything be written, to memory.
mount -t 9p -o $opts,ro,cache=loose,access=any host /host || die "no host root"
mount -t tmpfs -o size=75% rw /rw
root=/host
if [ -n "$RIG_SUITE" ]; then
    root=/suite
    mount -t 9p -o $opts,ro,cache=loose,access=any suite /suite ||
        die "no root of $RIG_SUITE"
fi

# layer FOLDER TARGET NUMBER
layer()
{
    mkdir -p "$2" /rw/up$3 /rw/work$3
    mount -t overlay -o "lowerdir=$1,upperdir=/rw/up$3,workdir=/rw/work$3" over "$2"
}

layer $root /newroot 0 || die "no overlay"
if [ -n "$RIG_SUITE" ]; then
    n=0
    while IFS= read -r source && IFS= read -r target; do
        n=$((n + 1))
        layer "/host$source" "/newroot$target" $n || die "no folder $target"
    done < /ctl/folders
    mkdir -p "/newroot$RIG_HOME"
fi

mount --bind /proc /newroot/proc
mount --bind /sys /newroot/sys
mount --bind /dev /newroot/dev
dev=/newroot/dev
mkdir -p $dev/pts $dev/shm /newroot/run /newroot/tmp
mount -t devpts -o ptmxmode=666 devpts $dev/pts
mount -t tmpfs -o size=75% shm $dev/shm
mount -t tmpfs run /newroot/run
chmod 1777 /newroot/tmp $dev/shm
ln -sf /proc/self/fd $dev/fd
ln -sf /proc/self/fd/0 $dev/stdin
ln -sf /proc/self/fd/1 $dev/stdout
ln -sf /proc/self/fd/2 $dev/stderr

# A folder of its own, shared with the host. It may be anywhere, also on a path
# that the tmpfs just hid. "mmap": the cache it takes to let files be mapped
# shared, and no more.
mkdir -p "/newroot$RIG_OUT"
mount -t 9p -o $opts,cache=mmap,access=any out "/newroot$RIG_OUT" ||
    die "no folder $RIG_OUT"

# Open MPI refuses to run on a host without a name, and looks it up.
hostname rig
echo "127.0.0.1 localhost rig" > /newroot/etc/hosts
ip link set lo up

# Soft-RoCE over a network device that leads nowhere: what has to be sent to
# this host itself never reaches it.
ip link add dummy0 type dummy 2>/dev/null # the module may have made it
ip address add 10.77.0.1/24 dev dummy0
ip link set dummy0 up
chroot /newroot /usr/bin/env PATH=/usr/sbin:/sbin:/usr/bin:/bin \
    rdma link add rxe0 type rxe netdev dummy0 || die "no RDMA device"

# No core files in the overlay. Locked memory is limited if asked for; root is
# held to the limit only without the capability (RIG_PREFIX drops it).
ulimit -c 0
ulimit -l ${RIG_MEMLOCK:-unlimited}

# A process that hangs shows where, before run.sh pulls the plug.
if [ ${RIG_HANG:-0} -gt 0 ]; then
    {
        sleep $RIG_HANG
        ps -o pid,ppid,stat,args
        for task in /proc/[0-9]*/task/*; do
            # kernel threads have no command line
            [ -n "$(tr '\0' ' ' < ${task%/task/*}/cmdline)" ] || continue
            read -r pid name rest < $task/stat
            echo "$name $task: $(cat $task/wchan)"
            cat $task/stack
        done 2>/dev/null
        dmesg | tail -n 40
    } > /ctl/hang 2>&1 &
    hang=$!
fi

# The command writes into a pipe, as on the host when run.sh's output is piped;
# a file would be truncated by a child that opens /dev/stdout again.
mkfifo /pipe
cat < /pipe > /ctl/out &
cat=$!
cut -d ' ' -f 1 /proc/uptime > /ctl/uptime
cp /ctl/cmd /newroot/run/rig-cmd
env -i /bin/chroot /newroot $RIG_PREFIX /bin/sh /run/rig-cmd \
    < /dev/null > /pipe 2>&1
status=$?

# Children that were left behind hold the pipe open: give what they wrote a
# moment to pass, then end them.
n=0
while kill -0 $cat 2>/dev/null && [ $n -lt 20 ]; do
    usleep 50000
    n=$((n + 1))
done
[ -z "$hang" ] || kill $hang 2>/dev/null
kill -9 -1 2>/dev/null

umount "/newroot$RIG_OUT" 2>/dev/null || sync
dmesg | grep -E \
    'BUG[: ]|WARNING: |Oops|general protection|[Kk]ernel panic|lockup|rcu.*stall|blocked for more than|refcount_t|Out of memory|page allocation failure' \
    > /ctl/kmsg
echo $status > /ctl/status
poweroff -f
