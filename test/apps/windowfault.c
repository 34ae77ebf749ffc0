/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * A window of a program that UCP's own calls put to and get from, in one process, of
 * which any call of the library under test may fail since memory is short:
 * test/native/fault.c sees to that. What fails is counted, and the program goes on.
 * Nothing may hang or crash, and a page has what was put there, or, after a put that
 * has failed, what it or an earlier one has put. MPI is no such program: those of it
 * that are known crash by themselves when UCP returns an error.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>

#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096
#define PAGES 1024
#define MOST  80   /* Pages of an operation: more than a bucket */


typedef struct {
    int           rounds;
    int           ops;
    int           is_strict;
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
    ucp_mem_h     memh;
    ucp_rkey_h    rkey;
    uint8_t       *memory;
    uint64_t      random;
    uint64_t      op;             /* The last one */
    uint64_t      written[PAGES]; /* By which operation, if it is sure */
    uint8_t       is_sure[PAGES];
    unsigned      failed;
    unsigned      errors;
} app_t;


static void usage(void)
{
    printf("usage: windowfault [options]\n"
           "  --rounds N    in each, a window is mapped (3)\n"
           "  --ops N       puts and gets of a round (20)\n"
           "  --strict      no call may fail\n");
}

static void wrong(app_t *app, const char *what, uint64_t value)
{
    fprintf(stderr, "windowfault: %s: %llu\n", what, (unsigned long long)value);
    ++app->errors;
}

/* @return whether a call has succeeded */
static int is_ok(app_t *app, ucs_status_t status)
{
    if (status != UCS_OK) {
        ++app->failed;
        if (app->is_strict) {
            wrong(app, ucs_status_string(status), 1);
        }
    }
    return status == UCS_OK;
}

static ucs_status_t wait_for(app_t *app, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(app->worker);
    }
    ucp_request_free(request);
    return status;
}

static int flush(app_t *app)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return is_ok(app, wait_for(app, (app->op % 2) ?
                                    ucp_ep_flush_nbx(app->ep, &param) :
                                    ucp_worker_flush_nbx(app->worker, &param)));
}

static void fill(uint64_t *words, uint64_t value)
{
    int i;

    for (i = 0; i < PAGE / 8; ++i) {
        words[i] = value;
    }
}

/* Which page it is, and which operation has put it there */
static uint64_t stamp(int page, uint64_t op)
{
    return ((uint64_t)(page + 1) << 32) | op;
}

static void
check_page(app_t *app, const char *what, const uint64_t *words, int page)
{
    uint64_t op, i;

    for (i = 0; i < PAGE / 8; ++i) {
        op = (uint32_t)words[i];
        if (app->is_sure[page] ? (words[i] != stamp(page, app->written[page])) :
            ((words[i] != 0) &&
             ((words[i] != stamp(page, op)) || (op > app->op)))) {
            wrong(app, what, words[i]);
            return;
        }
    }
}

static void check_pages(app_t *app, const char *what, const uint8_t *memory,
                        int first, int num)
{
    int i;

    for (i = 0; i < num; ++i) {
        check_page(app, what, (const uint64_t*)(memory + (i * PAGE)), first + i);
    }
}

static void put_and_get(app_t *app, uint8_t *buffer)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    int num                   = 1 + app_random_below(&app->random, MOST);
    int first                 = app_random_below(&app->random, PAGES - num + 1);
    uint64_t remote           = (uintptr_t)app->memory + (first * PAGE);
    int i, has_put;

    ++app->op;
    for (i = 0; i < num; ++i) {
        fill((uint64_t*)(buffer + (i * PAGE)), stamp(first + i, app->op));
        app->is_sure[first + i] = 0;
    }
    has_put  = is_ok(app, wait_for(app, ucp_put_nbx(app->ep, buffer, num * PAGE,
                                                    remote, app->rkey,
                                                    &param)));
    has_put &= flush(app); /* In any case */
    for (i = 0; has_put && (i < num); ++i) {
        app->written[first + i] = app->op;
        app->is_sure[first + i] = 1;
    }

    memset(buffer, 0xee, num * PAGE);
    if (is_ok(app, wait_for(app, ucp_get_nbx(app->ep, buffer, num * PAGE, remote,
                                             app->rkey, &param))) &
        flush(app)) { /* Not before: it has several parts */
        check_pages(app, "a page that was read", buffer, first, num);
    }
}

static void run_ops(app_t *app)
{
    uint8_t *buffer = malloc(MOST * PAGE);
    int i;

    for (i = 0; i < app->ops; ++i) {
        put_and_get(app, buffer);
    }
    free(buffer);
}

/* @return whether the process has a key to its own window */
static int get_key(app_t *app)
{
    int has_key = 0;
    size_t length;
    void *packed;

    if (is_ok(app, ucp_rkey_pack(app->context, app->memh, &packed, &length))) {
        has_key = is_ok(app, ucp_ep_rkey_unpack(app->ep, packed, &app->rkey));
        ucp_rkey_buffer_release(packed);
    }
    return has_key;
}

static void run_round(app_t *app)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = app->memory,
        .length     = PAGES * PAGE
    };

    if (!is_ok(app, ucp_mem_map(app->context, &params, &app->memh))) {
        return;
    }

    if (get_key(app)) {
        run_ops(app);
        ucp_rkey_destroy(app->rkey);
    }
    (void)is_ok(app, ucp_mem_unmap(app->context, app->memh));
    check_pages(app, "a page of the window", app->memory, 0, PAGES);
}

static void make_ep(app_t *app)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    ucp_address_t *address;
    size_t length;

    if (ucp_worker_get_address(app->worker, &address, &length) != UCS_OK) {
        app_fatal("windowfault: no address");
    }

    params.address = address;
    if (ucp_ep_create(app->worker, &params, &app->ep) != UCS_OK) {
        app_fatal("windowfault: no endpoint");
    }
    ucp_worker_release_address(app->worker, address);
}

static void start(app_t *app)
{
    ucp_params_t params               = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_RMA
    };
    ucp_worker_params_t worker_params = {.field_mask = 0};

    app->memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((app->memory == MAP_FAILED) ||
        (ucp_init(&params, NULL, &app->context) != UCS_OK) ||
        (ucp_worker_create(app->context, &worker_params, &app->worker) !=
         UCS_OK)) {
        app_fatal("windowfault: UCP does not start");
    }

    make_ep(app);
}

static void stop(app_t *app)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    (void)is_ok(app, wait_for(app, ucp_ep_close_nbx(app->ep, &param)));
    ucp_worker_destroy(app->worker);
    ucp_cleanup(app->context);
}

int main(int argc, char **argv)
{
    app_t app = {.rounds = 3, .ops = 20};
    const app_option_t options[] = {
        {"rounds", .count = &app.rounds},
        {"ops", .count = &app.ops},
        {"strict", .flag = &app.is_strict},
        {NULL}
    };
    int i;

    app_parse(argc, argv, "windowfault", options, usage);
    alarm(60); /* What hangs is ended by that signal */
    start(&app);
    for (i = 0; i < app.rounds; ++i) {
        run_round(&app);
    }
    stop(&app);
    printf("windowfault: %u calls failed, %u errors\n", app.failed, app.errors);
    return app.errors > 0;
}
