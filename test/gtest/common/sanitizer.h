/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_SANITIZER_H_
#define PREDREG_GTEST_SANITIZER_H_

/* Which sanitizer a test was compiled for. GCC defines macros, clang does not */
#ifndef __has_feature
#define __has_feature(_feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool ADDRESS_SANITIZER = true;
#else
constexpr bool ADDRESS_SANITIZER = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool THREAD_SANITIZER = true;
#else
constexpr bool THREAD_SANITIZER = false;
#endif

/* Long tests do so many times less under a sanitizer: it makes them slow, but
 * finds an error without many rounds */
constexpr unsigned SANITIZER_SLOWDOWN =
        (ADDRESS_SANITIZER || THREAD_SANITIZER) ? 10 : 1;

#endif
