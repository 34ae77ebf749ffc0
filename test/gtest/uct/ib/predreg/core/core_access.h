/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_CORE_ACCESS_H_
#define PREDREG_GTEST_CORE_ACCESS_H_

#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/knobs.h>
#include <uct/ib/predreg/compat/rcache.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/types.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/md.h>

#include <sys/types.h>

BEGIN_C_DECLS

/* The state of the core, as tests begin and end with it. */

/* The state that the functions below work on: one that belongs to the tests */
uct_predreg_core_t *test_core_state(void);

/* From now on it is the one of this process, which the entry points use, or
 * again that of the tests. To be called before test_core_init(). */
void test_core_select(int is_process);

/* As before the start: knobs at their defaults, the table of UCX's functions
 * empty, the facts of the UCX that this was built for. */
void test_core_init(void);

/* Take down whatever a test has made */
void test_core_cleanup(void);

/** Let the process have another version of UCX, 1.minor; it is 1.13 at first. */
void test_core_set_ucx(unsigned minor);

/* Let calls be told apart by their paths; init says by their depth */
ucs_status_t test_core_make_paths(void);
void test_core_count_firehose(uint64_t requests, uint64_t hits);

/* The settings of UCX's caches for the domains of a component, and all that are not
 * UCX's defaults as text */
void test_core_settings_of(const char *component,
                           uct_predreg_settings_t *settings);

/* The live counters, as another process reads them. @return 0 if there are
 * none. */
int test_core_read_live(uint64_t *uses_p, char *command, size_t max);

END_C_DECLS

#endif
