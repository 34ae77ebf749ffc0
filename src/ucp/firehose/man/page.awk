# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Makes a manual page of section 3, in mdoc, of the comments in a public header.
#
#     awk -v page=NAME.3 -v examples=FOLDER -f read.awk -f mdoc.awk -f page.awk \
#         PAGES HEADER EXAMPLE
#
# PAGES says which functions share a page, and which functions of the program EXAMPLE
# show their use, see there. FOLDER is where EXAMPLE gets installed. NAME is a function:
# where it is not the first one of its page, the page only refers to that.

function die(text) {
    print "page.awk: " page ": " text > "/dev/stderr"
    failed = 1
    exit 1
}

function read_pages(line,    key) {
    if (line ~ /^#/ || line ~ /^[ \t]*$/) return
    key = line
    sub(/ .*$/, "", key)
    sub(/^[a-z]+ */, "", line)
    if (key == "date") {
        date = line
    } else if (key == "page") {
        pages[++num_pages] = line
        calls[num_pages] = " " line " "
        sub(/ .*$/, "", pages[num_pages])
    } else if (key == "about") {
        about[num_pages] = line
    } else if (key == "types") {
        types[num_pages] = line
    } else if (key == "example") {
        shown[num_pages] = line
    } else {
        die("line " FNR " of the list of pages begins with \"" key \
            "\"; accepted: date, page, about, types, example")
    }
}

# A function of the program, from the line with its name to its end
function read_example(line,    name) {
    if (match(line, /^[a-z].* \**[a-z_]+\(/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        sub(/^.*[ *]/, "", name)
        defined_now = name
    }
    if (defined_now == "") return
    gsub(/\\/, "\\e", line)
    code_of[defined_now] = code_of[defined_now] "\n" line
    if (line ~ /^}/) defined_now = ""
}

function put_params(name,    i) {
    if (num_params[name] + 0 == 0) return
    print ".Bl -tag -width Ds"
    for (i = 1; i <= num_params[name]; ++i) {
        print ".It Fa " param[name, i] (is_out[name, i] ? " No (set)" : "")
        put_text(param_text[name, i])
    }
    print ".El"
}

function put_prototype(name,    list, n, i) {
    print ".Ft " type[name]
    print ".Fo " name
    n = split(args[name], list, /, */)
    for (i = 1; i <= n; ++i) print ".Fa \"" list[i] "\""
    print ".Fc"
}

function put_type(name,    tag, i) {
    print ".Ss " name
    if (name in declared) {
        print ".Bd -literal"
        print declared[name] ";"
        print ".Ed"
        print ".Pp"
        put_text(text[name])
        put_params(name)
        return
    }

    tag = (name in alias) ? alias[name] : name
    if (!(tag in num_members)) die("there is no type " name " in the header")
    put_text(members_text[tag])
    print ".Bl -tag -width Ds" (is_enum[tag] ? " -compact" : "")
    for (i = 1; i <= num_members[tag]; ++i) {
        if (is_enum[tag]) {
            print ".It Dv " member[tag, i]
        } else {
            print ".It Vt \"" member_type[tag, i] "\" Ns Fa " member[tag, i]
            put_text(member_doc[tag, i] (member_doc[tag, i] ~ /[.]$/ ? "" : "."))
        }
    }
    print ".El"
}

# The names of the functions that share a comment
function put_item(name,    list, n, i, line) {
    n = split(name group[name], list, " ")
    line = ".It Fn " list[1]
    for (i = 2; i <= n; ++i) line = line " , Fn " list[i]
    print line
}

function put_name(    list, n, i) {
    print ".Sh NAME"
    n = split(calls[number], list, " ")
    for (i = 1; i <= n; ++i) print ".Nm " list[i] (i < n ? " ," : "")
    print ".Nd " about[number]
}

function put_synopsis(    list, n, i) {
    print ".Sh SYNOPSIS"
    print ".In ucp/firehose/firehose.h"
    n = split(calls[number], list, " ")
    for (i = 1; i <= n; ++i) put_prototype(list[i])
    print ".Pp"
    print "Compile and link with"
    print ".Ql $(pkg-config --cflags --libs ucp-firehose) ."
}

function put_description(    list, n, i) {
    print ".Sh DESCRIPTION"
    print ".Bl -tag -width Ds"
    n = split(calls[number], list, " ")
    for (i = 1; i <= n; ++i) {
        if (list[i] in shares) continue
        put_item(list[i])
        put_text(text[list[i]])
        put_params(list[i])
    }
    print ".El"
    n = split(types[number], list, " ")
    for (i = 1; i <= n; ++i) put_type(list[i])
}

function put_returned(name,    what) {
    what = returned[name]
    if (type[name] == "ucs_status_t" && what !~ /UCS_OK/ && what !~ /^As /) {
        what = "UCS_OK, or " what
    }
    put_item(name)
    put_text(what)
}

function put_return_values(    list, n, i, begun) {
    n = split(calls[number], list, " ")
    for (i = 1; i <= n; ++i) {
        if (list[i] in shares) continue
        if (returned[list[i]] == "") {
            if (type[list[i]] != "void") die(list[i] "() lacks @return")
            continue
        }
        if (!begun++) {
            print ".Sh RETURN VALUES"
            print ".Bl -tag -width Ds"
        }
        put_returned(list[i])
    }
    if (begun) print ".El"
}

function put_gasnet(    list, n, i, begun) {
    n = split(calls[number], list, " ")
    for (i = 1; i <= n; ++i) {
        if (!(list[i] in gasnet)) continue
        if (!begun++) {
            print ".Sh GASNET"
            print "What GASNet's firehose library calls them:"
            print ".Pp"
            print ".Bl -tag -width Ds -compact"
        }
        print ".It Fn " list[i]
        put_text(gasnet[list[i]])
    }
    if (begun) print ".El"
}

function put_examples(    list, n, i) {
    print ".Sh EXAMPLES"
    print "From a whole program of several processes,"
    print ".Pa " examples "/firehose.c :"
    n = split(shown[number], list, " ")
    if (n == 0) die("the page has no example")
    for (i = 1; i <= n; ++i) {
        if (!(list[i] in code_of)) die("the example has no " list[i] "()")
        print ".Bd -literal" code_of[list[i]]
        print ".Ed"
    }
}

function put_see_also(    i) {
    print ".Sh SEE ALSO"
    for (i = 1; i <= num_pages; ++i) {
        if (i != number) print ".Xr " pages[i] " 3 ,"
    }
    print ".Xr ucx_predreg 7"
    print ".Pp"
    print "How large a bucket should be, and what happens when memory or a peer"
    print "goes away:"
    print ".Pa docs/firehose.md"
    print "in the documentation of ucx-predreg."
    print ".Pp"
    print "C. Bell and R. Nishtala,"
    # In quotes, because An is a macro as well
    print ".Em \"Firehose: An Algorithm for Distributed Page Registration on" \
          " Clusters of SMPs\" ,"
    print "2004."
}

function put_page() {
    print ".\\\" Copyright (c) 2026 The ucx-predreg authors. " \
          "See file LICENSE for terms."
    print ".\\\" Made of firehose.h and man/pages by man/page.awk."
    print ".Dd " date
    print ".Dt " toupper(pages[number]) " 3"
    print ".Os"
    put_name()
    put_synopsis()
    put_description()
    put_return_values()
    print ".Sh THREADS"
    put_text(threads)
    put_gasnet()
    put_examples()
    put_see_also()
}

# Every function is on one page, and every name on a page is a function
function check_pages(    i, j, n, list, seen) {
    for (i = 1; i <= num_pages; ++i) {
        n = split(calls[i], list, " ")
        for (j = 1; j <= n; ++j) {
            if (!(list[j] in type)) die("the header has no " list[j] "()")
            if (seen[list[j]]++) die(list[j] "() is on two pages")
            if ((list[j] in shares) && !index(calls[i], " " shares[list[j]] " "))
                die(list[j] "() has its comment on another page")
        }
    }
    for (i = 1; i <= num_functions; ++i) {
        if (!seen[functions[i]]) die(functions[i] "() is on no page")
    }
}

BEGIN {
    sub(/\.3$/, "", page)
}

FNR == 1 {
    ++file
}

file == 1 {
    read_pages($0)
}

file == 2 {
    read_header($0)
}

file == 3 {
    read_example($0)
}

END {
    if (failed) exit 1
    check_pages()
    for (number = 1; number <= num_pages; ++number) {
        if (is_here(page)) break
    }
    if (number > num_pages) die("there is no such function on any page")
    if (pages[number] == page) put_page()
    else print ".so man3/" pages[number] ".3"
}
