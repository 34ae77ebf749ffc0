# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The trace of a made-up rank, in the text form: a program that was recorded
# under on-demand.
#
#   awk -v kind=KIND [-v rank=N] [-v command=TEXT] -f program.awk
#
# kind: periodic   three buffers that take turns, in each of 60 steps
#       random     the same, with gaps of any length
#       window     one buffer, in use from beginning to end
#       small      as periodic, with little memory
#       copied     nothing is registered
#       sends      the same, of messages that were counted
#       overload   so many small buffers, one after another, that a helper
#                  cannot register them as fast as they are used
#       buffers    more buffers than are remembered at first, each used a few times
#       phases     most memory is used once, and the rest over and over
#       pools      as small, but what UCX's pools register is not known
#       pinned     as periodic, but recorded under leave-pinned by processes
#                  that were killed; one touches its memory for the first time

# A use of a buffer, which begins so late and lasts so long, in seconds
function use(number, begin, seconds, mib,    memory, cost)
{
    memory = sprintf("0x7f0%d00000000 %d", number, mib * 1048576)
    cost   = 40000 + mib * 25000
    if (kind == "pinned") {
        cost = seen[number]++ ? 300 : cost * (1 + 50 * rank)
        printf "begin %.9f %s id=%d duration=%dns " \
               "caller=0x1000000004010%d0 stack=0x7ffd%d000\n", begin, memory,
               number, cost, number, number
        printf "end %.9f id=%d\n", begin + seconds, number
        return
    }
    printf "reg %.9f %s id=%d by=use duration=%dns\n", begin, memory, number,
           cost
    printf "begin %.9f %s id=%d result=miss duration=%dns " \
           "caller=0x1000000004010%d0 stack=0x7ffd%d000\n", begin, memory,
           number, cost, number, number
    printf "end %.9f id=%d\n", begin + seconds, number
    printf "dereg %.9f %s id=%d by=use duration=%dns\n", begin + seconds,
           memory, number, cost / 4
}

# The same of a small buffer, for an instant: the clock goes on by what it takes
# to register and deregister it, and by the gap to the next one
function touch(number, begin, gap,    memory)
{
    memory = sprintf("0x7f%06d00000 65536", number)
    printf "reg %.9f %s id=%d by=use duration=20000ns\n", begin, memory, number
    printf "begin %.9f %s id=%d result=miss duration=20000ns " \
           "caller=0x100000000401010 stack=0x7ffd1000\n", begin, memory, number
    begin += 0.000021
    printf "end %.9f id=%d duration=5000ns\n", begin, number
    printf "dereg %.9f %s id=%d by=use duration=5000ns\n", begin, memory,
           number
    return begin + 0.000005 + gap
}

function touch_all(buffers, steps, gap, pause, begin,    i, k)
{
    for (i = 0; i < steps; ++i) {
        for (k = 1; k <= buffers; ++k) {
            begin = touch(k, begin, gap)
        }
        begin += pause
    }
    return begin
}

function step(begin, scale)
{
    use(1, begin + 0.05, 0.10, 48 * scale)
    use(2, begin + 0.35, 0.15, 64 * scale)
    use(3, begin + 0.70, 0.20, 40 * scale)
}

BEGIN {
    srand(1)
    gsub(/["\\]/, "\\\\&", command)
    print "ucx_predreg trace 2"
    printf "meta rank %d\nmeta command \"%s\"\n", rank, command
    print "meta size 2\nmeta host node17"
    print "meta policy " (kind == "pinned" ? "leave-pinned" : "on-demand")
    if (kind == "pinned") {
        print "meta clock_ns 1000"
    } else if (kind != "pools") {
        print "counter pool_bytes 69206016"
    }
    print "meta ucx_version 1.13.1\nmeta realtime_ns 1795271374059223000"
    print "domain 0 rxe0"
    print "module 0x400000 0x500000 0x0 \"/opt/<b>heat</b>/heat & co\""

    begin = 1
    steps = 60
    if (kind == "overload") {
        begin = touch_all(1000, 20, 0.00001, 0, begin)
        steps = 1
    } else if (kind == "buffers") {
        begin = touch_all(9000, 5, 0.0001, 30, begin)
        steps = 1
    } else if (kind == "phases") {
        for (i = 4; i < 9; ++i) {
            use(i, begin, 0.01, 64)
            begin += 0.1
        }
    }

    for (i = 0; i < steps; ++i) {
        if (kind == "window" && i == 0) {
            use(1, begin, 60, 200)
        } else if (kind == "small" || kind == "pools") {
            step(begin, 1 / 32)
        } else if (kind == "periodic" || kind == "pinned") {
            step(begin, 1 + rank / 8)
        } else if (kind == "phases") {
            for (k = 0; k < 500; ++k) {
                use(1 + int(3 * rand()), begin + k / 500, 0.0001, 40)
            }
        } else if (kind == "random") {
            step(begin, 1)
            begin += 30 * rand()
        }
        begin += 1
    }
    printf "unmap %.9f 0x1000 4096\n", begin
    if (kind == "sends") {
        for (k = 0; k < 10; ++k) {
            printf "sends 0x%x %d 91 %d\n", 4096 * (k + 1), 800 * (k + 1), k
        }
        print "sends 0x1000 256 91"
    }
}
