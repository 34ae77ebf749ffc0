/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_WIN_MAP_ACCESS_H_
#define PREDREG_GTEST_WIN_MAP_ACCESS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/* Maps for tests in C++, which has no C atomics */

typedef struct ucp_win_map test_win_map_t;

test_win_map_t *test_win_map_make(void);

/* Frees its entries as well, which stay for good in a library */
void test_win_map_free(test_win_map_t *map);

unsigned test_win_map_count(const test_win_map_t *map);

void *ucp_win_map_find(const test_win_map_t *map, const void *key);
ucs_status_t
ucp_win_map_put(test_win_map_t *map, const void *key, void *value);
void *ucp_win_map_take(test_win_map_t *map, const void *key);

END_C_DECLS

#endif
