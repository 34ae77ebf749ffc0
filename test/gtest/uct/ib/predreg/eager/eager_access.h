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

#include <ucs/reuse/costs.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/* What tests need of the files of small sends whose headers have C atomics. */

typedef struct uct_predreg_eager_context test_eager_context_t;

/* List a context whose buffers are hot from so many sends on */
test_eager_context_t *
test_eager_add(uct_predreg_core_t *core, const uct_predreg_real_t *real,
               ucp_context_h ucp, size_t min_length, int flag_decides,
               unsigned threshold);
/* The context of UCP that is listed, or NULL */
test_eager_context_t *test_eager_listed(ucp_context_h ucp);
/* What it had at its start, by which all messages are copied */
void test_eager_set_costs(test_eager_context_t *context,
                          const ucs_reuse_costs_t *costs);
/* As where the program waits, at some time, ns */
void test_eager_look(test_eager_context_t *context, uint64_t now);
size_t test_eager_min_length(test_eager_context_t *context);
size_t test_eager_max_length(test_eager_context_t *context);
int test_eager_flag_decides(test_eager_context_t *context);
void test_eager_add_worker(ucp_context_h ucp, ucp_worker_h worker);
void test_eager_making_worker(ucp_context_h ucp);
void test_eager_remove_worker(ucp_worker_h worker);
/* How many sends without a copy there may be with a callback of the program */
unsigned test_eager_max_flights(void);
/* Make a buffer of the table hot that nothing is registered of */
int test_eager_heat(test_eager_context_t *context, const void *address,
                    uint32_t handle);
uint64_t test_eager_bytes(test_eager_context_t *context);

unsigned test_eager_send(uct_predreg_sender_t **sender_p, ucp_ep_h ep,
                         const void *buffer, size_t length,
                         const ucp_request_param_t *param,
                         uct_predreg_send_t *send);
void test_eager_sent(uct_predreg_sender_t *sender,
                     const uct_predreg_send_t *send, size_t length,
                     ucs_status_ptr_t result);
void test_eager_idle(uct_predreg_sender_t **sender_p, ucp_worker_h worker);
void test_eager_fork(void);
/* What the counters have grown by since this was called last */
void test_eager_counts(uint64_t *sends_p, uint64_t *hot_p, uint64_t *bytes_p);

void test_hot_unmapped(uintptr_t start, uintptr_t end);
void test_hot_registered(void *domain, uct_mem_h memh);
int test_hot_freeing(void *request);

/* Sends whose calls of UCP return in one thread, which frees some of the requests, and that
 * UCP calls back for in another one. @return how many are missing in the end */
unsigned test_flights_of_two_threads(unsigned sends, unsigned *freed_p,
                                     unsigned *silent_p);
int test_hot_give_way(void (*end)(void *domain, uct_mem_h memh));
int test_hot_is_returning(void);

/* Whether messages of a length are left alone, of those of 1 byte and more */
int test_endpoint_has_no_zcopy(ucp_ep_h ep, uct_predreg_message_t message,
                               size_t length);
void test_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                          size_t length);
void test_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                            size_t length);
void test_endpoints_forget(void);

END_C_DECLS

#endif
