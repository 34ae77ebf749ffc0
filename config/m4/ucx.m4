# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.

# PREDREG_UCX_BY_PKG_CONFIG
# Sets what the macros below have in common: PREDREG_UCX_VERSION, UCX_CFLAGS,
# UCX_LIBDIR, UCS_LIBS, UCT_LIBS, UCP_LIBS
AC_DEFUN([PREDREG_UCX_BY_PKG_CONFIG], [
    AS_IF([! $PKG_CONFIG --exists ucx ucx-uct ucx-ucs],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR(m4_normalize([
               UCX was not found by pkg-config; UCX 1.13 to 1.23 is needed
               (Debian: libucx-dev; elsewhere: --with-ucx=DIR, or
               PKG_CONFIG_PATH)]))])
    PREDREG_UCX_VERSION=`$PKG_CONFIG --modversion ucx`
    UCX_CFLAGS=`$PKG_CONFIG --cflags ucx ucx-uct ucx-ucs`
    UCX_LIBDIR=`$PKG_CONFIG --variable=libdir ucx`
    UCS_LIBS=`$PKG_CONFIG --libs ucx-ucs`
    UCT_LIBS=`$PKG_CONFIG --libs ucx-uct`
    UCP_LIBS=`$PKG_CONFIG --libs ucx`
])

# PREDREG_UCX_IN(folder)
# Sets the same for a UCX that is installed below a folder. Only its headers tell
# its version, without the third number. What is built finds its libraries
AC_DEFUN([PREDREG_UCX_IN], [
    predreg_ucx=`cd "$1" 2>/dev/null && pwd`
    UCX_LIBDIR=
    for predreg_dir in lib lib64 lib/`$CC -print-multiarch 2>/dev/null`; do
        AS_IF([test -z "$UCX_LIBDIR" && test -f "$predreg_ucx/$predreg_dir/libucp.so"],
              [UCX_LIBDIR=$predreg_ucx/$predreg_dir])
    done
    predreg_header=$predreg_ucx/include/ucp/api/ucp_version.h
    AS_IF([test -z "$predreg_ucx" || test ! -f "$predreg_header" || test -z "$UCX_LIBDIR"],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR(m4_normalize([
               --with-ucx=$1: no UCX there; looked for
               include/ucp/api/ucp_version.h, and for libucp.so in lib and
               lib64]))])
    PREDREG_UCX_VERSION=`sed -n 's/^#define UCP_API_VERSION.*(\(@<:@0-9@:>@*\), *\(@<:@0-9@:>@*\)).*/\1.\2/p' "$predreg_header"`
    UCX_CFLAGS="-I$predreg_ucx/include"
    UCS_LIBS="-L$UCX_LIBDIR -Wl,-rpath,$UCX_LIBDIR -lucs -lucm"
    UCT_LIBS="$UCS_LIBS -luct"
    UCP_LIBS="$UCT_LIBS -lucp"
])

# PREDREG_CHECK_UCX
# Finds UCX and stops on a version whose headers the sources do not know. The
# library works beside any known version, whichever of them it was built with.
AC_DEFUN([PREDREG_CHECK_UCX], [
    AC_ARG_WITH([ucx],
                [AS_HELP_STRING([--with-ucx=DIR],
                                [the UCX in DIR/include and DIR/lib or DIR/lib64,
                                 not the one that pkg-config finds])],
                [], [with_ucx=yes])
    AC_MSG_CHECKING([for UCX])
    AS_CASE([$with_ucx],
            [no], [AC_MSG_ERROR([--without-ucx: there is nothing without UCX])],
            [yes | ''], [PREDREG_UCX_BY_PKG_CONFIG],
            [PREDREG_UCX_IN([$with_ucx])])
    AC_MSG_RESULT([$PREDREG_UCX_VERSION])

    predreg_ucx_major=`echo "$PREDREG_UCX_VERSION" | cut -d. -f1`
    predreg_ucx_minor=`echo "$PREDREG_UCX_VERSION" | cut -d. -f2`
    AS_CASE([$predreg_ucx_major.$predreg_ucx_minor],
            [1.1@<:@3-9@:>@|1.2@<:@0-3@:>@], [],
            [AC_MSG_ERROR(m4_normalize([
                found UCX $PREDREG_UCX_VERSION; accepted are 1.13 to 1.23]))])

    AC_SUBST([UCX_CFLAGS])
    AC_SUBST([UCX_LIBDIR])
    AC_SUBST([UCS_LIBS])
    AC_SUBST([UCT_LIBS])
    AC_SUBST([UCP_LIBS])
    AC_SUBST([PREDREG_UCX_VERSION])
    AC_DEFINE_UNQUOTED([PREDREG_UCX_VERSION_STRING], ["$PREDREG_UCX_VERSION"],
                       [Version of the UCX this was built against])

    predreg_save_CPPFLAGS="$CPPFLAGS"
    CPPFLAGS="$CPPFLAGS $UCX_CFLAGS"
    AC_CHECK_HEADERS([uct/api/v2/uct_v2.h])
    AC_CHECK_HEADER([ucs/config/parser.h], [],
                    [AC_MSG_ERROR(m4_normalize([
                        UCX $PREDREG_UCX_VERSION was found, but not its header
                        ucs/config/parser.h: install its development files]))])
    CPPFLAGS="$predreg_save_CPPFLAGS"

    predreg_save_LIBS="$LIBS"
    LIBS="$UCP_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_CALL([], [ucp_get_version])], [],
                   [AC_MSG_ERROR(m4_normalize([
                       programs cannot be linked with the UCX
                       $PREDREG_UCX_VERSION in $UCX_LIBDIR, see config.log]))])
    LIBS="$predreg_save_LIBS"
])
