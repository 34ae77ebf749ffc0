#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The part of package.sh that is run in the small system, as root; the packages are
# beside this file. It goes on after a failure, so that all of them are seen.

set -u
cd "$(dirname "$0")" || exit 1
export DEBIAN_FRONTEND=noninteractive
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# user COMMAND...: as a user who has just logged in
user()
{
    runuser -l user -c "$*" 2>&1
}

apt-get -q -q update || { echo "no packages can be downloaded"; exit 77; }
apt-get -q -y install ./ucx-predreg*.deb || { echo "FAILED: apt install"; exit 1; }
useradd -m -s /bin/bash user

# The messages are large enough for UCX to register them, if there was a device
job="mpirun -np 2 --oversubscribe --mca pml ucx --mca opal_common_ucx_tls any \
    --mca opal_common_ucx_devices any NPopenmpi -l 1048576 -u 1048576 -o /dev/null"

echo "== the job without the library"
output=$(user "$job") || fail "the job fails without the library: $output"

echo "== ucx_predreg run"
output=$(user "ucx_predreg run --summary=json -- $job") ||
    fail "the job fails under ucx_predreg run"
echo "$output"
[ "$(grep -c '"rank":[01],.*"helper":"off"' <<< "$output")" -eq 2 ] ||
    fail "the library was not at work in both ranks"

# Debian's Open MPI uses UCX only where it is told to
echo "== an MPI that does not use UCX"
output=$(user "ucx_predreg run --summary -- mpirun -np 2 --oversubscribe \
               NPopenmpi -l 1048576 -u 1048576 -o /dev/null") ||
    fail "the job fails under ucx_predreg run: $output"
[ "$(grep -c 'MPI has not used UCX' <<< "$output")" -eq 1 ] ||
    fail "it is not said that MPI has not used UCX: $output"

echo "== links of the documents"
./links.sh /usr/share/doc/ucx-predreg || fail "links of the documents"

# Of what ucx_info prints, the knobs, and what is no knob at all
knobs="ucx_info -c | grep -E '^UCX_RCACHE_PRED_POLICY=|^[^U]'"

echo "== ucx_predreg info"
output=$(user ucx_predreg info)
status=$?
echo "$output"
[ $status -eq 1 ] || fail "info says $status where nothing would be managed"
grep -qE '^ *version +[0-9.]+, known$' <<< "$output" ||
    fail "info does not know the UCX of this system"

echo "== LD_PRELOAD"
output=$(user "export LD_PRELOAD=libuct_predreg.so; $knobs")
[ "$output" = UCX_RCACHE_PRED_POLICY=predict ] ||
    fail "ucx_info does not list the knobs: $output"

echo "== the environment module"
output=$(user "module load ucx-predreg && $knobs; echo \$LD_PRELOAD;
               module unload ucx-predreg; echo \"unloaded \$LD_PRELOAD.\"")
grep '/libuct_predreg.so$' <<< "$output" || fail "LD_PRELOAD: $output"
grep -q '^UCX_RCACHE_PRED_POLICY=predict' <<< "$output" ||
    fail "the module does not load the library: $output"
grep '^unloaded \.$' <<< "$output" || fail "after module unload: $output"

echo "== a program with Firehose"
apt-get -q -y install ./libucp-firehose0_*.deb ./libucp-firehose-dev_*.deb ||
    fail "apt install of the packages for programs"
for test in tests/firehose tests/preload; do
    output=$(user "$PWD/$test") || fail "debian/$test"
    echo "$output"
done
output=$(user "MANWIDTH=200 man ucp_fh_get_nbx") || fail "man ucp_fh_get_nbx"
grep -q 'ucp_fh_put_nbx.*access memory of peers' <<< "$output" ||
    fail "man ucp_fh_get_nbx: $output"

echo "== removal"
apt-get -q -y purge ucx-predreg libucp-firehose0 libucp-firehose-dev ||
    fail "apt purge"
found=$(find / -xdev \( -name '*predreg*' -o -name '*firehose*' \) \
            ! -path '/mnt/*' ! -path '/proc/*' ! -path '/var/log/*')
[ -z "$found" ] || fail "left behind: $found"
exit $errors
