# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Print the trace, in the text form, of a program that nobody has recorded.
#
# usage: awk -f make_trace.awk [-v NAME=VALUE]...
#   pattern=  periodic     one buffer in a loop (the default)
#             two-buffers  two of them in turns
#             nested       an inner loop of 8 in an outer one; another buffer
#                          after each inner loop
#             loops        a quarter of so many buffers in turns, four times, then
#                          the others once
#             phases       half of so many buffers in turns, 20 times, then the
#                          other half
#             drift        so many buffers in turns, each period longer by a part
#                          of it
#             walk         so many buffers in turns (1), each period longer or shorter
#                          by up to a part of it
#             paces        20 uses at one period, at twice and at three times it
#             turns        so many buffers in turns
#             varying      an inner loop of 4 to 12 uses of one buffer, then each of
#                          the others once
#             departing    so many buffers in turns; the first of them not in each
#                          second 20 of its turns, while the others go on as before
#             bursts       so many buffers, one after the other, every period
#             whole        bursts, each followed by a use of all of the buffers at
#                          once, when a use of the burst would have ended
#             random       so many buffers and call sites at random, now and then
#                          unmapped
#             skewed       so many buffers at random, the first ones more often: the
#                          place is the cube of a number that is uniform
#             sizes        so many buffers in turns, and after each 7 of them one
#                          of 8 others, which are 64 times as large
#             parts        parts of an array at random places, each of 16 KiB or
#                          more, now and then
#   uses=     number of uses (1000)
#   period=   from one use to the next, us (10000)
#   lasting=  how long a use lasts, us (half a period; at random: up to one);
#             of parts: up to that
#   bytes=    of a buffer (1048576); of parts: up to that
#   array=    bytes of the array of which parts are used (4 times as many)
#   buffers=  in drift (1), at random and skewed (16), else (2)
#   apart=    from the start of one buffer to that of the next (far); with that of
#             bytes, they are slices of one array
#   gap=      between the uses of a burst, us (100)
#   sites=    call sites at random, and of parts (8)
#   part=     of a period by which it drifts or walks (0.001)
#   jitter=   by up to how much each use begins later, us (0)
#   step=     of a period by up to which each step from one use to the next, or from
#             one burst to the next, is longer or shorter: all later uses move with
#             it (0)
#   unmaps=   of so many uses one, at random, comes after the program has unmapped a
#             part of its memory, also at random, and mapped it again (never)
#   access=   flags of uses that come in turns, with commas in between; in whole,
#             those of the slices and those of the whole (0)
#   domains=  domains of uses, in the same way (0)
#   row=      how many uses in a row have the same flags and domain (1)
#   seed=     of random, parts, varying, unmaps, jitter and step (1)

function param(value, otherwise)
{
    return (value == "") ? otherwise : value
}

# An integer below n. Numerical Recipes, 7.1: a modulus of 2^32, whose products
# awk's doubles hold exactly; awk's own rand() differs between implementations
function below(n)
{
    seed = (seed * 1664525 + 1013904223) % 4294967296
    return int(seed / 4294967296 * n)
}

# Not in hexadecimal, which some awks have for 31 bits only
function address(buffer)
{
    return sprintf("%.0f", 4294967296 + buffer * apart)
}

# A field of a use, of which so many values come in turns; nothing if there are none
function in_turns(name, values, count, site,    turn)
{
    turn = (pattern == "whole") ? site : int(id / row)
    return (count == 0) ? "" : " " name "=" values[turn % count + 1]
}

function unmap_part(now, start, length_of,    from)
{
    from = below(length_of)
    printf "unmap %.0fus %.0f %.0f\n", now, start + from, 1 + below(length_of - from)
}

# Each use ends by its own number: uses of a buffer may overlap. Times are us.
function use_range(begin, duration, start, length_of, site,    fields)
{
    begin += moved
    if (jitter > 0)
        begin += below(jitter + 1)
    if ((unmaps > 0) && (below(unmaps) == 0))
        unmap_part(begin, start, length_of)
    fields = in_turns("flags", flags, num_flags, site) \
             in_turns("domain", domain, num_domains, site)
    printf "begin %.0fus %.0f %.0f id=%d caller=%d%s\n", begin, start,
           length_of, ++id, 4096 + 16 * site, fields
    printf "end %.0fus id=%d\n", begin + duration, id
}

function use(begin, duration, buffer, site)
{
    use_range(begin, duration, address(buffer), bytes, site)
}

# The buffer of a use of loops
function looped(i,    few)
{
    few = int(buffers / 4)
    i   = i % (3 * few + buffers)
    return (i < 4 * few) ? i % few : i - 3 * few
}

# The buffer of a use of phases
function phased(i,    half)
{
    half = int(buffers / 2)
    return i % half + half * (int(i / (20 * half)) % 2)
}

function skewed(    x)
{
    x = below(65536) / 65536
    return int(buffers * x * x * x)
}

# The buffer of a use of varying
function varied()
{
    if (inner > 0) {
        --inner
        return 0
    }
    if (others > 0)
        return buffers - others--
    inner  = 3 + below(9)
    others = buffers - 1
    return 0
}

function departing(i)
{
    if ((i % buffers > 0) || (int(i / (20 * buffers)) % 2 == 0))
        use(i * period, lasting, i % buffers, 0)
}

function sizes(i,    group)
{
    group = int(i / 8)
    if (i % 8 < 7)
        use(i * period, lasting, (7 * group + i % 8) % buffers, 0)
    else
        use_range(i * period, lasting, address(buffers + group % 8), 64 * bytes, 1)
}

function whole(i,    burst, slice)
{
    burst = int(i / (buffers + 1)) * period
    slice = i % (buffers + 1)
    if (slice < buffers)
        use(burst + slice * gap, lasting, slice, 0)
    else
        use_range(burst + buffers * gap + lasting, lasting, address(0),
                  (buffers - 1) * apart + bytes, 1)
}

function two_buffers(i)
{
    use(i * period, lasting, i % 2, i % 2)
}

function nested(i,    outer, inner)
{
    outer = int(i / 9)
    inner = i % 9
    use((16 * outer + inner) * period, lasting, inner == 8,
        (inner == 8) ? 2 : (inner > 0))
}

function random(    buffer)
{
    now += below(2 * period)
    buffer = below(buffers)
    if (below(50) == 0)
        printf "unmap %.0fus %s %.0f\n", now, address(buffer), bytes
    use(now, (fixed == "") ? below(period) : fixed, buffer, below(sites))
}

function parts(    size)
{
    now += below(2 * period)
    size = 16384 + below(bytes - 16383)
    use_range(now, below(lasting), address(0) + below(array - size + 1), size,
              below(sites))
}

BEGIN {
    pattern = param(pattern, "periodic")
    uses    = param(uses, 1000)
    period  = param(period, 10000)
    fixed   = lasting
    lasting = param(lasting, period / 2)
    sites   = param(sites, 8)
    bytes   = param(bytes, 1048576)
    array   = param(array, 4 * bytes)
    if (pattern ~ /^(drift|walk)$/)
        buffers = param(buffers, 1)
    buffers = param(buffers, (pattern ~ /^(random|skewed)$/) ? 16 : 2)
    part    = param(part, 0.001)
    seed    = param(seed, 1)
    apart   = param(apart, (buffers > 1024) ? 2 * bytes : 1073741824)
    gap     = param(gap, 100)
    row     = param(row, 1)

    num_flags   = split(access, flags, ",")
    num_domains = split(domains, domain, ",")

    if ((pattern == "parts") && ((bytes < 16384) || (array < bytes))) {
        print "make_trace.awk: parts take 16384 <= bytes <= array" > "/dev/stderr"
        exit 2
    }

    print "ucx_predreg trace 1"
    for (i = 0; i < uses; ++i) {
        if ((step > 0) && (i > 0) &&
            ((pattern !~ /^(bursts|whole)$/) ||
             (i % (buffers + (pattern == "whole")) == 0)))
            moved += step * period * (below(20001) / 10000 - 1)
        if (pattern == "periodic")
            use(i * period, lasting, 0, 0)
        else if (pattern == "two-buffers")
            two_buffers(i)
        else if (pattern == "nested")
            nested(i)
        else if (pattern == "turns")
            use(i * period, lasting, i % buffers, 0)
        else if (pattern == "bursts")
            use(int(i / buffers) * period + (i % buffers) * gap, lasting,
                i % buffers, 0)
        else if (pattern == "whole")
            whole(i)
        else if (pattern == "loops")
            use(i * period, lasting, looped(i), 0)
        else if (pattern == "phases")
            use(i * period, lasting, phased(i), 0)
        else if (pattern == "varying")
            use(i * period, lasting, varied(), 0)
        else if (pattern == "departing")
            departing(i)
        else if (pattern == "skewed")
            use(i * period, lasting, skewed(), 0)
        else if (pattern == "sizes")
            sizes(i)
        else if (pattern == "drift") {
            use(now, lasting, i % buffers, 0)
            now    += period
            period *= 1 + part
        } else if (pattern == "walk") {
            use(now, lasting, i % buffers, 0)
            now    += period
            period *= 1 + part * (below(20001) / 10000 - 1)
        } else if (pattern == "paces") {
            use(now, lasting, 0, 0)
            now += period * (1 + int(i / 20) % 3)
        } else if (pattern == "random")
            random()
        else if (pattern == "parts")
            parts()
        else {
            print "make_trace.awk: unknown pattern " pattern > "/dev/stderr"
            exit 2
        }
    }
}
