/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_EAGER_ACCESS_H_
#define PREDREG_GTEST_EAGER_ACCESS_H_

#include <uct/ib/predreg/compat/ucx_api.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/core/types.h>
#include <uct/ib/predreg/eager/eager_int.h>

#include <ucs/reuse/costs.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/* What several tests of small sends do with the tables of these. */

/* List a context whose buffers are hot from so many sends on */
uct_predreg_eager_context_t *
test_eager_add(uct_predreg_core_t *core, const uct_predreg_real_t *real,
               ucp_context_h ucp, size_t min_length, int flag_decides,
               unsigned threshold);
/* The context of UCP that is listed, or NULL */
uct_predreg_eager_context_t *test_eager_listed(ucp_context_h ucp);
/* What it had at its start, by which all messages are copied */
void test_eager_set_costs(uct_predreg_eager_context_t *context,
                          const ucs_reuse_costs_t *costs);
/* Make a buffer of the table hot that nothing is registered of */
int test_eager_heat(uct_predreg_eager_context_t *context, const void *address,
                    uint32_t handle);
/* What the counters have grown by since this was called last */
void test_eager_counts(uint64_t *sends_p, uint64_t *hot_p, uint64_t *bytes_p);

/* Sends whose calls of UCP return in one thread, which frees some of the requests, and that
 * UCP calls back for in another one. @return how many are missing in the end */
unsigned test_flights_of_two_threads(unsigned sends, unsigned *freed_p,
                                     unsigned *silent_p);

/* Whether messages of a length are left alone, of those of 1 byte and more */
int test_endpoint_has_no_zcopy(ucp_ep_h ep, uct_predreg_message_t message,
                               size_t length);

END_C_DECLS

#endif
