#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Checks that uses go one way. Prints a line that begins with
#   upward:  for each function, variable or header that a file uses although it
#            is in a folder above the file's own,
#   circle:  for each use of a file that leads back to the user, directly or
#            through other files; of headers likewise,
#   straight: for each circle of the list that is none any more,
#   folder:  for each folder that has no place in the order, or too many modules
#            (a .c file and the header of its name are one module).
# Functions and variables are found in the symbols of the object files, so that
# a use which was not compiled, in a branch of #if, is not found. An object has no
# symbol of an inline function, so the calls of these are found in the text: a call
# leads to the .c file of the header's name, or to the header if there is none.
#
# usage: structure.sh SOURCES OBJECTS ORDER [CIRCLES]
#   SOURCES  folder of the sources (src)
#   OBJECTS  the folder they were compiled in (build/src)
#   ORDER    list of folders, see folders.txt
#   CIRCLES  list of circles that are accepted, see circles.txt
# exit status: 0; 1 if there is something to print; 2 if it cannot be checked

set -eu
export LC_ALL=C

# More than that cannot be taken in at a glance
max_modules=15

[ $# -eq 3 ] || [ $# -eq 4 ] || {
    echo "usage: $0 SOURCES OBJECTS ORDER [CIRCLES]" >&2
    exit 2
}
sources=$(cd "$1" && pwd)
objects=$(cd "$2" && pwd)
order=$(realpath "$3")
accepted=$(realpath "${4:-/dev/null}")
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-structure.XXXXXX")
trap 'rm -rf "$work"' EXIT

cd "$sources"
find . -name '*.[ch]' -printf '%P\n' | sort > "$work/files"

# Lines of "USER USED HOW": for symbols of object files. An object is called
# [.libs/][LIBRARY-]NAME.o in the folder of its NAME.c; objects whose source is
# gone are left over from an earlier build. Who uses a function of UCX or libc that
# preload/ overrides means that one: what is not overridden there is called predreg_*.
(cd "$objects" && find . -name '*.o' -printf '%P\n' | sort |
     xargs -r nm -A -P -g) |
awk -v files="$work/files" -v definitions="$work/definitions" '
    BEGIN {
        while ((getline file < files) > 0) {
            exists[file] = 1
        }
    }
    {
        source = $1
        sub(/:$/, "", source)
        sub(/\.libs\//, "", source)
        match(source, /[^\/]*$/)
        name   = substr(source, RSTART)
        source = substr(source, 1, RSTART - 1)
        sub(/^.*-/, "", name)
        sub(/\.o$/, ".c", name)
        source = source name
        if (!(source in exists)) {
            next
        }
        if (($3 == "U") || ($3 == "w")) {
            uses[source, $2] = 1
        } else if ((source !~ /\/preload\//) || ($2 ~ /^predreg_/)) {
            defines[$2] = source
        }
    }
    END {
        for (name in defines) {
            print name, defines[name] > definitions
        }
        for (use in uses) {
            split(use, part, SUBSEP)
            if ((part[2] in defines) && (defines[part[2]] != part[1])) {
                print part[1], defines[part[2]], part[2]
            }
        }
    }' | sort > "$work/symbols"

[ -s "$work/symbols" ] || {
    echo "$0: no object files of $sources in $objects" >&2
    exit 2
}

# The text of a file without comments, strings and preprocessor lines; and each line
# that begins an inline function in a header, or is within one, after a mark
mark_inlines()
{
    awk '
        FNR == 1 {
            is_comment = is_inline = 0
        }
        {
            line = $0
            gsub(/"([^"\\]|\\.)*"/, "", line)
            if (is_comment && !sub(/^.*\*\//, "", line)) {
                next
            }
            is_comment = 0
            gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
            is_comment = sub(/\/\*.*$/, "", line)
        }
        line ~ /^[ \t]*#/ {
            next
        }
        (FILENAME ~ /\.h$/) && (line ~ /^static .*(inline|ALWAYS_INLINE)/) {
            is_inline = 1
        }
        {
            print FILENAME, (is_inline ? "inline" : "-"), line
        }
        line ~ /^}/ {
            is_inline = 0
        }' "$@"
}

# The same for inline functions: of the files that call these, and of the files that
# they call
mapfile -t all < "$work/files"
mark_inlines "${all[@]}" > "$work/text"
awk -v definitions="$work/definitions" -v files="$work/files" '
    # The file that stands for a header
    function module_of(file,    source)
    {
        source = file
        sub(/\.h$/, ".c", source)
        return (source in exists) ? source : file
    }
    BEGIN {
        while ((getline file < files) > 0) {
            exists[file] = 1
        }
        while ((getline line < definitions) > 0) {
            split(line, part, " ")
            defines[part[1]] = part[2]
        }
    }
    # At first the names: the word before the first parenthesis
    FNR == NR {
        if (($2 != "inline") || ($3 == "static")) {
            is_named = 0
        }
        if (($2 == "inline") && !is_named &&
            match($0, /[A-Za-z_][A-Za-z_0-9]*\(/)) {
            inlines[substr($0, RSTART, RLENGTH - 1)] = $1
            is_named = 1
        }
        next
    }
    ($1 ~ /\.c$/) || ($2 == "inline") {
        user = module_of($1)
        line = substr($0, length($1 " " $2 " ") + 1)
        while (match(line, /[A-Za-z_][A-Za-z_0-9]*[ ]?\(/)) {
            name = substr(line, RSTART, RLENGTH - 1)
            line = substr(line, RSTART + RLENGTH)
            sub(/ $/, "", name)
            used = user
            if (name in inlines) {
                used = module_of(inlines[name])
            } else if (($2 == "inline") && (name in defines)) {
                used = defines[name]
            }
            if ((used != user) && !((user, used, name) in seen)) {
                seen[user, used, name] = 1
                print user, used, name
            }
        }
    }' "$work/text" "$work/text" | sort > "$work/inlines"

# The same for #include: of a file of the folder, or of one named from SOURCES
xargs -r grep -E '^[ \t]*#[ \t]*include[ \t]' /dev/null < "$work/files" |
awk -v files="$work/files" '
    BEGIN {
        while ((getline file < files) > 0) {
            exists[file] = 1
        }
        FS = ":"
    }
    {
        split($2, part, /[<>"]/)
        used = part[2]
        if ($2 ~ /"/) {
            folder = $1
            sub(/[^\/]*$/, "", folder)
            used = folder used
        }
        if (used in exists) {
            print $1, used, "#include"
        }
    }' > "$work/includes"

check_order()
{
    cat "$work/symbols" "$work/includes" |
    awk -v order="$order" -v files="$work/files" -v max="$max_modules" '
        function folder_of(file)
        {
            return sub(/\/[^\/]*$/, "", file) ? file : "."
        }
        function may_use(folder, file,    i, n, part)
        {
            if (!(folder in only)) {
                return place[folder_of(file)] <= place[folder]
            }
            n = split(only[folder], part, " ")
            for (i = 1; i <= n; ++i) {
                if ((part[i] == file) || (part[i] == folder_of(file))) {
                    return 1
                }
            }
            return folder_of(file) == folder
        }
        BEGIN {
            while ((getline line < order) > 0) {
                if (line ~ /^[ \t]*(#|$)/) {
                    continue
                }
                split(line, part, " ")
                place[part[1]] = ++num_folders
                if (part[2] == "only") {
                    sub(/^.* only /, "", line)
                    only[part[1]] = line
                }
            }
            while ((getline file < files) > 0) {
                folder = folder_of(file)
                module = file
                sub(/\.[ch]$/, "", module)
                if (!(module in seen)) {
                    seen[module] = 1
                    modules[folder]++
                }
            }
            for (folder in modules) {
                if (!(folder in place)) {
                    print "folder: " folder " is not in " order
                } else if (modules[folder] > max) {
                    print "folder: " folder " has " modules[folder] \
                          " modules; accepted: up to " max
                }
            }
        }
        (folder_of($1) in place) && (folder_of($2) in place) &&
        !may_use(folder_of($1), $2) {
            print "upward: " $1 " uses " $2 ": " $3
        }' | sort
}

# Of each circle that is not accepted, all uses that hold it together; and accepted circles
# that there are not
check_circles()
{
    awk -v accepted="$1" '
        # Marks in led[from, *] all files that a file leads to
        function follow(from, file,    i, n, part)
        {
            n = split(used_by[file], part, " ")
            for (i = 1; i <= n; ++i) {
                if (!((from, part[i]) in led)) {
                    led[from, part[i]] = 1
                    follow(from, part[i])
                }
            }
        }
        # Whether both are in one circle
        function is_circle(file, other)
        {
            return ((file, other) in led) && ((other, file) in led)
        }
        function find_accepted(    line, part, n, i, j, num, is_whole)
        {
            while ((getline line < accepted) > 0) {
                if (line ~ /^[ \t]*(#|$)/) {
                    continue
                }
                n   = split(line, part, " ")
                num = 0
                for (j in used_by) {
                    num += is_circle(part[1], j)
                }
                is_whole = (num == n)
                for (i = 1; i <= n; ++i) {
                    is_whole = is_whole && is_circle(part[1], part[i])
                }
                if (!is_whole) {
                    print "straight: no such circle any more: " line
                }
                for (i = 1; is_whole && (i <= n); ++i) {
                    known[part[i]] = 1
                }
            }
        }
        {
            if (!(($1, $2) in how)) {
                used_by[$1] = used_by[$1] " " $2
            }
            how[$1, $2] = how[$1, $2] " " $3
        }
        END {
            for (file in used_by) {
                follow(file, file)
            }
            find_accepted()
            for (use in how) {
                split(use, part, SUBSEP)
                if (((part[2], part[1]) in led) && !(part[1] in known)) {
                    print "circle: " part[1] " uses " part[2] \
                          ", which leads back to it:" how[use]
                }
            }
        }' "$2" | sort
}

sort -u "$work/symbols" "$work/inlines" > "$work/calls"
grep -E '^[^ ]*\.h [^ ]*\.h ' "$work/includes" > "$work/headers" || true
{
    check_order
    check_circles "$accepted" "$work/calls"
    check_circles /dev/null "$work/headers"
} > "$work/found"
cat "$work/found"
[ ! -s "$work/found" ]
