# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Reads a public header and leaves what it has found in these arrays:
#
#   functions[]                     their names, in the order of the header
#   type[], args[]                  of a function: what it returns, its arguments
#   text[], returned[], gasnet[]    of a function or of a type of functions: what its
#                                   comment says of it, what it returns, its name in
#                                   GASNet
#   num_params[], param[, i], param_text[, i], is_out[, i]
#                                   the parameters that the comment describes
#   shares[], group[]               of a function without a comment: the function before
#                                   it, whose comment is its own as well; of that one:
#                                   the names of those that do so
#   declared[]                      of a type of functions: its declaration
#   alias[]                         of a type: the tag of its structure
#   members_text[], is_enum[], num_members[], member[, i], member_type[, i],
#   member_doc[, i]                 of the tag of a structure or an enumeration
#
# and in threads what the header says of threads. It has to know comments that begin
# with /**, functions, structures, enumerations and types of functions, as they are
# written here. In comments it knows @param, @return, and a function's name in GASNet as
# "(GASNet: firehose_init())".

# Text of a comment without the stars at the beginning of its lines
function strip(line) {
    sub(/^[ \t]*\/\*\*<?[ \t]?/, "", line)
    sub(/[ \t]*\*\/[ \t]*$/, "", line)
    sub(/^[ \t]*\*/, "", line)
    gsub(/[ \t]+/, " ", line)
    sub(/^ /, "", line)
    return line
}

# A line of the comment that is being read. Paragraphs are kept apart by "\n"
function add_doc(line) {
    line = strip(line)
    if (line == "") {
        if (doc != "" && doc !~ /\n$/) doc = doc "\n"
    } else if (doc == "" || doc ~ /\n$/) {
        doc = doc line
    } else {
        doc = doc " " line
    }
}

# What a comment says of name: its text, its parameters, what it returns
function keep_doc(name,    rest, at, tag) {
    rest = doc
    text[name] = ""
    tag = ""
    while (match(rest, /@(param|return) /)) {
        put_part(name, tag, substr(rest, 1, RSTART - 1))
        tag = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
    }
    put_part(name, tag, rest)

    if (match(text[name], / ?\(GASNet: [a-z_]+\(\)\)/)) {
        at = substr(text[name], RSTART, RLENGTH)
        text[name] = substr(text[name], 1, RSTART - 1) \
                     substr(text[name], RSTART + RLENGTH)
        sub(/^ ?\(GASNet: /, "", at)
        sub(/\)$/, "", at)
        gasnet[name] = at
    }
}

function put_part(name, tag, part,    n) {
    gsub(/[ \n]+$/, "", part)
    if (tag == "return") {
        returned[name] = part
    } else if (tag == "param") {
        n = ++num_params[name]
        is_out[name, n] = (part ~ /^\[out\]/)
        sub(/^\[[a-z]+\] */, "", part)
        param[name, n] = substr(part, 1, index(part, " ") - 1)
        sub(/^[^ ]+ */, "", part)
        param_text[name, n] = part
    } else {
        text[name] = part
    }
}

# A declaration up to its semicolon, and the comment before it, have been read
function keep_code(    name, open) {
    gsub(/[ \t\n]+/, " ", code)
    sub(/^ /, "", code)
    sub(/ ?;.*$/, "", code)
    if (match(code, /^typedef [^(]*\(\*[a-z_]+\)/)) {
        name = substr(code, RSTART, RLENGTH)
        sub(/^.*\(\*/, "", name)
        sub(/\)$/, "", name)
        declared[name] = code
    } else if (code !~ /^typedef/ && (open = index(code, "(")) > 0) {
        name = substr(code, 1, open - 1)
        sub(/^.* \**/, "", name)
        type[name] = substr(code, 1, open - length(name) - 1)
        sub(/ $/, "", type[name])
        args[name] = substr(code, open + 1)
        sub(/\)$/, "", args[name])
        functions[++num_functions] = name
        if (doc == "") {
            shares[name] = last
            group[last] = group[last] " " name
        } else {
            last = name
        }
    } else {
        name = ""
    }

    if (name != "" && doc != "") keep_doc(name)
    code = ""
    doc = ""
}

# A member of a structure, or a constant of an enumeration
function keep_member(line,    n, name, at) {
    at = index(line, "/**<")
    if (at > 0) {
        doc = ""
        add_doc(substr(line, at))
        is_behind = (line !~ /\*\//)
        line = substr(line, 1, at - 1)
    }
    if (is_enum[inside]) {
        sub(/^[ \t]+/, "", line)
        sub(/[ ,=].*$/, "", line)
        name = line
    } else {
        sub(/;.*$/, "", line)
        gsub(/[ \t]+/, " ", line)
        sub(/^ /, "", line)
        name = line
        sub(/^.* \**/, "", name)
        sub(/[^ *]+$/, "", line)
    }
    n = ++num_members[inside]
    member[inside, n] = name
    member_type[inside, n] = line
    member_doc[inside, n] = doc
    if (!is_behind) doc = ""
}

function read_member(line) {
    if (is_behind || in_doc) {
        add_doc(line)
        if (line ~ /\*\//) {
            if (is_behind) {
                member_doc[inside, num_members[inside]] = doc
                doc = ""
            }
            is_behind = in_doc = 0
        }
    } else if (line ~ /^[ \t]*\/\*\*[^<]/) {
        add_doc(line)
        in_doc = (line !~ /\*\//)
    } else if (line ~ /^}/) {
        sub(/^} */, "", line)
        sub(/;.*$/, "", line)
        if (line != "") alias[line] = inside
        inside = ""
        doc = ""
    } else if (line !~ /^[ \t]*$/) {
        keep_member(line)
    }
}

function begin_members(line) {
    inside = line
    sub(/ *\{.*$/, "", inside)
    sub(/^.* /, "", inside)
    is_enum[inside] = (line ~ /^enum/)
    members_text[inside] = doc
    doc = ""
}

# Of what the header says of itself, the paragraph about threads
function keep_file_doc(    at) {
    at = index(doc, "\nTHREADS. ")
    if (at == 0) die("the header has no paragraph THREADS")
    threads = substr(doc, at + length("\nTHREADS. "))
    at = index(threads, "\n")
    if (at > 0) threads = substr(threads, 1, at - 1)
    doc = ""
}

function read_header(line) {
    if (inside != "") {
        read_member(line)
    } else if (in_comment || line ~ /^\/\*/) {
        if (line ~ /^\/\*\*/) {
            doc = ""
            in_doc = 1
        }
        if (in_doc) add_doc(line)
        in_comment = (line !~ /\*\//)
        if (!in_comment) {
            in_doc = 0
            if (doc ~ /^@file /) keep_file_doc()
        }
    } else if (line ~ /^#/ || line ~ /^(BEGIN|END)_C_DECLS/) {
        doc = ""
    } else if (line ~ /^(typedef struct|enum) [a-z_]+ \{/) {
        begin_members(line)
    } else if (line !~ /^[ \t]*$/) {
        code = code " " line
        if (line ~ /;/) keep_code()
    }
}
