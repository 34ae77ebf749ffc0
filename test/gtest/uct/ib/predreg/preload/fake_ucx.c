/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_ucx.h"

#include <uct/ib/predreg/preload/preload.h>

#include <ucs/sys/math.h>

#include <dlfcn.h>
#include <string.h>


fake_comm_t fake_comm;
fake_call_t fake_call;
intptr_t fake_result;
void (*fake_inside)(void);
void (*fake_inside_init)(void);

/* An address is enough */
static char config;
ucp_config_t *const fake_config = (ucp_config_t*)&config;

static uct_predreg_real_t real;


UCS_F_CTOR static void have_one_ucx(void)
{
    atomic_store(&predreg_num_ucx, 1);
}


static void note_comm(const char *name, const ucp_request_param_t *param,
                      size_t count, ucp_datatype_t datatype)
{
    memset(&fake_comm.options, 0, sizeof(fake_comm.options));
    fake_comm.name     = name;
    fake_comm.param    = param;
    fake_comm.datatype = datatype;
    fake_comm.count    = count;
    fake_comm.purpose  = predreg_thread.purpose;
    if (param != NULL) {
        fake_comm.options = *param;
    }

    if (fake_inside != NULL) {
        fake_inside();
        fake_comm.name = name;
    }
}

#define OPTIONS_PARAM    param
#define OPTIONS_TAG      param
#define OPTIONS_AM       param
#define OPTIONS_STREAM   param
#define OPTIONS_DATATYPE NULL
#define OPTIONS_BYTES    NULL

#define PREDREG_COMM(_name, _ret, _kind, _params, _args, _buffer, _count, \
                     _options) \
    static _ret fake_##_name _params \
    { \
        note_comm(#_name, OPTIONS_##_options, _count, \
                  PREDREG_DATATYPE_##_options); \
        return (_ret)(intptr_t)UCS_INPROGRESS; \
    }

#include "common/ucp_comms.h"

#undef PREDREG_COMM
#undef PREDREG_GTEST_UCP_COMMS_H_ /* The list, once more */

static const struct {
    const char *name;
    void       *function;
} comms[] = {
#define PREDREG_COMM(_name, ...) {#_name, fake_##_name},
#include "common/ucp_comms.h"
};


int fake_is_shared;

uct_predreg_ucp_params_t fake_params;


/* Anything else: each function has a name of its own to note */
#define OTHERS(_f) \
    _f(ucp_config_release) _f(ucp_worker_destroy) _f(ucp_mem_unmap) \
    _f(ucp_rkey_pack) _f(ucp_rkey_buffer_release) _f(ucp_rkey_destroy) \
    _f(ucp_rkey_compare) \
    _f(ucp_ep_create) _f(ucp_ep_destroy) \
    _f(ucp_disconnect_nb) _f(ucp_ep_close_nb) _f(ucp_ep_close_nbx) \
    _f(ucp_request_free) _f(ucp_request_release) \
    _f(ucp_request_check_status) _f(ucp_worker_flush_nbx) \
    _f(ucp_worker_flush_nb) _f(ucp_worker_flush) _f(ucp_ep_flush_nbx) \
    _f(ucp_ep_flush_nb) _f(ucp_ep_flush) _f(ucp_atomic_op_nbx) \
    _f(ucp_atomic_post) _f(ucp_atomic_fetch_nb) _f(ucp_atomic_add32) \
    _f(ucp_atomic_add64) _f(ucp_atomic_fadd32) _f(ucp_atomic_fadd64) \
    _f(ucp_atomic_swap32) _f(ucp_atomic_swap64) _f(ucp_atomic_cswap32) \
    _f(ucp_atomic_cswap64) _f(ucp_cleanup) _f(ucp_worker_create) \
    _f(ucp_worker_arm) _f(uct_md_config_read) _f(uct_md_iface_config_read) _f(uct_md_open) \
    _f(uct_md_close) _f(uct_md_query) _f(uct_md_query_v2) _f(uct_iface_open) \
    _f(uct_md_mem_reg) _f(uct_md_mem_reg_v2) _f(uct_md_mem_dereg) \
    _f(uct_md_mem_dereg_v2) _f(uct_md_mkey_pack) _f(uct_md_mkey_pack_v2) \
    _f(uct_md_mem_alloc) _f(uct_md_mem_free) \
    _f(uct_md_mem_attach) _f(uct_mem_alloc) _f(uct_mem_free)

#define DEFINE_OTHER(_name) \
    static intptr_t other_##_name(void) \
    { \
        fake_call.name = #_name; \
        ++fake_call.count; \
        return fake_result; \
    }
OTHERS(DEFINE_OTHER)

static unsigned fake_progress(ucp_worker_h worker)
{
    fake_call.name = "ucp_worker_progress";
    ++fake_call.count;
    fake_comm.purpose = predreg_thread.purpose;
    return fake_result;
}

const void *fake_unpacked;

static ucs_status_t
fake_rkey_unpack(ucp_ep_h ep, const void *rkey_buffer, ucp_rkey_h *rkey_p)
{
    fake_call.name = "ucp_ep_rkey_unpack";
    ++fake_call.count;
    fake_unpacked = rkey_buffer;
    return (ucs_status_t)fake_result;
}

static ucs_status_t fake_mem_map(void)
{
    fake_call.name = "ucp_mem_map";
    ++fake_call.count;
    fake_comm.purpose = predreg_thread.purpose;
    if (fake_inside != NULL) {
        fake_inside();
    }
    return (ucs_status_t)fake_result;
}

static ucs_status_t fake_config_read(const char *prefix, const char *filename,
                                     ucp_config_t **config_p)
{
    fake_call.name = "ucp_config_read";
    ++fake_call.count;
    *config_p = fake_config;
    return (ucs_status_t)fake_result;
}

static ucs_status_t
fake_init_version(unsigned major, unsigned minor, const ucp_params_t *params)
{
    fake_call.name = "ucp_init_version";
    ++fake_call.count;
    fake_is_shared = (params->field_mask & UCP_PARAM_FIELD_MT_WORKERS_SHARED) &&
                     params->mt_workers_shared;
    if (uct_predreg_ucp_params_known(params)) {
        uct_predreg_ucp_params_copy(&fake_params, params);
    }
    if (fake_inside_init != NULL) {
        fake_inside_init();
    }
    return (ucs_status_t)fake_result;
}

static const struct {
    const char *name;
    void       *function;
} others[] = {
#define OTHER(_name) {#_name, other_##_name},
    OTHERS(OTHER)
    {"ucp_init_version", fake_init_version},
    {"ucp_worker_progress", fake_progress},
    {"ucp_mem_map", fake_mem_map},
    {"ucp_ep_rkey_unpack", fake_rkey_unpack},
    {"ucp_config_read", fake_config_read}
};

/* What preload.c does beside the real UCX */
static void *find_function(const char *name)
{
    unsigned i;

    for (i = 0; i < ucs_static_array_size(comms); ++i) {
        if (!strcmp(comms[i].name, name)) {
            return comms[i].function;
        }
    }

    for (i = 0; i < ucs_static_array_size(others); ++i) {
        if (!strcmp(others[i].name, name)) {
            return others[i].function;
        }
    }

    return NULL; /* The test is missing something: it crashes */
}

void *predreg_resolve(unsigned ucx, const void *caller, const char *name,
                      _Atomic(void*) *real_p)
{
    /* The program has the functions of the preload before those of libucs, which the
     * cache of kept memory needs */
    return strncmp(name, "ucs_", 4) ? find_function(name) : dlsym(RTLD_NEXT, name);
}

unsigned predreg_find_ucx(const void *caller)
{
    return 0;
}

const uct_predreg_hooks_t *predreg_load(unsigned ucx, const void *caller)
{
    return predreg_hooks(ucx);
}

void fake_set_is_ucp(int is_ucp)
{
    atomic_store(&predreg_ucp_end,
                 is_ucp ? (const char*)UINTPTR_MAX : (const char*)NULL);
}

void fake_set_core(int is_core)
{
    atomic_store(&predreg_core, is_core ? (const void*)fake_set_core : NULL);
}

void fake_reset(void)
{
    fake_comm        = (fake_comm_t){.name = NULL};
    fake_call        = (fake_call_t){.name = NULL};
    fake_result      = UCS_OK;
    fake_inside      = NULL;
    fake_inside_init = NULL;
    fake_set_is_ucp(0);
    fake_set_whole(NULL, 0);
    predreg_thread.dynamic_keys = NULL;
    atomic_store(&predreg_windows_table, NULL);
    atomic_store(&predreg_one_sided, 0);
    atomic_store(&predreg_bypassed, 0);
}

const uct_predreg_real_t *predreg_real_ucp(unsigned ucx, const void *caller)
{
    return &real;
}

void fake_set_purpose(uct_predreg_purpose_t purpose)
{
    predreg_thread.purpose = purpose;
}

size_t fake_set_whole(void *address, size_t length)
{
    size_t before = predreg_thread.whole.length;

    predreg_thread.whole.address = address;
    predreg_thread.whole.length  = length;
    return before;
}

void fake_pack_window(int is_window, uint64_t *parts_p)
{
    static predreg_packing_t packing;

    if (is_window) {
        packing         = (predreg_packing_t){};
        predreg_thread.packing = &packing;
    } else {
        predreg_thread.packing = NULL;
        *parts_p        = packing.parts;
    }
}

void fake_set_hooks(const uct_predreg_hooks_t *hooks)
{
    atomic_store(&predreg_hooks_of[0], hooks);
}

void fake_call_each_comm(void *buffer, size_t count,
                         const ucp_request_param_t *param,
                         void (*cb)(const char *name, int has_param, void *arg),
                         void *arg)
{
    static char object, place;
    ucp_ep_h ep                     = (ucp_ep_h)&object;
    ucp_worker_h worker             = (ucp_worker_h)&object;
    ucp_datatype_t datatype         = ucp_dt_make_contig(1);
    ucp_tag_message_h message       = (ucp_tag_message_h)&object;
    ucp_rkey_h rkey                 = (ucp_rkey_h)&object;
    const void *header              = &place;
    void *data_desc                 = &place;
    void *req                       = &place;
    void *cb_func                   = NULL;
    size_t header_length            = 1;
    size_t length                   = count;
    ucp_tag_t tag                   = 1;
    ucp_tag_t tag_mask              = 2;
    uint64_t remote_addr            = 3;
    unsigned id                     = 4;
    unsigned flags                  = 0;

#define HAS_PARAM_PARAM    1
#define HAS_PARAM_DATATYPE 0
#define HAS_PARAM_BYTES    0
#define CALL(_name, _args, _options) \
    (void)_name _args; \
    cb(#_name, HAS_PARAM_##_options, arg)

    CALL(ucp_tag_send_nbx, (ep, buffer, count, tag, param), PARAM);
    CALL(ucp_tag_send_sync_nbx, (ep, buffer, count, tag, param), PARAM);
    CALL(ucp_tag_send_nb, (ep, buffer, count, datatype, tag, cb_func),
         DATATYPE);
    CALL(ucp_tag_send_nbr, (ep, buffer, count, datatype, tag, req),
         DATATYPE);
    CALL(ucp_tag_send_sync_nb, (ep, buffer, count, datatype, tag, cb_func),
         DATATYPE);
    CALL(ucp_tag_recv_nbx, (worker, buffer, count, tag, tag_mask, param),
         PARAM);
    CALL(ucp_tag_recv_nb,
         (worker, buffer, count, datatype, tag, tag_mask, cb_func),
         DATATYPE);
    CALL(ucp_tag_recv_nbr,
         (worker, buffer, count, datatype, tag, tag_mask, req),
         DATATYPE);
    CALL(ucp_tag_msg_recv_nbx, (worker, buffer, count, message, param),
         PARAM);
    CALL(ucp_tag_msg_recv_nb,
         (worker, buffer, count, datatype, message, cb_func), DATATYPE);
    CALL(ucp_am_send_nbx,
         (ep, id, header, header_length, buffer, count, param), PARAM);
    CALL(ucp_am_send_nb, (ep, id, buffer, count, datatype, cb_func, flags),
         DATATYPE);
    CALL(ucp_am_recv_data_nbx, (worker, data_desc, buffer, count, param),
         PARAM);
    CALL(ucp_stream_send_nbx, (ep, buffer, count, param), PARAM);
    CALL(ucp_stream_send_nb, (ep, buffer, count, datatype, cb_func, flags),
         DATATYPE);
    CALL(ucp_stream_recv_nbx, (ep, buffer, count, &length, param), PARAM);
    CALL(ucp_stream_recv_nb,
         (ep, buffer, count, datatype, cb_func, &length, flags), DATATYPE);
    CALL(ucp_put_nbx, (ep, buffer, count, remote_addr, rkey, param), PARAM);
    CALL(ucp_put_nbi, (ep, buffer, length, remote_addr, rkey), BYTES);
    CALL(ucp_put_nb, (ep, buffer, length, remote_addr, rkey, cb_func),
         BYTES);
    CALL(ucp_put, (ep, buffer, length, remote_addr, rkey), BYTES);
    CALL(ucp_get_nbx, (ep, buffer, count, remote_addr, rkey, param), PARAM);
    CALL(ucp_get_nbi, (ep, buffer, length, remote_addr, rkey), BYTES);
    CALL(ucp_get_nb, (ep, buffer, length, remote_addr, rkey, cb_func),
         BYTES);
    CALL(ucp_get, (ep, buffer, length, remote_addr, rkey), BYTES);
}
