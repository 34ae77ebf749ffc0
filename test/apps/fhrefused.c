/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What the calls of Firehose refuse to be given, beyond what the unit tests can try
 * without UCP: contexts, workers, endpoints. Each has to end with an error, which the
 * log explains, and leave the library usable.
 */

#include "apps.h"

#include <ucp/firehose/api/firehose.h>

#include <sys/mman.h>

#define LENGTH (1 << 20)

static int errors;


static void expect(const char *what, ucs_status_t status, ucs_status_t expected)
{
    printf("fhrefused: %s: %s\n", what, ucs_status_string(status));
    fflush(stdout);
    if (status != expected) {
        ++errors;
    }
}

static ucp_context_h make_context(uint64_t features, int is_for_threads)
{
    ucp_params_t params = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = features,
        .mt_workers_shared = is_for_threads
    };
    ucp_context_h context;

    if (ucp_init(&params, NULL, &context) != UCS_OK) {
        app_fatal("fhrefused: no context");
    }
    return context;
}

static ucp_worker_h make_worker(ucp_context_h context)
{
    ucp_worker_params_t params = {.field_mask = 0};
    ucp_worker_h worker;

    if (ucp_worker_create(context, &params, &worker) != UCS_OK) {
        app_fatal("fhrefused: no worker");
    }
    return worker;
}

/* How a start ends that should not begin anything */
static void try_start(const char *what, ucp_context_h context,
                      ucs_status_t expected)
{
    ucp_fh_init_params_t params = {.context = context, .num_procs = 1};
    ucs_status_t status;
    ucp_fh_h fh;

    status = ucp_fh_init(&params, &fh);
    expect(what, status, expected);
    if (status == UCS_OK) {
        ucp_fh_finalize(fh);
    }
    if (context != NULL) {
        ucp_cleanup(context);
    }
}

static ucs_status_t put(ucp_fh_worker_h worker, void *to)
{
    static const uint64_t value = 1;
    ucp_request_param_t param   = {.op_attr_mask = 0};
    ucs_status_ptr_t request;
    ucs_status_t status;

    request = ucp_fh_put_nbx(worker, 0, &value, sizeof(value), (uintptr_t)to,
                             &param);
    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    while ((status = ucp_fh_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_fh_worker_progress(worker);
    }
    ucp_fh_request_free(request);
    return status;
}

/* Library with memory to itself as a peer */
static ucp_fh_h start(ucp_context_h context, void *memory)
{
    ucp_fh_init_params_t params = {.context = context, .num_procs = 1};
    ucp_fh_mem_h mem;
    void *address;
    size_t length;
    ucp_fh_h fh;

    if ((ucp_fh_init(&params, &fh) != UCS_OK) ||
        (ucp_fh_expose(fh, memory, LENGTH, &mem) != UCS_OK) ||
        (ucp_fh_get_address(fh, &address, &length) != UCS_OK)) {
        app_fatal("fhrefused: the library does not start");
    }

    expect("connect a peer that is not there",
           ucp_fh_connect(fh, 1, address, length), UCS_ERR_INVALID_PARAM);
    expect("connect", ucp_fh_connect(fh, 0, address, length), UCS_OK);
    expect("connect once more", ucp_fh_connect(fh, 0, address, length),
           UCS_ERR_ALREADY_EXISTS);
    ucp_fh_release_address(fh, address);
    expect("memory in a bucket of other memory",
           ucp_fh_expose(fh, (char*)memory + LENGTH - 8, 16, &mem),
           UCS_ERR_ALREADY_EXISTS);
    return fh;
}

static void
try_workers(ucp_context_h context, void *memory, ucs_status_t expected)
{
    ucp_fh_h fh         = start(context, memory);
    ucp_worker_h worker = make_worker(context);
    ucp_fh_worker_h w;

    expect("no worker", ucp_fh_worker_create(fh, NULL, &w),
           UCS_ERR_INVALID_PARAM);
    expect("a worker", ucp_fh_worker_create(fh, worker, &w), UCS_OK);
    expect("put", put(w, memory), expected);
    ucp_fh_worker_destroy(w);
    ucp_worker_destroy(worker);
    ucp_fh_finalize(fh);
}

int main(int argc, char **argv)
{
    const uint64_t features = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                              UCP_FEATURE_WAKEUP;
    ucp_context_h context;
    void *memory;

    setenv("UCX_CMA_REG_METHODS", "direct", 0);
    setenv("UCX_RCACHE_ENABLE", "n", 0);
    memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    try_start("no context", NULL, UCS_ERR_INVALID_PARAM);
    try_start("a context for one thread", make_context(features, 0),
              UCS_ERR_INVALID_PARAM);
    try_start("a context without active messages",
              make_context(UCP_FEATURE_RMA, 1), UCS_ERR_INVALID_PARAM);

    context = make_context(features, 1);
    try_workers(context, memory, UCS_OK);
    ucp_cleanup(context);
    /* UCX itself refuses to put there */
    context = make_context(UCP_FEATURE_AM | UCP_FEATURE_WAKEUP, 1);
    try_workers(context, memory, UCS_ERR_INVALID_PARAM);
    ucp_cleanup(context);
    return errors > 0;
}
