/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_LIBRARY_H_
#define PREDREG_GTEST_LIBRARY_H_

/* The headers of the library, and what tests need besides of its parts */

#include "sanitizer.h"

#include <gtest/gtest.h>

#include <ucs/config/types.h>
#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <ucs/base/buckets.h>
#include <ucs/base/tree.h>
#include <ucs/rcache_pred/cache/cache.h>
#include <ucs/rcache_pred/predict/budget.h>
#include <ucs/rcache_pred/predict/companion.h>
#include <ucs/rcache_pred/predict/history.h>
#include <ucs/rcache_pred/api/event.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/table/dq.h>
#include <ucs/node/cpus.h>
#include <ucs/base/clock.h>
#include <ucs/node/node.h>
#include <ucs/host/own_fd.h>
#include <ucs/node/node_int.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/rcache_pred/table/forgotten.h>
#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/table/region.h>
#include <ucs/rcache_pred/table/victim.h>
#include <ucs/node/segment.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <ucs/host/thread.h>
#include <ucs/stat/live.h>
#include <ucs/rcache_pred/predict/timeq.h>
#include <trace/recorder.h>
#include <trace/ring.h>
#include <trace/sites.h>

#include "c_access.h"
}

constexpr uint64_t USEC  = 1000;
constexpr uint64_t MSEC  = 1000 * USEC;
constexpr uint64_t SEC   = 1000 * MSEC;
constexpr uint64_t HOUR  = 3600 * SEC;
constexpr uint64_t NEVER = UCS_RCACHE_PRED_TIME_INF;
constexpr size_t   PAGE  = 4096; /* Tests set it, whatever the machine has */
constexpr size_t   KB    = 1024;
constexpr size_t   MB    = 1024 * KB;

#endif
