/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FAKE_UCX_H_
#define PREDREG_GTEST_FAKE_UCX_H_

#include <ucp/windows/preload.h>
#include <uct/ib/predreg/compat/ucx_api.h>
#include <uct/ib/predreg/core/hooks.h>

BEGIN_C_DECLS

/*
 * The UCX that overriding functions find in this program: it does nothing but
 * note how it was called. In C, since what overrides uses C atomics.
 */

/* The last call of a communication */
typedef struct fake_comm {
    const char                *name;
    const ucp_request_param_t *param;    /* As it was handed over */
    ucp_request_param_t       options;   /* A copy, as the original may be gone */
    ucp_datatype_t            datatype;  /* The parameter, or of param */
    size_t                    count;     /* Of elements of it */
    uct_predreg_purpose_t     purpose;   /* Of registrations inside of it */
} fake_comm_t;

/* The last call of anything else */
typedef struct fake_call {
    const char *name;
    unsigned   count; /* Of calls of anything else so far */
} fake_call_t;

extern fake_comm_t fake_comm;
extern fake_call_t fake_call;

/* What everything else returns */
extern intptr_t fake_result;

/* Called inside of each communication; NULL: nothing is */
extern void (*fake_inside)(void);

/* The configuration that is read; UCP's version */
extern ucp_config_t *const fake_config;

/* Whether what is called is called by UCP; at first it is not */
void fake_set_is_ucp(int is_ucp);

/** Whether the caller of mallopt() is the core, which is then the program of the tests. */
void fake_set_core(int is_core);

/* Called inside of ucp_init_version(); NULL: nothing is */
extern void (*fake_inside_init)(void);

/* Forget what the overriding functions have seen of the program */
void fake_reset(void);

/* What this thread registers for, as the library that maps windows says */
void fake_set_purpose(uct_predreg_purpose_t purpose);

/* What of a put or get this thread posts a part of; @a length: 0 if nothing. @return the
 * length before: 0 as well if it was refused */
size_t fake_set_whole(void *address, size_t length);

/* Let this thread pack the key of a window; NULL: not any more. Then @a parts_p has
 * which parts were of managed domains */
void fake_pack_window(int is_window, uint64_t *parts_p);

/* Whether the last context was made for workers of several threads */
extern int fake_is_shared;

/* The parameters of the last context, if all fields are known */
extern uct_predreg_ucp_params_t fake_params;

/* The last packed key that was unpacked */
extern const void *fake_unpacked;

/* Hooks of the core, or NULL if it steps aside */
void fake_set_hooks(const uct_predreg_hooks_t *hooks);

/* Call each overridden communication once, about count bytes at a buffer. Those
 * with request parameters get param. After each one, cb is called. */
void fake_call_each_comm(void *buffer, size_t count,
                         const ucp_request_param_t *param,
                         void (*cb)(const char *name, int has_param, void *arg),
                         void *arg);

END_C_DECLS

#endif
