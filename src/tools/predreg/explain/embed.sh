#!/bin/sh
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Prints docs/errors.md as tables of C: its entries, and the words of their errors. An entry
# is a line "### NAME: TITLE", an indented block with its words, and text; it belongs to the
# last line "## GROUP" before. The entries of the last group are weak: their words only say
# that something has failed.
#
# Words are compared in small letters and without spaces. They are printed as pieces, those
# between "...", each with a zero behind; the last one is empty. "#" begins a piece before
# which only numbers may be.
#
# usage: embed.sh errors.md

set -eu

exec awk '
    function quote(text, end)
    {
        gsub(/[\\"]/, "\\\\&", text)
        return "\"" text end "\""
    }

    # @return whether the last entry is complete: it had words (step 1), then text (2)
    function is_complete()
    {
        if (step == 1) {
            print FILENAME ": line " FNR ": no words, or no text: " title[num] > "/dev/stderr"
        }
        return step != 1
    }

    /^##/ && !is_complete() { failed = 1; exit 1 }
    /^## / { group = substr($0, 4); step = 0; next }
    /^### / { step = 1; title[++num] = substr($0, 5); groups[num] = group; gap = ""; next }
    step == 0 || (step == 1 && /^$/) { next }
    step == 1 && /^    / {
        pieces = tolower($0)
        gsub(/ /, "", pieces)
        pieces = quote(pieces, "\\0")
        gsub(/\.\.\./, "\\0\" \"", pieces)
        gsub(/#/, "\\0\" \"#", pieces)
        words[++num_words] = sprintf("{%d, %s}", num - 1, pieces)
        has_words[num]     = 1
        next
    }
    /^$/ { gap = gap quote("", "\\n") "\n"; next } # Not at the end of a text
    {
        step      = (num in has_words) ? 2 : 1
        text[num] = text[num] gap quote($0, "\\n") "\n"
        gap       = ""
    }

    END {
        if (failed || !is_complete() || num == 0) exit 1
        print "static const entry_t entries[] = {"
        for (i = 1; i <= num; ++i) {
            printf "{%s, %s, %d,\n%s},\n", quote(title[i]), quote(groups[i]),
                   groups[i] == groups[num], text[i]
        }
        print "};\nstatic const words_t words[] = {"
        for (i = 1; i <= num_words; ++i) print words[i] ","
        print "};"
    }' "$1"
