/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What a user of libucp-firehose-dev may write: a job of one process, which
 * exposes memory, puts to it, and finds there what it has put. package_user.sh
 * compiles it with nothing but what the packages install.
 */

#include <ucp/firehose/firehose.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAP   65536
#define OFFSET 4000

static char heap[HEAP];


static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

static void wait_for(ucp_fh_worker_h worker, ucs_status_ptr_t request,
                     const char *what)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_fh_request_check_status(request)) ==
               UCS_INPROGRESS) {
            ucp_fh_worker_progress(worker);
        }
        ucp_fh_request_free(request);
    }
    check(status, what);
}

static void connect_to_self(ucp_fh_h fh)
{
    size_t length;
    void *address;

    check(ucp_fh_get_address(fh, &address, &length), "ucp_fh_get_address");
    check(ucp_fh_connect(fh, 0, address, length), "ucp_fh_connect");
    ucp_fh_release_address(fh, address);
}

int main(void)
{
    const char text[]                  = "what is put";
    const ucp_request_param_t param    = {.op_attr_mask = 0};
    ucp_worker_params_t worker_params  = {.field_mask = 0};
    ucp_fh_init_params_t fh_params     = {.num_procs = 1, .index = 0};
    ucp_params_t params                = {
        .field_mask        = UCP_PARAM_FIELD_FEATURES |
                             UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features          = UCP_FEATURE_AM | UCP_FEATURE_RMA |
                             UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1
    };
    ucp_fh_worker_h fh_worker;
    ucp_worker_h worker;
    ucp_fh_mem_h mem;
    ucp_fh_h fh;

    check(ucp_init(&params, NULL, &fh_params.context), "ucp_init");
    check(ucp_fh_init(&fh_params, &fh), "ucp_fh_init");
    check(ucp_fh_expose(fh, heap, HEAP, &mem), "ucp_fh_expose");
    connect_to_self(fh);
    check(ucp_worker_create(fh_params.context, &worker_params, &worker),
          "ucp_worker_create");
    check(ucp_fh_worker_create(fh, worker, &fh_worker), "ucp_fh_worker_create");

    wait_for(fh_worker, ucp_fh_put_nbx(fh_worker, 0, text, sizeof(text),
                                       (uintptr_t)heap + OFFSET, &param),
             "ucp_fh_put_nbx");
    wait_for(fh_worker, ucp_fh_flush_nbx(fh_worker, &param),
             "ucp_fh_flush_nbx");
    printf("%s\n", heap + OFFSET);

    ucp_fh_worker_destroy(fh_worker);
    ucp_worker_destroy(worker);
    check(ucp_fh_unexpose(mem), "ucp_fh_unexpose");
    ucp_fh_finalize(fh);
    ucp_cleanup(fh_params.context);
    return strcmp(heap + OFFSET, text) != 0;
}
