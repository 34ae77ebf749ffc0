# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.

AC_DEFUN([PREDREG_CHECK_WARNINGS], [
    PREDREG_CFLAGS="-D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare"
    PREDREG_CFLAGS="$PREDREG_CFLAGS -Wno-unused-function -fvisibility=hidden"
    AC_ARG_ENABLE([werror],
                  [AS_HELP_STRING([--enable-werror], [warnings are errors])],
                  [], [enable_werror=no])
    AS_IF([test "x$enable_werror" = xyes],
          [PREDREG_CFLAGS="$PREDREG_CFLAGS -Werror"])
    AC_SUBST([PREDREG_CFLAGS])
])

# --enable-sanitize=address|thread builds everything with that sanitizer
AC_DEFUN([PREDREG_CHECK_SANITIZE], [
    AC_ARG_ENABLE([sanitize],
                  [AS_HELP_STRING([--enable-sanitize=address|thread],
                                  [build with address and undefined-behaviour
                                   sanitizers, or with the thread sanitizer])],
                  [], [enable_sanitize=no])
    AS_CASE([$enable_sanitize],
            [no], [SANITIZE_CFLAGS=],
            [address],
            [SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"],
            [thread],
            dnl Fences of sequence locks are beyond it; the words are atomic
            [SANITIZE_CFLAGS="-fsanitize=thread -Wno-tsan"],
            [AC_MSG_ERROR([--enable-sanitize=$enable_sanitize: accepted are address and thread])])
    AC_SUBST([SANITIZE_CFLAGS])

    dnl Undefined behaviour is looked for in the library: in the tests themselves,
    dnl which are in C++, it would take a sixth more of the time to compile them
    AS_CASE([$enable_sanitize],
            [address], [SANITIZE_CXXFLAGS="-fsanitize=address"],
            [SANITIZE_CXXFLAGS=$SANITIZE_CFLAGS])
    AC_SUBST([SANITIZE_CXXFLAGS])

    AM_CONDITIONAL([SANITIZES_THREADS], [test $enable_sanitize = thread])

    dnl Whether make may run what it has built. The thread sanitizer does not
    dnl work everywhere
    AM_CONDITIONAL([RUNS_BUILT],
                   [test "$cross_compiling/$enable_sanitize" = no/no])
])

# --enable-debug asserts the order of locks, and so does a sanitizer
AC_DEFUN([PREDREG_CHECK_DEBUG], [
    AC_ARG_ENABLE([debug],
                  [AS_HELP_STRING([--enable-debug],
                                  [end the process where locks are taken out
                                   of order])],
                  [], [enable_debug=no])
    AS_IF([test "x$enable_debug/$enable_sanitize" != xno/no],
          [CPPFLAGS="$CPPFLAGS -DUCS_ASSERT_RANKS=1"])
])

# PREDREG_ADDON(name, what the library does without it)
AC_DEFUN([PREDREG_ADDON], [
    AC_ARG_WITH([$1], [AS_HELP_STRING([--without-$1], [$2])], [], [with_$1=yes])
    AS_CASE([$with_$1], [yes | no], [],
            [AC_MSG_ERROR([--with-$1=$with_$1: accepted are yes and no])])
    AM_CONDITIONAL(m4_toupper([WITH_$1]), [test "x$with_$1" = xyes])
    AS_IF([test "x$with_$1" = xyes], [predreg_with=1], [predreg_with=0])
    PREDREG_ADDONS="$PREDREG_ADDONS -D[]m4_toupper([PREDREG_WITH_$1])=$predreg_with"
])

AC_DEFUN([PREDREG_CHECK_ADDONS], [
    PREDREG_ADDON([eager], [build no small sends from reused buffers])
    PREDREG_ADDON([arena], [build no arena of registered memory])
    PREDREG_ADDON([firehose], [build neither libucp_firehose nor windows by it])
    AC_SUBST([PREDREG_ADDONS])
])

# The MPI programs of the tests are ordinary C programs linked with Open MPI
AC_DEFUN([PREDREG_CHECK_MPI], [
    predreg_have_mpi=no
    PKG_CHECK_MODULES([MPI], [ompi-c], [predreg_have_mpi=yes], [true])
    AM_CONDITIONAL([HAVE_MPI], [test $predreg_have_mpi = yes])

    dnl OpenSHMEM comes with Open MPI, and not with others
    predreg_have_shmem=no
    AS_IF([test $predreg_have_mpi = yes],
          [predreg_saved_cppflags=$CPPFLAGS
           CPPFLAGS="$CPPFLAGS $MPI_CFLAGS"
           AC_CHECK_HEADER([shmem.h], [predreg_have_shmem=yes])
           CPPFLAGS=$predreg_saved_cppflags])
    AM_CONDITIONAL([HAVE_SHMEM], [test $predreg_have_shmem = yes])

    AC_OPENMP
    AM_CONDITIONAL([HAVE_OPENMP], [test "x$ac_cv_prog_c_openmp" != xunsupported])
])

AC_DEFUN([PREDREG_CHECK_TEST_DEPS], [
    AC_ARG_ENABLE([tests],
                  [AS_HELP_STRING([--disable-tests],
                                  [leave out all programs that are not
                                   installed])],
                  [], [enable_tests=yes])
    AM_CONDITIONAL([BUILDS_TESTS], [test "x$enable_tests" != xno])

    predreg_have_gtest=no
    PKG_CHECK_MODULES([GTEST], [gtest_main], [predreg_have_gtest=yes], [true])
    AM_CONDITIONAL([HAVE_GTEST], [test $predreg_have_gtest = yes])
    predreg_have_uring=no
    PKG_CHECK_MODULES([URING], [liburing], [predreg_have_uring=yes], [true])
    AM_CONDITIONAL([HAVE_URING], [test $predreg_have_uring = yes])

    dnl The native rig has UCT under a name of its own
    predreg_have_native=no
    AC_PATH_PROG([PATCHELF], [patchelf])
    AS_IF([test -n "$PATCHELF" && test $predreg_have_uring = yes],
          [predreg_have_native=yes])
    AM_CONDITIONAL([HAVE_NATIVE], [test $predreg_have_native = yes])
    predreg_have_json=no
    PKG_CHECK_MODULES([JSON], [json-c], [predreg_have_json=yes], [true])
    AM_CONDITIONAL([HAVE_JSON], [test $predreg_have_json = yes])

    dnl Only timed, beside glibc's backtrace()
    predreg_have_unwind=no
    PKG_CHECK_MODULES([UNWIND], [libunwind], [predreg_have_unwind=yes], [true])
    AS_IF([test $predreg_have_unwind = yes],
          [UNWIND_CFLAGS="$UNWIND_CFLAGS -DHAVE_LIBUNWIND=1"])
])

# Traces are packed by zlib
AC_DEFUN([PREDREG_CHECK_ZLIB], [
    PKG_CHECK_MODULES([ZLIB], [zlib], [],
                      [AC_MSG_ERROR([zlib was not found (Debian: zlib1g-dev)])])
])

# Names of functions and source lines in reports
AC_DEFUN([PREDREG_CHECK_LIBDW], [
    AC_ARG_WITH([libdw],
                [AS_HELP_STRING([--without-libdw],
                                [offsets instead of names in reports])],
                [], [with_libdw=check])
    predreg_have_libdw=no
    AS_IF([test "x$with_libdw" != xno],
          [PKG_CHECK_MODULES([LIBDW], [libdw], [predreg_have_libdw=yes],
                             [AS_IF([test "x$with_libdw" = xyes],
                                    [AC_MSG_ERROR([libdw was not found (Debian: libdw-dev)])])])])
    AM_CONDITIONAL([HAVE_LIBDW], [test $predreg_have_libdw = yes])
])

# Where the environment module gets. Where it is looked for differs between
# systems; `module use` names further folders
AC_DEFUN([PREDREG_CHECK_MODULEFILES], [
    AC_ARG_WITH([modulefilesdir],
                [AS_HELP_STRING([--with-modulefilesdir=DIR],
                                [folder of environment modules
                                 @<:@DATADIR/modulefiles@:>@])],
                [], [with_modulefilesdir='${datadir}/modulefiles'])
    AS_CASE([$with_modulefilesdir],
            [no|yes], [AC_MSG_ERROR(m4_normalize([
                --with-modulefilesdir=$with_modulefilesdir: accepted are
                folders]))])
    AC_SUBST([modulefilesdir], [$with_modulefilesdir])
])
