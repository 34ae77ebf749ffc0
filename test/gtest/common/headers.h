/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_HEADERS_H_
#define PREDREG_GTEST_HEADERS_H_

/* What most tests include, to be compiled once, see Makefile.am. No test relies
 * on it: each includes what it uses. */

#include <gtest/gtest.h>
#include <stdatomic.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#endif
