# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Whether a trace, in its text form, adds up: each end has its begin, and if the
# run came to its end and nothing was lost, each begin its end, and the events are
# as many as the process counted. Prints a line, and what is wrong.
#
# usage: awk [-v killed=1] -f check_trace.awk FILE
#        killed: the process was, and has counted nothing

function wrong(what) { print FILENAME ": " what; bad = 1 }

function id() {
    return match($0, / id=[0-9]+/) ? substr($0, RSTART + 4, RLENGTH - 4) : 0
}

# Whether a word is among the results of an event
function result(word) {
    return match($0, / result=[a-z,]+/) &&
           (substr($0, RSTART + 7, RLENGTH - 7) "," ~ ("[=,]" word ","))
}

BEGIN {
    split("uses hits late early in_pieces regs_critical regs_helper pieces deregs " \
          "wasted", names)
}

$1 == "begin" && !result("failed") {
    ++count["uses"]
    ++running[id()]
    count["hits"]  += result("hit")
    count["late"]  += result("late")
    count["early"] += result("early")
    count["in_pieces"] += result("pieces")
}

$1 == "end" && --running[id()] < 0 { wrong("an end without a begin: " $0) }

$1 == "reg" && !result("failed") {
    ++count[/ by=helper/ ? "regs_helper" : / by=piece/ ? "pieces" : \
            "regs_critical"]
}

$1 == "dereg" && !result("failed") { ++count["deregs"] }
$1 == "unmet" && result("ahead")   { ++count["wasted"] }
$1 == "site"                       { ++sites }
$1 == "module"                     { ++modules }
$1 == "lost"                       { lost += $2 }
$1 == "counter"                    { counter[$2] = $3; ++counters }

END {
    printf "%s: %d uses, %d sites, %d modules, %d events lost\n", FILENAME,
           count["uses"], sites, modules, lost
    if (!count["uses"] || !sites || !modules)
        wrong("something is missing")
    if (killed) {
        if (counters)
            wrong("there are counters")
        exit bad
    }
    if (!("uses" in counter))
        wrong("there are no counters")
    if (!lost) {
        for (i in running)
            if (running[i])
                wrong("use " i " has not ended")
        for (i in names)
            if ((names[i] in counter) && counter[names[i]] != count[names[i]])
                wrong(names[i] ": " count[names[i]] + 0 " events, " \
                      counter[names[i]] " counted")
    }
    exit bad
}
