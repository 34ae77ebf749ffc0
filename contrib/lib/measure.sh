# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo-guest.sh and evaluate-guest.sh have in common. To be sourced by
# bash.
#
# shellcheck shell=bash

# Milliseconds since boot: date(1) is slow to start in a guest, and the clock
# may be set meanwhile
now_ms()
{
    local up
    read -r up _ < /proc/uptime
    up=${up/./}
    echo $((10#$up * 10))
}
