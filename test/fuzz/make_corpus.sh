#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Write the corpus anew, but for crash-*: those are what fuzzers have found.
#
# usage: make_corpus.sh BUILD-FOLDER

set -eu
command=$1/src/tools/predreg/ucx_predreg
cd "$(dirname "$0")/corpus"

# text NAME: a trace of the lines on standard input, in both forms
text()
{
    { echo "ucx_predreg trace 3"; cat; } > "text-$1"
    "$command" dump --binary -o "binary-$1" "text-$1"
}

# flip NAME OFFSET: another value of a byte, in a copy
flip()
{
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    cp "$1" "flipped-$2-$1"
    printf '%b' "$(printf '\\x%02x' $((byte ^ 5)))" |
        dd of="flipped-$2-$1" bs=1 seek="$2" conv=notrunc status=none
}

text empty < /dev/null

text one-buffer << END
begin 0.100 0x10000 1048576
end 0.102 0x10000
begin 0.200 0x10000 1M   # again
end 202ms 0x10000
END

text all-fields << END
meta rank 3
meta command "mpirun -n 4 ./a.out \"x y\" \\\\ \t\x01#"
meta empty ""
domain 0 mlx5_0
domain 1 "mlx5 1"
site 0x100000000401234 0x7ffc12345678 0x401234 0x7f0012345678
site 1 2
module 0x400000 0x500000 0 /bin/a.out 00112233445566778899aabbccddeeff00112233
module 0x7f0000000000 0x7f0000100000 0x7f0000000000 "/lib/no build id.so"
begin 1 0x10000 65536 id=1 domain=1 result=miss duration=41us kind=pieces flags=0x368 caller=0x100000000401234 stack=0x7ffc12345678 window=0x123456789abcdef
reg 1.000000100 0x10000 65536 id=1 domain=1 duration=40us
reg 1.000000200 0x10000 4096 id=0 by=piece result=failed
end 1.1 id=1 domain=1 duration=100ns
deadline 1.2 0x10000 65536 id=1 domain=1 result=ahead deadline=2.0 period=1s
dereg 1.2 0x10000 65536 id=1 domain=1 by=helper duration=11us
unmet 3 0x10000 65536 id=1 domain=1 result=ahead
unmap 4 0x10000 8192
map 4 0x10000 1M
begin 5 0x20000 4096 result=failed kind=last-resort
lost 2
sends 0x10000 4096 1000 3
sends 0 256 1
counter uses 2
counter duration_ns 18446744073709551615
truncated
END

text extremes << END
begin 18446744073709551615ns 0xffffffffffffffff 18446744073709551615 id=18446744073709551615 domain=65535 flags=0xffffffff result=hit,early,late,miss,pieces,failed,kept,ahead duration=18446744073709551615ns caller=0xffffffffffffffff stack=0xffffffffffffffff window=0xffffffffffffffff kind=last-resort
deadline 0 0 0 id=0 deadline=0 period=18446744073709551615ns
deadline 18446744073709551615ns 0 0 id=0 deadline=1ns
unmap 0 0 0
END

text regions << END
end 1.4 0x2000
begin 1.1 0x1000 100
begin 1.2 0x2000 100
begin 1.25 0x1000 200 domain=1
end 1.3 0x1000
end 1.5 0x1000 domain=1
begin 1.6 0x3000 1 id=77
end 1.7 0x3000
reg 1.8 0x3000 1
END

text times << END
unmap 1e-05 0 0
unmap 0.30000000000000004 0 0
unmap 1.5e+3ms 0x0 64K
unmap .5 0 1G
END

# Many regions and contexts
for i in $(seq 1 300); do
    echo "begin $i.5 $((i % 290 * 4096)) $i caller=$((i % 280)) window=$((i * i))"
    echo "end $i.7 $((i % 290 * 4096))"
done | text many

cp binary-one-buffer newer
printf '\x05' | dd of=newer bs=1 seek=8 conv=notrunc status=none
cp binary-one-buffer older
printf '\x03' | dd of=older bs=1 seek=8 conv=notrunc status=none
sed 's/trace 3/trace 4/' text-empty > newer-text
sed 's/trace 3/trace 1/' text-many > older-text
for size in 4 10 12 20 28 60 100 150 200 400; do
    head -c "$size" binary-all-fields > "truncated-$size"
done
for offset in 0 8 12 16 20 100 150 300; do
    flip binary-all-fields "$offset"
done
printf '\x7fELF\x02\x01\x01\0\0\0\0\0' > elf
printf 'no trace\n' > other-text
printf 'ucx_predreg trace 1\nend 1 0x1000\n' > no-begin
printf 'ucx_predreg trace 1\nmeta a "\\x0' > bad-escape
printf 'ucx_predreg trace 1\nmeta a b\0c\n' > zero
