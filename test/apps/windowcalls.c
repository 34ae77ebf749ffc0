/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Each form of UCP's one-sided calls, to a window of this process: whether they do what
 * they should, call back once, and leave nothing behind that the end of the window
 * would wait for. It needs no MPI; the environment tells that it is a job of one.
 */

#include "apps.h"
#include "options.h"

#include <ucp/api/ucp.h>
#include <ucp/api/ucp_compat.h>

#include <glob.h>
#include <limits.h>
#include <unistd.h>

#define SIZE   (8ul << 20)
#define BUCKET (256ul << 10) /* The largest that the library chooses */
#define LONG   (300ul << 10) /* Some buckets */
#define OFFSET 5000ul        /* Of the window in its memory */

typedef struct {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_worker_h  target; /* Its progress carries out what UCX emulates */
    ucp_ep_h      ep;
    ucp_mem_h     memh;
    ucp_rkey_h    rkey;
    char          *window;
    size_t        size;   /* Of the window */
    char          *out;
    char          *in;
    int           calls;  /* Of callbacks */
    int           errors;
} calls_t;


static void check(calls_t *c, int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "windowcalls: %s is wrong\n", what);
        ++c->errors;
    }
}

static void check_status(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        app_fatal("windowcalls: %s: %s", what, ucs_status_string(status));
    }
}

static void progress(calls_t *c)
{
    ucp_worker_progress(c->worker);
    ucp_worker_progress(c->target);
}

static calls_t *the_calls;

static void done(void *request, ucs_status_t status)
{
    ++the_calls->calls;
}

static void done_nbx(void *request, ucs_status_t status, void *user_data)
{
    ++((calls_t*)user_data)->calls;
}

/* Wait for a request. If it was one, its callback is called once; else it is not */
static void wait(calls_t *c, ucs_status_ptr_t request, int has_callback,
                 const char *what)
{
    int is_request = UCS_PTR_IS_PTR(request);
    ucs_status_t status;

    if (!is_request) {
        check_status(UCS_PTR_STATUS(request), what);
    } else {
        while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
            progress(c);
        }
        check_status(status, what);
        ucp_request_free(request);
    }
    check(c, c->calls == (is_request && has_callback), what);
    c->calls = 0;
}

static void flush(calls_t *c)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    wait(c, ucp_worker_flush_nbx(c->worker, &param), 0, "a flush");
}

static uint64_t at(const calls_t *c, size_t offset)
{
    return (uintptr_t)c->window + offset;
}

/* A new pattern to put, or to be got */
static void fill(calls_t *c, char *buffer, size_t length)
{
    static uint64_t key;

    app_pattern_fill(buffer, length, app_mix(++key), 0);
}

static ucp_request_param_t with_callback(calls_t *c)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = done_nbx,
        .user_data    = c
    };
}

static void put(calls_t *c, size_t offset, size_t length)
{
    ucp_request_param_t param = with_callback(c);
    const char *there         = c->window + offset;

    fill(c, c->out, length);
    wait(c, ucp_put_nbx(c->ep, c->out, length, at(c, offset), c->rkey, &param),
         1, "ucp_put_nbx");
    flush(c);
    check(c, memcmp(there, c->out, length) == 0, "what ucp_put_nbx put");

    fill(c, c->out, length);
    wait(c, ucp_put_nb(c->ep, c->out, length, at(c, offset), c->rkey, done), 1,
         "ucp_put_nb");
    wait(c, ucp_ep_flush_nb(c->ep, 0, done), 1, "ucp_ep_flush_nb");
    check(c, memcmp(there, c->out, length) == 0, "what ucp_put_nb put");

    fill(c, c->out, length);
    check(c, ucp_put_nbi(c->ep, c->out, length, at(c, offset), c->rkey) >= 0,
          "ucp_put_nbi");
    wait(c, ucp_worker_flush_nb(c->worker, 0, done), 1, "ucp_worker_flush_nb");
    check(c, memcmp(there, c->out, length) == 0, "what ucp_put_nbi put");
}

static void get(calls_t *c, size_t offset, size_t length)
{
    ucp_request_param_t param = with_callback(c);
    ucp_request_param_t none  = {.op_attr_mask = 0};
    char *there               = c->window + offset;
    void *request;

    fill(c, there, length);
    wait(c, ucp_get_nbx(c->ep, c->in, length, at(c, offset), c->rkey, &param),
         1, "ucp_get_nbx");
    check(c, memcmp(there, c->in, length) == 0, "what ucp_get_nbx got");

    fill(c, there, length);
    wait(c, ucp_get_nb(c->ep, c->in, length, at(c, offset), c->rkey, done), 1,
         "ucp_get_nb");
    check(c, memcmp(there, c->in, length) == 0, "what ucp_get_nb got");

    fill(c, there, length);
    check(c, ucp_get_nbi(c->ep, c->in, length, at(c, offset), c->rkey) >= 0,
          "ucp_get_nbi");
    flush(c);
    check(c, memcmp(there, c->in, length) == 0, "what ucp_get_nbi got");

    /* A request that is freed while it goes on does not call back */
    fill(c, there, length);
    request = ucp_get_nbx(c->ep, c->in, length, at(c, offset), c->rkey, &param);
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    }
    wait(c, ucp_ep_flush_nbx(c->ep, &none), 0, "a freed request");
    check(c, memcmp(there, c->in, length) == 0, "what a freed request got");
}

static ucp_request_param_t of_words(size_t size, void *reply)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                        ((reply != NULL) ? UCP_OP_ATTR_FIELD_REPLY_BUFFER : 0),
        .datatype     = ucp_dt_make_contig(size),
        .reply_buffer = reply
    };
}

static void atomics(calls_t *c, size_t offset)
{
    uint64_t *word = (uint64_t*)(c->window + offset);
    uint64_t value = 5, result = 0;
    ucp_request_param_t param;

    *word = 100;
    param = of_words(8, NULL);
    wait(c, ucp_atomic_op_nbx(c->ep, UCP_ATOMIC_OP_ADD, &value, 1,
                              at(c, offset), c->rkey, &param), 0, "an addition");
    flush(c);
    check(c, *word == 105, "an addition");

    param = of_words(8, &result);
    wait(c, ucp_atomic_op_nbx(c->ep, UCP_ATOMIC_OP_ADD, &value, 1,
                              at(c, offset), c->rkey, &param), 0, "a fetch");
    check(c, (*word == 110) && (result == 105), "a fetching addition");

    check(c, ucp_atomic_post(c->ep, UCP_ATOMIC_POST_OP_XOR, 1, 8, at(c, offset),
                             c->rkey) >= 0, "ucp_atomic_post");
    flush(c);
    check(c, *word == 111, "ucp_atomic_post");

    wait(c, ucp_atomic_fetch_nb(c->ep, UCP_ATOMIC_FETCH_OP_SWAP, 7, &result, 8,
                                at(c, offset), c->rkey, done), 1, "a swap");
    check(c, (*word == 7) && (result == 111), "a swap");

    result = 9; /* What is to be written */
    wait(c, ucp_atomic_fetch_nb(c->ep, UCP_ATOMIC_FETCH_OP_CSWAP, 7, &result, 8,
                                at(c, offset), c->rkey, done), 1,
         "a compare and swap");
    check(c, (*word == 9) && (result == 7), "a compare and swap");
    result = 10;
    wait(c, ucp_atomic_fetch_nb(c->ep, UCP_ATOMIC_FETCH_OP_CSWAP, 7, &result, 8,
                                at(c, offset), c->rkey, done), 1,
         "another compare and swap");
    check(c, (*word == 9) && (result == 9), "another compare and swap");
}

/* Many puts to all places, which nothing waits for until the end */
static void burst(calls_t *c)
{
    size_t step = 7000, i;

    fill(c, c->out, SIZE);
    for (i = 0; i + step <= SIZE; i += step) {
        check(c, ucp_put_nbi(c->ep, c->out + i, step, at(c, i), c->rkey) >= 0,
              "ucp_put_nbi");
        if (i % (3 * step) == 0) {
            ucp_worker_fence(c->worker);
        }
    }
    flush(c);
    check(c, memcmp(c->window, c->out, i) == 0, "a burst of puts");
}

/* A flush with a field that this version of UCX does not have, and that the library does
 * not know, ends as any other */
static void flush_with_unknown_field(calls_t *c)
{
    ucp_request_param_t param = {.op_attr_mask = UCS_BIT(15)};

    fill(c, c->out, 8);
    check(c, ucp_put_nbi(c->ep, c->out, 8, at(c, 0), c->rkey) >= 0, "ucp_put_nbi");
    wait(c, ucp_ep_flush_nbx(c->ep, &param), 0, "a flush with an unknown field");
    check(c, memcmp(c->window, c->out, 8) == 0, "a put before such a flush");
}

static void map(calls_t *c)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = c->window,
        .length     = c->size
    };
    ucp_mem_attr_t attr = {
        .field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH
    };
    size_t length;
    void *packed;

    check_status(ucp_mem_map(c->context, &params, &c->memh), "ucp_mem_map");
    check_status(ucp_mem_query(c->memh, &attr), "ucp_mem_query");
    check(c, (attr.address <= (void*)c->window) && (attr.length >= c->size),
          "ucp_mem_query");
    check_status(ucp_rkey_pack(c->context, c->memh, &packed, &length),
                 "ucp_rkey_pack");
    check_status(ucp_ep_rkey_unpack(c->ep, packed, &c->rkey),
                 "ucp_ep_rkey_unpack");
    ucp_rkey_buffer_release(packed);
}

static void unmap(calls_t *c)
{
    ucp_rkey_destroy(c->rkey);
    check_status(ucp_mem_unmap(c->context, c->memh), "ucp_mem_unmap");
}

static void make(calls_t *c)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64
    };
    ucp_worker_params_t worker_params = {};
    ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t length;

    check_status(ucp_init(&params, NULL, &c->context), "ucp_init");
    check_status(ucp_worker_create(c->context, &worker_params, &c->worker),
                 "ucp_worker_create");
    check_status(ucp_worker_create(c->context, &worker_params, &c->target),
                 "ucp_worker_create");
    check_status(ucp_worker_get_address(c->target, &address, &length),
                 "ucp_worker_get_address");
    ep_params.address = address;
    check_status(ucp_ep_create(c->worker, &ep_params, &c->ep), "ucp_ep_create");
    ucp_worker_release_address(c->target, address);
}

static void destroy(calls_t *c)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    void *request             = ucp_ep_close_nbx(c->ep, &param);

    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            progress(c);
        }
        ucp_request_free(request);
    }
    ucp_worker_destroy(c->target);
    ucp_worker_destroy(c->worker);
    ucp_cleanup(c->context);
}

static void usage(void)
{
    printf("usage: windowcalls [options]\n"
           "  --rounds N    windows, one after the other in the same place (3)\n"
           "  --wide BYTES  one more window, in whole buckets of 256k, all of which is\n"
           "                written to before a callback does so; 0: none (0)\n");
}

/* @return how often the thread in a folder of /proc has gone to sleep, if it is
 *         Firehose's; or -1 */
static long sleeps_of(const char *folder)
{
    char path[PATH_MAX], line[256];
    long num        = -1;
    int is_firehose = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/status", folder);
    file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }

    while (fgets(line, sizeof(line), file) != NULL) {
        is_firehose |= !strcmp(line, "Name:\tucx_firehose\n");
        if (is_firehose) {
            (void)sscanf(line, "voluntary_ctxt_switches: %ld", &num);
        }
    }
    fclose(file);
    return num;
}

static long firehose_sleeps(void)
{
    long num = -1;
    glob_t found;
    size_t i;

    if (glob("/proc/self/task/*", 0, NULL, &found) == 0) {
        for (i = 0; (i < found.gl_pathc) && (num < 0); ++i) {
            num = sleeps_of(found.gl_pathv[i]);
        }
        globfree(&found);
    }
    return num;
}

/* While the program does nothing, Firehose's thread sleeps until something comes.
 * If it looked by itself each 100 us, it would go to sleep 3000 times */
static void check_idle(calls_t *c)
{
    long before = firehose_sleeps();

    usleep(300000);
    check(c, (before >= 0) && (firehose_sleeps() - before < 300),
          "the sleep of Firehose's thread");
}

/* A get has ended, and puts something elsewhere */
static void put_next(void *request, ucs_status_t status, void *user_data)
{
    calls_t *c = user_data;

    ++c->calls;
    *(uint64_t*)c->out = 1;
    check(c, ucp_put_nbi(c->ep, c->out, 8, at(c, c->size - BUCKET), c->rkey) >= 0,
          "a put of a callback");
}

/* Write to all of a window but its last bucket, more than once and without a flush.
 * A callback of UCP can put to that nevertheless */
static void fill_and_call_back(calls_t *c, size_t size)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = put_next,
        .user_data    = c
    };
    char *memory = aligned_alloc(BUCKET, size);
    int pass;
    size_t i;

    memset(memory, 0, size);
    c->window = memory;
    c->size   = size;
    map(c);
    for (pass = 0; pass < 3; ++pass) {
        for (i = 0; i < size - BUCKET; i += BUCKET) {
            check(c, ucp_put_nbi(c->ep, c->out, 8, at(c, i), c->rkey) >= 0,
                  "a put to a bucket");
            progress(c);
        }
    }
    wait(c, ucp_get_nbx(c->ep, c->in, 8, at(c, 0), c->rkey, &param), 1,
         "a get that puts");
    flush(c);
    check(c, *(uint64_t*)(c->window + size - BUCKET) == 1,
          "what a callback put");
    unmap(c);
    free(memory);
}

int main(int argc, char **argv)
{
    static const size_t offsets[] = {0, 60001, 1 << 20, SIZE - LONG};
    int rounds                    = 3;
    size_t wide                   = 0;
    const app_option_t options[]  = {
        {"rounds", .count = &rounds},
        {"wide", .size = &wide},
        {NULL}
    };
    calls_t c                     = {};
    char *memory;
    unsigned i;

    app_parse(argc, argv, "windowcalls", options, usage);
    memory    = malloc(SIZE + 2 * OFFSET);
    c.out     = malloc(SIZE);
    c.in      = malloc(SIZE);
    c.window  = memory + OFFSET - ((uintptr_t)(memory + OFFSET) % 8);
    c.size    = SIZE;
    the_calls = &c;
    memset(memory, 0, SIZE + 2 * OFFSET);
    make(&c);
    for (; rounds > 0; --rounds) {
        map(&c);
        for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); ++i) {
            put(&c, offsets[i], 1);
            put(&c, offsets[i], LONG);
            get(&c, offsets[i], 1000);
            get(&c, offsets[i], LONG);
        }
        atomics(&c, 0);
        atomics(&c, 1 << 20);
        atomics(&c, SIZE - 8);
        burst(&c);
        flush_with_unknown_field(&c);
        check(&c, ucp_put_nbi(c.ep, c.out, 8, at(&c, 1 << 20), c.rkey) >= 0,
              "a put that is not flushed");
        unmap(&c);
    }
    if (wide > 0) {
        fill_and_call_back(&c, wide);
    }
    check_idle(&c);
    destroy(&c);
    free(c.in);
    free(c.out);
    free(memory);
    printf("windowcalls: %d errors\n", c.errors);
    return c.errors ? 1 : 0;
}
