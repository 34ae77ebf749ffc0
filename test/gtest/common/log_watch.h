/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_LOG_WATCH_H_
#define PREDREG_GTEST_LOG_WATCH_H_

#include <string>

/*
 * Warnings and errors that the library logs are not printed but collected. A
 * test that ends with one it did not take fails.
 */
class log_watch {
public:
    static void install();

    /* The oldest message not taken; empty if there is none */
    static std::string take();
};

#endif
