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
#include <uct/ib/predreg/core/types.h>

#include <sys/types.h>

BEGIN_C_DECLS

/* What tests need of the state of the core, which uses C atomics. */

/* The state that the functions below work on: one that belongs to the tests */
uct_predreg_core_t *test_core_state(void);

/* From now on it is the one of this process, which the entry points use, or
 * again that of the tests. To be called before test_core_init(). */
void test_core_select(int is_process);

/* A domain of the table, or NULL */
uct_predreg_domain_t *test_core_find_domain(uct_md_h md);

/* As before the start: knobs at their defaults, the table of UCX's functions
 * empty, the facts of the UCX that this was built for. */
void test_core_init(void);

/* Take down whatever a test has made */
void test_core_cleanup(void);

/** Let the process have another version of UCX, 1.minor; it is 1.13 at first. */
void test_core_set_ucx(unsigned minor);

/* Whether this library has switched UCP's cache off; and let it have done so */
int test_core_ucp_cache_is_off(void);
void test_core_set_ucp_cache_off(void);

/* Let calls be told apart by their paths; init says by their depth */
ucs_status_t test_core_make_paths(void);
int test_core_has_paths(void);

uct_predreg_knobs_t *test_core_knobs(void);
uct_predreg_real_t *test_core_real(void);
void test_core_set_rank(int rank);
/* Whose state this is; init says this process's */
void test_core_set_pid(pid_t pid);
/* The lock of the core */
void test_core_lock(void);
void test_core_unlock(void);
void test_core_set_pools(uint64_t bytes);
void test_core_set_opened(unsigned count);
void test_core_count_firehose(uint64_t requests, uint64_t hits);
void test_core_set_fenced_puts(int fenced);
/* A domain of which an interface does not understand pieces */
void test_core_set_whole(uct_md_h md);
int test_core_fenced_puts(void);
int test_core_is_aside(void);
unsigned test_core_num_managed(void);
unsigned test_core_num_opened(void);
uint64_t test_core_kernel_pinned(void);
ucs_rcache_pred_t *test_core_pred(void);
void test_core_set_pred(ucs_rcache_pred_t *pred);
int test_core_has_node(void);
int test_core_has_recorder(void);

/* The settings of UCX's caches for the domains of a component, and all that are not
 * UCX's defaults as text */
void test_core_settings_of(const char *component,
                           uct_predreg_settings_t *settings);
const char *test_core_told_settings(void);

/* The live counters, as another process reads them. @return 0 if there are
 * none. */
int test_core_read_live(uint64_t *uses_p, char *command, size_t max);

END_C_DECLS

#endif
