#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The preloaded library in processes that are not like those of a job: with a
# UCX under other names, as repaired Python wheels have it, with two of them,
# with one that is closed again, in a process that changes its folder before it
# uses UCX, and beside a UCX of another version. The program must do what it
# does without the library.
#
# usage: preload.sh BUILD-FOLDER

set -eu
build=$1
libraries=$build/src/uct/ib/predreg/.libs
library=$libraries/libuct_predreg.so
loadall=$build/test/apps/loadall
plugin=$build/test/apps/.libs/selftalk.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
errors=0

command -v patchelf > /dev/null || { echo "no patchelf"; exit 77; }

fail()
{
    echo "FAILED: $*"
    errors=1
}

# repair FOLDER HASH: the UCX of this machine under names of its own
repair()
{
    local folder=$1 hash=$2 ucp file name files=()
    mkdir -p "$folder/ucx"
    ucp=$(ldd "$plugin" | awk '$1 == "libucp.so.0" {print $3}')
    for name in ucp uct ucs ucm; do
        file=$folder/lib$name-$hash.so.0
        cp -L "${ucp%/*}/lib$name.so.0" "$file"
        patchelf --set-soname "${file##*/}" "$file"
        files+=("$file")
    done
    for file in "${ucp%/*}"/ucx/*.so.0; do
        cp -L "$file" "$folder/ucx"
        files+=("$folder/ucx/${file##*/}")
    done
    for file in plugin program; do
        cp "${!file}" "$folder/"
        files+=("$folder/$(basename "${!file}")")
    done
    for file in "${files[@]}"; do
        # Some versions of patchelf confuse several changes at once
        for name in ucp uct ucs ucm; do
            patchelf --replace-needed "lib$name.so.0" "lib$name-$hash.so.0" \
                "$file"
        done
        patchelf --set-rpath "$folder" "$file"
    done
}

# runs NAME COMMAND...: passes under the preload, as it does without; what it
# says is in $output
runs()
{
    local name=$1
    shift
    echo "== $name"
    output=$(timeout -k 1 20 "$@" 2>&1) || {
        fail "$name: fails without the library, status $?"
        echo "$output"
    }
    output=$(LD_PRELOAD=${preload:-$library} timeout -k 1 20 "$@" 2>&1) ||
        fail "$name: failed, status $?"
    echo "$output"
}

# says COUNT PATTERN: so many lines of $output have it
says()
{
    [ "$(grep -cE "$2" <<< "$output" || true)" -eq "$1" ] ||
        fail "expected $1 of '$2'"
}

# compile NAME: a library from standard input
compile()
{
    cc -shared -fPIC -x c -o "$work/$1" -
}

program=$build/test/apps/selftalk
[ ! -x "$build/test/apps/.libs/selftalk" ] ||
    program=$build/test/apps/.libs/selftalk
repair "$work/one" 1a2b3c
repair "$work/two" 4d5e6f
one=$work/one/selftalk.so
two=$work/two/selftalk.so

for options in "" -n -c -g -b "-b -n"; do
    runs "the UCX of this machine, $options" "$loadall" $options "$plugin"
    case $options in
    *-b*) says 1 'cores: [01]' ;; # It may go past us
    *)    says 1 'cores: 1' ;;
    esac
    says 0 'aside|predreg'

    runs "a repaired UCX, $options" "$loadall" $options "$one"
    says 1 'cores: 0'
done

runs "a repaired UCX" "$loadall" "$one"
says 1 'stepping aside: .*libuct-1a2b3c.so.0'
says 1 'aside'

for options in "" -n -c -b; do
    runs "two repaired ones, $options" "$loadall" $options "$one" "$two"
    says 1 'cores: 0'
    runs "that of this machine first, $options" \
        "$loadall" $options "$plugin" "$one" "$two"
    runs "a repaired one first, $options" \
        "$loadall" $options "$two" "$plugin" "$one"
done

# A library of another UCX that is loaded for all to use when a plug-in is already bound
# to its own UCX: UCX 1.18 does so to its libucs (libucs_fuse.so). Modules that this UCX
# loads later would be bound to the other one, without the preload too: it has none
repair "$work/bare" 7a8b9c
rm -r "$work/bare/ucx"
bare=$work/bare/selftalk.so
runs "libucs for all" "$loadall" -n -a libucs.so.0 "$bare"
says 1 'stepping aside: .*libuct-7a8b9c.so.0'
says 1 'cores: 0'
runs "libucs for all, after a repaired UCX" \
    "$loadall" -n -a libucs.so.0 "$bare" "$plugin"
says 1 'stepping aside: .*libuct-7a8b9c.so.0'
says 1 'cores: 1'

# None of its functions works, so that a call that reaches it is noticed
nm -D "$work/two/libucp-4d5e6f.so.0" |
    awk '$2 == "T" && $3 ~ /^ucp_/ {
             print "void " $3 "(void) { __builtin_trap(); }"
         }' | compile trap.so
for first in "$bare" "$plugin"; do
    runs "another UCP for all, after $first" \
        "$loadall" -n -a "$work/trap.so" "$first"
    says 0 'no such function'
done

runs "a repaired UCX in a program" "$work/one/selftalk"
says 1 'stepping aside: .* does not belong'

# From which folder the core is loaded
mkdir "$work/evil"
echo '__attribute__((constructor)) static void evil(void)
      { __builtin_puts("evil"); }' | compile evil/libuct_predreg_core.so
cd "$libraries"
preload=./libuct_predreg.so \
    runs "a relative path" "$loadall" -d "$work/evil" "$plugin"
says 1 'cores: 1'
says 0 'evil|aside'
LD_LIBRARY_PATH=. preload=libuct_predreg.so \
    runs "a path that is searched" "$loadall" -d "$work/evil" "$plugin"
says 1 'cores: 1'
says 0 'evil|aside'
cd - > /dev/null

# In each of these the program has UCX from the start
runs "a program with UCX" "$program"
says 0 .
runs "all functions are bound at once" env LD_BIND_NOW=1 "$program"
says 0 .
runs "a program without UCX" sh -c :
says 0 .
runs "a program that uses UCT" ucx_perftest -l -t am_bw -D zcopy -s 65536 \
    -x tcp -d lo -n 100 -f < /dev/null
says 0 'predreg|aside|ERROR'

# UCX is used before the preloaded library is initialised: by the constructor of another
# one
cc -shared -fPIC -o "$work/talk.so" -x c - -x none "$plugin" \
    -Wl,-rpath,"${plugin%/*}" << 'END'
extern int selftalk(void);
__attribute__((constructor)) static void talk(void)
{
    if (selftalk() != 0) {
        __builtin_trap();
    }
}
END
echo 'int main(void) { return 0; }' |
    cc -o "$work/constructor" -x c - -x none -Wl,--no-as-needed "$work/talk.so" \
        -Wl,-rpath,"${plugin%/*}"
runs "a constructor that uses UCX" env UCX_RCACHE_PRED_SUMMARY=text \
    "$work/constructor"
says 1 'nothing to manage: UCX opened'
says 0 'aside'

# MPI that does not use UCX: who asks for a summary or a trace is told so, once
echo '#include <stdlib.h>
      int PMPI_Initialized(int *flag)
      {
          *flag = getenv("NO_INIT") == NULL;
          return 0;
      }' | compile mpi.so
preload="$library $work/mpi.so"
runs "MPI without UCX" true
says 0 .
for variable in UCX_RCACHE_PRED_SUMMARY=json UCX_RCACHE_PRED_TRACE=t; do
    runs "MPI without UCX, $variable" env $variable bash -c "(exit 0); exit 0"
    says 1 'nothing to manage: MPI has not used UCX'
    runs "MPI that was not started, $variable" env $variable NO_INIT=1 true
    says 0 .
    runs "the second rank, $variable" env $variable PMI_RANK=1 true
    says 0 .
done
runs "MPI with UCX" env UCX_RCACHE_PRED_SUMMARY=text "$program"
says 0 'MPI has not'
runs "no summary" env UCX_RCACHE_PRED_SUMMARY=none true
says 0 .
preload=

cp -r "$libraries" "$work/copy"
preload="$library $work/copy/libuct_predreg.so" runs "two copies" "$program"
says 1 'stepping aside: .*/\.libs/libuct_predreg.so was preloaded before'
says 1 .
preload="$library $work/copy/libuct_predreg.so" \
    runs "two copies, UCX loaded later" "$loadall" "$plugin"
says 1 'cores: 1'

# A tool that overrides functions of UCX as well is called in its turn
echo '#define _GNU_SOURCE
      #include <dlfcn.h>
      #include <stdio.h>
      int ucp_config_read(void *a, void *b, void *c)
      {
          int (*next)(void*, void*, void*) = dlsym(RTLD_NEXT, __func__);
          puts("tool");
          return next(a, b, c);
      }' | compile tool.so
for preload in "$library $work/tool.so" "$work/tool.so $library"; do
    runs "another tool" "$program"
    says 1 tool
    says 1 .
done

# An auditor of the loader is told of every function that is bound, and may
# change what it is bound to. This one changes nothing, and tells when one of
# UCX is bound to the library
compile audit.so << 'END'
#define _GNU_SOURCE
#include <link.h>
#include <string.h>
#include <unistd.h>
unsigned la_version(unsigned version)
{
    return version;
}
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from,
                       uintptr_t *to, unsigned *flags, const char *name)
{
    const char *library = ((struct link_map*)*to)->l_name;
    static int told;
    if (!told && !strcmp(name, "ucp_init_version") &&
        (strstr(library, "libuct_predreg.so") != NULL)) {
        /* Its C library is one of its own, which does not flush at the end */
        told = (write(STDOUT_FILENO, "audited\n", 8) == 8);
    }
    return symbol->st_value;
}
END
preload=$library
runs "an auditor" env LD_AUDIT="$work/audit.so" "$program"
says 1 audited
says 1 .
runs "an auditor, UCX loaded later" \
    env LD_AUDIT="$work/audit.so" "$loadall" "$plugin"
says 1 audited
says 1 'cores: 1'
says 0 'aside'

# Another version of UCX: what tells it is overridden
version()
{
    echo "void ucp_get_version(unsigned *major, unsigned *minor,
                               unsigned *release)
          { *major = 1; *minor = $1; *release = 0; }" | compile version.so
}
version 12
echo 'int uct_md_mem_reg_v2;' | compile uct.so
preload="$library $work/version.so"
runs "another version" "$program"
says 1 'stepping aside: this process uses UCX 1.12; accepted: 1.13 to 1'
version 99
runs "a later version" "$program"
says 1 'stepping aside: this process uses UCX 1.99; accepted: 1.13 to 1'
says 1 .
runs "another version, loaded later" "$loadall" "$plugin"
says 1 'stepping aside: this process uses UCX 1.99'
says 1 'cores: 0'
preload="$library $work/uct.so"
cc -o "$work/uct" -x c - -Wl,--no-as-needed -l:libuct.so.0 << 'END'
extern int uct_query_components(void***, unsigned*);
extern int uct_md_config_read(void*, void*, void*, void**);
int main(void)
{
    void **components, *config;
    unsigned count;
    return uct_query_components(&components, &count) ||
           uct_md_config_read(components[0], 0, 0, &config);
}
END
runs "another version of UCT" "$work/uct"
says 1 'stepping aside: this program uses UCT without UCP'
says 1 .
preload=
runs "a program that has UCT only" "$work/uct"
says 0 .

# A program with rights that its user lacks. The loader ignores the variable
# then, so this one needs the library
if [ "$(id -u)" -eq 0 ]; then
    chmod 755 "$work"
    cp "$program" "$work/secure"
    patchelf --add-needed libuct_predreg.so "$work/secure"
    patchelf --set-rpath "$work/copy" "$work/secure"
    chown nobody "$work/secure"
    chmod u+s "$work/secure"
    runs "a program with more rights" "$work/secure"
    says 1 'stepping aside: this program has rights'
    says 1 .
fi

exit $errors
