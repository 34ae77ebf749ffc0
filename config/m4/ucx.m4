# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.

# PREDREG_CHECK_UCX
# Finds UCX through pkg-config and stops on a version whose headers the sources
# do not know. The library works beside any known version, whichever of them it
# was built with.
AC_DEFUN([PREDREG_CHECK_UCX], [
    AC_MSG_CHECKING([for UCX])
    AS_IF([! $PKG_CONFIG --exists ucx ucx-uct ucx-ucs],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR(m4_normalize([
               UCX was not found by pkg-config; UCX 1.13 to 1.23 is needed
               (Debian: libucx-dev; elsewhere: set PKG_CONFIG_PATH)]))])
    PREDREG_UCX_VERSION=`$PKG_CONFIG --modversion ucx`
    AC_MSG_RESULT([$PREDREG_UCX_VERSION])

    predreg_ucx_major=`echo "$PREDREG_UCX_VERSION" | cut -d. -f1`
    predreg_ucx_minor=`echo "$PREDREG_UCX_VERSION" | cut -d. -f2`
    AS_CASE([$predreg_ucx_major.$predreg_ucx_minor],
            [1.1@<:@3-9@:>@|1.2@<:@0-3@:>@], [],
            [AC_MSG_ERROR(m4_normalize([
                found UCX $PREDREG_UCX_VERSION; accepted are 1.13 to 1.23]))])

    UCX_CFLAGS=`$PKG_CONFIG --cflags ucx ucx-uct ucx-ucs`
    UCS_LIBS=`$PKG_CONFIG --libs ucx-ucs`
    UCP_LIBS=`$PKG_CONFIG --libs ucx`
    UCX_LIBDIR=`$PKG_CONFIG --variable=libdir ucx`
    AC_SUBST([UCX_CFLAGS])
    AC_SUBST([UCX_LIBDIR])
    UCT_LIBS=`$PKG_CONFIG --libs ucx-uct`
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
])
