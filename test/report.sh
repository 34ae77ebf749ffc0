#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Pages of ucx_predreg report, of made-up programs, in a browser: on a phone and
# on a small notebook, in the light and in the dark, and on paper. What they
# advise is checked too. Leaves pages, pictures and the browser's log in
# BUILD-FOLDER/report.
#
# usage: report.sh BUILD-FOLDER

set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
command=$build/src/tools/predreg/ucx_predreg
out=$build/report
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# page KIND: writes KIND.html, of two ranks
page()
{
    local rank
    rm -rf "$out/$1"
    mkdir -p "$out/$1"
    for rank in 0 1; do
        awk -v kind="$1" -v rank=$rank -v command='./heat "<b>" 4096' \
            -f "$top/test/report/program.awk" > "$out/$1/$rank.trace"
    done
    "$command" report -o "$out/$1.html" "$out/$1" || rm -f "$out/$1.html"
}

# pages KIND...: as many at a time as there are processors
pages()
{
    local kind
    for kind in "$@"; do
        [ "$(jobs -r | wc -l)" -lt "$(nproc)" ] || wait -n || true
        page "$kind" &
    done
    wait
}

# advised KIND PATTERN...
advised()
{
    local kind=$1 pattern
    shift
    [ -f "$out/$kind.html" ] || fail "$kind: no report"
    for pattern in "$@"; do
        tr -s '\n ' ' ' < "$out/$kind.html" | grep -qE "$pattern" ||
            fail "$kind: no '$pattern'"
    done
}

pages periodic random window small copied sends pools pinned overload buffers phases

advised periodic '<h1>Yes: [0-9.]+[^0-9]+% less registered memory with prediction' \
    '<code>ucx_predreg run -- LAUNCHER ./heat &quot;&lt;b&gt;&quot; 4096<' \
    'LAUNCHER is what starts the 2 ranks, .*<code>srun -n 2<' \
    'each rank has to have <code>LD_PRELOAD=libuct_predreg.so</code>' \
    '<figure class="tradeoff">' '<section id="budgets">' 'id="period"'
advised random '<h1>Yes: [0-9.]+[^0-9]+% less registered memory on demand' \
    '<code>ucx_predreg run --policy on-demand -- LAUNCHER ' \
    'LD_PRELOAD=libuct_predreg.so UCX_RCACHE_PRED_POLICY=on-demand<'
advised window '<h1>No: leave UCX as it is' 'windows for one-sided' \
    'UCX_RCACHE_PRED_WINDOWS=firehose'
advised small '<h1>No: leave UCX as it is' 'little beside what UCX registers'
advised copied '<h1>No: leave UCX as it is' 'Nothing was registered'

advised sends '<h1>No: leave UCX as it is' '<section id="sends">' \
    'What eager zero-copy would save:' 'What small sends cost is not in the traces of 2 of' \
    '<td>2,002</td>' '<td>99.0'
! grep -q 'HELPER=aggressive' "$out/window.html" ||
    fail "window: helpers of a budget that is not advised"
! grep -q 'LD_PRELOAD' "$out/window.html" || fail "window: advice beside no"
! grep -q '<section id="sends">' "$out/copied.html" ||
    fail "copied: small sends of none"

# What the answer rests on
advised pools '<h1>Yes: ' 'Beside the 66.0[^0-9]+MiB that are usual'
advised pinned '<h1>Yes: [0-9.]+[^0-9]+% less registered memory with prediction' \
    'What deregistrations cost is a guess in 2 of 2 ranks' \
    '2 of 2 processes did not come to their end' \
    'What registrations cost differs: one of '

# Programs of which an easy guess at the reason, or at the setting, is wrong
advised overload '<h1>No: leave UCX as it is' 'To save memory costs too much time'
advised buffers '<h1>Yes: [0-9.]+[^0-9]+% less registered memory with prediction' \
    'ucx_predreg run --set BUDGET=inf -- LAUNCHER' \
    ' UCX_RCACHE_PRED_BUDGET=inf</code>' 'BUDGET=inf, all processors busy' \
    'curve --shared-processor --set HELPER=aggressive</code> says how much'
advised phases '<h1>Yes: [0-9.]+[^0-9]+% less registered memory with a bound' \
    'UCX_RCACHE_ENABLE=n UCX_IB_RCACHE_MAX_SIZE=128M LAUNCHER' \
    'Prediction would gain nothing beyond that'
for kind in overload buffers; do
    ! grep -q 'does not repeat itself' "$out/$kind.html" ||
        fail "$kind: a wrong reason"
done

! grep -q 'class="tradeoff"' "$out/copied.html" || fail "copied: a curve of nothing"

# same_as_replay KIND BUDGET ROW [OPTION...]: the page has the numbers of the
# command that it names, in the row of its table that begins with this
same_as_replay()
{
    local kind=$1 budget=$2 row=$3 memory
    shift 3
    memory=$("$command" replay --curve --shared-processor --per-rank --json \
                 "$@" "$out/$kind" | grep '"rank":' |
        awk -v budget="\"budget\":$budget," '
            function value(name) {
                match($0, "\"" name "\":[0-9.]+")
                return substr($0, RSTART + length(name) + 3) + 0
            }
            /"policy":"predict"/ && index($0, budget) {
                sum += value("pinned_avg_bytes")
            }
            END {
                mean = sum / 2 / 1048576
                printf "%." ((mean < 10) ? 2 : 1) "f MiB\n", mean
            }')
    tr '\n' ' ' < "$out/$kind.html" | sed 's|</tr>|&\n|g; s/\xc2\xa0/ /g' |
        grep "<tr class=\"chosen\"><th scope=\"row\">$row" | grep -qF "<td>$memory</td>" ||
        fail "$kind: not the $memory of the replay"
}
same_as_replay periodic 1.000000 '1 %'
same_as_replay buffers null inf

# The page has in it what --json prints, and its curves are drawn from that
"$command" report --json "$out/periodic" > "$out/periodic.json"
sed -n 's/^<script type="application.json" id="data">\(.*\)<.script>$/\1/p' \
    "$out/periodic.html" | sed 's/\\u003c/</g; s/\\u003e/>/g; s/\\u0026/\&/g' |
    cmp - "$out/periodic.json" || fail "the page has other numbers than --json"

# The same trace makes the same page each time
"$command" report -o - "$out/periodic" | cmp - "$out/periodic.html" ||
    fail "another page at the second time"

chromium=$(command -v chromium || command -v chromium-browser) || {
    [ $errors -eq 0 ] || exit 1
    echo "there is no chromium to look at the pages with"
    exit 77
}

# What is seen of a page in a frame of some size. Written into the document, one
# line each:
#   overflow N      by which it is wider than the frame
#   cut NAME        elements wider than that, and not scrolled
#   first NAME N    lower edge of what has to be on the first screen
#   unseen NAME     tables that are scrolled, and do not show it
#   covered         the first table and the curve cover each other
#   loaded N        resources the page asked for
#   paper COLOUR
#   drawn N N N     curves over time, periods beside them, labels of settings
write_frame()
{
    cat > "$frame" <<END
<!DOCTYPE html>
<body style="margin:0">
<iframe src="$1.html" style="border:0;width:$2px;height:$3px"></iframe>
<pre></pre>
<script>
window.onload = function () {
    const view = document.querySelector("iframe").contentWindow;
    const page = view.document;
    const lines = [];
    const root = page.documentElement;
    lines.push("overflow " + Math.max(0, root.scrollWidth - $2));
    for (const element of page.querySelectorAll("body *")) {
        const box = element.getBoundingClientRect();
        if (box.right > $2 + 1 && !element.closest(".scroll, .plot")) {
            lines.push("cut " + element.tagName + " " + box.right);
        }
    }
    // On a phone the curve comes before the table, which then ends below
    const curve = page.querySelector(".tradeoff");
    const names = ["h1", ".lead", ".command"];
    if (curve) {
        names.push(".tradeoff");
    }
    if (!curve || $2 > 640) {
        names.push(".key");
    }
    for (const name of names) {
        const box = page.querySelector(name).getBoundingClientRect();
        lines.push("first " + name + " " + Math.ceil(box.bottom));
    }
    if (curve) {
        const left = page.querySelector(".key").getBoundingClientRect();
        const right = curve.getBoundingClientRect();
        if (left.right > right.left && left.left < right.right &&
            left.bottom > right.top && left.top < right.bottom) {
            lines.push("covered");
        }
    }
    for (const element of page.querySelectorAll(".scroll")) {
        const style = view.getComputedStyle(element);
        if (element.scrollWidth > element.clientWidth + 1 &&
            !/local.*scroll/.test(style.backgroundAttachment)) {
            lines.push("unseen " + element.getAttribute("aria-label"));
        }
    }
    const loaded = view.performance.getEntriesByType("resource");
    lines.push("loaded " + loaded.length);
    lines.push("drawn " + [".panel .plot:not(.zoom) .line", ".panel .zoom .line",
                           ".tradeoff .label"].map(
        name => page.querySelectorAll(name).length).join(" "));
    lines.push("paper " + view.getComputedStyle(page.body).backgroundColor);
    document.querySelector("pre").textContent = lines.join("\\n");
};
</script>
END
}

browse()
{
    timeout 60 "$chromium" --no-sandbox --headless=new --disable-gpu \
        --hide-scrollbars --allow-file-access-from-files \
        --no-first-run --disable-background-networking \
        --disable-component-update --host-resolver-rules="MAP * ~NOTFOUND" \
        --user-data-dir="$profile" --enable-logging=stderr "$@" \
        2>> "$out/browser.log"
}

# looked_at KIND WIDTH HEIGHT SCHEME COLOUR; SCHEME: 0 dark, 1 light
looked_at()
{
    local kind=$1 width=$2 height=$3 name="$1-$2-$4" seen edge
    local scheme=--blink-settings=preferredColorScheme=$4
    write_frame "$kind" "$width" "$height"
    rm -f "$out/$name.png"
    seen=$(browse "$scheme" --window-size="$((width + 16)),$height" --dump-dom \
               --screenshot="$out/$name.png" "file://$frame" |
           sed -n '/<pre>/,/<\/pre>/{s/<[^>]*>//g;p}')
    echo "== $name"
    echo "$seen"

    grep -qx 'overflow 0' <<< "$seen" || fail "$name: wider than the screen"
    ! grep -q '^cut' <<< "$seen" || fail "$name: something is cut off"
    ! grep -q '^covered' <<< "$seen" || fail "$name: the table covers the curve"
    ! grep -q '^unseen' <<< "$seen" || fail "$name: nobody sees it scrolls"
    grep -q '^drawn [1-9]' <<< "$seen" || fail "$name: no curves"
    [ "$kind" != periodic ] || grep -qE '^drawn ([0-9]+) \1 ' <<< "$seen" ||
        fail "$name: no periods"
    ! grep -q 'class="tradeoff"' "$out/$kind.html" ||
        grep -qE '^drawn .* ([2-9]|1.)$' <<< "$seen" || fail "$name: no settings"
    grep -qx 'loaded 0' <<< "$seen" || fail "$name: something was loaded"
    grep -qx "paper rgb($5)" <<< "$seen" || fail "$name: not in its colours"
    while read -r _ what edge; do
        [ "$edge" -le "$height" ] ||
            fail "$name: $what ends at $edge, below the first screen"
    done < <(grep '^first' <<< "$seen" || echo 'first nothing 99999')
    [ "$(stat -c %s "$out/$name.png")" -gt 20000 ] ||
        fail "$name: an empty picture"
}

views()
{
    local kind
    for kind in periodic random window small copied sends overload buffers phases pools \
                pinned; do
        echo $kind 390 844 1 255, 255, 255
        echo $kind 1366 768 1 255, 255, 255
    done
    echo periodic 390 844 0 20, 23, 27
    echo periodic 1366 768 0 20, 23, 27
}

# look LANE: at those views whose turn is that of this lane, by a browser of its own, which
# waits for most of its time
look()
{
    local kind width height scheme colour
    profile=$out/profile-$1
    frame=$out/frame-$1.html
    while read -r kind width height scheme colour; do
        looked_at $kind $width $height $scheme "$colour" < /dev/null
    done < <(views | awk -v lane="$1" -v lanes=$lanes 'NR % lanes == lane')
    return $errors
}

: > "$out/browser.log"
lanes=$(nproc)
pids=()
for ((i = 0; i < lanes; ++i)); do
    look $i > "$out/lane-$i.log" 2>&1 &
    pids+=($!)
done
for ((i = 0; i < lanes; ++i)); do
    wait "${pids[i]}" || errors=1
    cat "$out/lane-$i.log"
done

profile=$out/profile-0
browse --no-pdf-header-footer --print-to-pdf="$out/periodic.pdf" \
    "file://$out/periodic.html" > /dev/null
head -c 5 "$out/periodic.pdf" | grep -q '%PDF-' || fail "not to be printed"

# The console of the browser tells what a page does wrong
! grep CONSOLE "$out/browser.log" || fail "messages on the console"

exit $errors
