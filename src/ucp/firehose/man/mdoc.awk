# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Prints text of comments in mdoc. It knows @a, @ref, names of functions with (),
# types, and constants and variables of UCX. calls[number] has the functions of the page
# that is printed.

# What is in fill is not printed yet
function flush_fill() {
    if (fill != "") print (fill ~ /^[.']/ ? "\\&" : "") fill
    fill = ""
}

function add_word(word) {
    if (length(fill) + length(word) > 76) flush_fill()
    fill = fill (fill == "" ? "" : " ") word
    # roff wants each sentence to begin with a line
    if (word ~ /[.]$/) flush_fill()
}

# A macro with what stands around its word: (word),
function add_macro(macro, word, before, after) {
    flush_fill()
    gsub(/./, " &", after)
    print "." macro (before == "" ? "" : " " before) " " word after
}

function is_here(name) {
    return index(calls[number], " " name " ") > 0
}

function add_token(word, next_macro,    before, after) {
    before = after = ""
    if (word ~ /^\(/) {
        before = "("
        word = substr(word, 2)
    }
    if (match(word, /[).,;:]+$/)) {
        after = substr(word, RSTART)
        # Those of a function are its own
        if (substr(word, RSTART - 1, 2) == "()") {
            ++RSTART
            after = substr(after, 2)
        }
        word = substr(word, 1, RSTART - 1)
    }
    if (next_macro != "") {
        add_macro(next_macro, word, before, after)
    } else if (word ~ /^UC[SPT]_[A-Z0-9_]+$/) {
        add_macro("Dv", word, before, after)
    } else if (word ~ /^UCX_[A-Z0-9_]+$/) {
        add_macro("Ev", word, before, after)
    } else if (word ~ /^ucp_fh_[a-z_]+\(\)$/) {
        sub(/\(\)$/, "", word)
        if (is_here(word)) add_macro("Fn", word, before, after)
        else add_macro("Xr", word " 3", before, after)
    } else if (word ~ /^[a-z_0-9]+\(\)$/) {
        sub(/\(\)$/, "", word)
        add_macro("Fn", word, before, after)
    } else if (word ~ /^[a-z_]+_[ht]$/) {
        add_macro("Vt", word, before, after)
    } else {
        add_word(before word after)
    }
}

function put_paragraph(paragraph,    words, n, i, macro) {
    n = split(paragraph, words, " ")
    macro = ""
    for (i = 1; i <= n; ++i) {
        if (words[i] ~ /^\(?@a$/ || words[i] ~ /^\(?@ref$/) {
            macro = (words[i] ~ /a$/) ? "Fa" : "Vt"
            if (words[i] ~ /^\(/) words[i + 1] = "(" words[i + 1]
        } else {
            add_token(words[i], macro)
            macro = ""
        }
    }
    flush_fill()
}

function put_text(what,    paragraphs, n, i) {
    n = split(what, paragraphs, "\n")
    for (i = 1; i <= n; ++i) {
        if (i > 1) print ".Pp"
        put_paragraph(paragraphs[i])
    }
}
