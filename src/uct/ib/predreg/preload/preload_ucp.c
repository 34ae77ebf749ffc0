/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucp_param.h"
#include "ucx.h"

#include <uct/ib/predreg/compat/ucp_params.h>

#include <stdio.h>

/*
 * Overriding functions for entry points of UCP: those that read its
 * configuration; its progress functions, which show when a program waits and
 * has time to spare; the destruction of workers; and all communications. The
 * core is told of each communication with its call site, and may change small
 * sends. UCP implements some communications by others, which come through here
 * again: the core is only told of the outer call, which the program made.
 */


/* The preceding communications of this thread, and where on its stack calls come
 * from. About initial-exec, see preload.h. */
static __thread __attribute__((tls_model("initial-exec")))
uct_predreg_issuer_t predreg_issuer;

/* What this thread remembers of its small sends; NULL: it has sent none */
static __thread __attribute__((tls_model("initial-exec")))
uct_predreg_sender_t *predreg_sender;

/* How often this thread, while it waits, tells the core so */
static __thread __attribute__((tls_model("initial-exec")))
ucs_rcache_pred_idle_t predreg_idle;

__thread __attribute__((tls_model("initial-exec"))) unsigned predreg_in_init;

_Atomic(int) predreg_one_sided;

_Atomic(int) predreg_bypassed;

/* How many calls of communications this thread is in, nested in each other */
static __thread __attribute__((tls_model("initial-exec")))
unsigned predreg_depth;


static ucs_status_t
config_read(unsigned ucx, const void *caller, const char *env_prefix,
            const char *filename, ucp_config_t **config_p)
{
    /* The core is loaded, and has read its variables, before UCX warns of
     * variables that nobody has read */
    const uct_predreg_hooks_t *hooks = predreg_load(ucx, caller);
    ucs_status_t status;

    status = PREDREG_REAL_OF(ucx, caller, ucp_config_read)(env_prefix, filename,
                                                           config_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->ucp_config(predreg_real_ucp(ucx, caller), *config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
ucp_config_read(const char *env_prefix, const char *filename,
                ucp_config_t **config_p)
{
    return config_read(predreg_find_ucx(PREDREG_CALLER), PREDREG_CALLER,
                       env_prefix, filename, config_p);
}

/* @return the core's hooks if it is to be told of contexts; NULL: it is not */
static const uct_predreg_hooks_t *making_hooks(unsigned ucx)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return ((hooks == NULL) || (hooks->send == NULL)) ? NULL : hooks;
}

/* Parameters of a context with fields that are not known here can be copied by UCX
 * alone */
static void complain_of_params(const ucp_params_t *params, const char *what)
{
    PREDREG_COMPLAIN("%s in a UCP context that the program makes with parameters which "
                     "are not known here (ucp_params_t::field_mask is 0x%llx)", what,
                     (unsigned long long)params->field_mask);
}

/* The parameters of a context that threads of this library's choice register memory
 * with: Firehose pins windows by a thread of its own, and hot buffers are registered
 * by whichever thread sends, outside of the lock of its worker */
static void share_context(uct_predreg_ucp_params_t *copy, const ucp_params_t *params)
{
    uct_predreg_ucp_params_copy(copy, params);
    copy->field_mask       |= UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    copy->mt_workers_shared = 1;
}

/* @return whether windows of a context that is to be made go through Firehose; the
 * library for that is loaded then */
static int has_windows(unsigned ucx, const ucp_params_t *params)
{
    static atomic_flag is_told       = ATOMIC_FLAG_INIT;
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    if (!(params->field_mask & UCP_PARAM_FIELD_FEATURES) ||
        !(params->features & UCP_FEATURE_RMA) || (hooks == NULL) ||
        !hooks->windows()) {
        return 0;
    }

    if (!uct_predreg_ucp_params_known(params)) {
        if (!atomic_flag_test_and_set(&is_told)) {
            complain_of_params(params, "windows are pinned");
        }
        return 0;
    }

    predreg_windows_load();
    return predreg_windows(ucx) != NULL;
}

/* Let the core prepare a context. UCP protects its cache by the lock of the context
 * (ucp_memh_get() of 1.14 and later), which is none unless the program asks for it; a
 * program whose threads share one worker need not. So there must be a way to ask for it.
 * @return whether buffers may become hot in the context */
static int prepare(const uct_predreg_hooks_t *hooks, const uct_predreg_real_t *real,
                   const ucp_params_t *params, const ucp_config_t *config,
                   uct_predreg_making_t *making)
{
    static const ucp_params_t nothing = {.field_mask = 0};
    static atomic_flag is_told        = ATOMIC_FLAG_INIT;
    int is_known                      = uct_predreg_ucp_params_known(params);

    /* The configuration is as it was when ucp_init_version() returns */
    hooks->making(real, is_known ? params : &nothing, (ucp_config_t*)config, making);
    if (!is_known && (params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
        (params->features & (UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM)) &&
        !atomic_flag_test_and_set(&is_told)) {
        complain_of_params(params, "small sends are copied");
    }
    return is_known && (making->min_length > 0);
}

PREDREG_EXPORT ucs_status_t
ucp_init_version(unsigned api_major_version, unsigned api_minor_version,
                 const ucp_params_t *params, const ucp_config_t *config,
                 ucp_context_h *context_p)
{
    unsigned ucx             = predreg_find_ucx(PREDREG_CALLER);
    ucp_config_t *own_config = NULL;
    const uct_predreg_hooks_t *hooks;
    uct_predreg_making_t making;
    uct_predreg_ucp_params_t shared;
    ucs_status_t status;
    int is_windows, is_shared, may_register;

    if (config == NULL) {
        /* Without a configuration UCP would read one itself, where no hook sees
         * it */
        status = config_read(ucx, PREDREG_CALLER, NULL, NULL, &own_config);
        if (status != UCS_OK) {
            return status;
        }
        config = own_config;
    } else {
        /* The program may have changed it since it was read */
        hooks = predreg_load(ucx, PREDREG_CALLER);
        if (hooks != NULL) {
            hooks->ucp_config(predreg_real_ucp(ucx, PREDREG_CALLER),
                              (ucp_config_t*)config);
        }
    }

    if ((params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
        (params->features & UCP_FEATURE_RMA)) {
        atomic_store_explicit(&predreg_one_sided, 1, memory_order_relaxed);
    }

    is_windows = has_windows(ucx, params);
    is_shared  = (params->field_mask & UCP_PARAM_FIELD_MT_WORKERS_SHARED) &&
                 params->mt_workers_shared;
    hooks      = making_hooks(ucx);

    may_register = (hooks != NULL) &&
                   prepare(hooks, predreg_real_ucp(ucx, PREDREG_CALLER), params,
                           config, &making);
    if (is_windows || may_register) {
        share_context(&shared, params);
        params = (const ucp_params_t*)&shared;
    }

    predreg_in_init = 1;
    status = PREDREG_REAL(ucx, ucp_init_version)(api_major_version,
                                                 api_minor_version, params,
                                                 config, context_p);
    predreg_in_init = 0;
    if (hooks != NULL) {
        hooks->made(predreg_real_ucp(ucx, PREDREG_CALLER), &making,
                    (ucp_config_t*)config,
                    (status == UCS_OK) ? *context_p : NULL);
    }

    if (own_config != NULL) {
        PREDREG_REAL(ucx, ucp_config_release)(own_config);
    }

    if (is_windows && (status == UCS_OK)) {
        predreg_windows(ucx)->context_made(*context_p, is_shared);
    }
    return status;
}

PREDREG_EXPORT void ucp_cleanup(ucp_context_h context)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = making_hooks(ucx);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (windows != NULL) {
        windows->cleaning(context);
    }
    if (hooks != NULL) {
        hooks->cleaning(context);
    }
    PREDREG_REAL(ucx, ucp_cleanup)(context);
}

static ucs_status_t
create_worker(unsigned ucx, const void *caller, ucp_context_h context,
              const ucp_worker_params_t *params, ucp_worker_h *worker_p)
{
    const uct_predreg_hooks_t *hooks = making_hooks(ucx);
    uct_predreg_purpose_t purpose    = predreg_purpose;
    ucs_status_t status;

    if (hooks == NULL) {
        return PREDREG_REAL_OF(ucx, caller, ucp_worker_create)(context, params,
                                                               worker_p);
    }

    hooks->worker_making(context);
    status = PREDREG_REAL_OF(ucx, caller, ucp_worker_create)(context, params,
                                                             worker_p);

    predreg_purpose = UCT_PREDREG_PURPOSE_HOT;
    hooks->worker_made(context, (status == UCS_OK) ? *worker_p : NULL);
    predreg_purpose = purpose;
    return status;
}

PREDREG_EXPORT ucs_status_t
ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
                  ucp_worker_h *worker_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    status = create_worker(ucx, PREDREG_CALLER, context, params, worker_p);
    if ((windows != NULL) && (status == UCS_OK)) {
        windows->worker_made(context, *worker_p);
    }
    return status;
}

PREDREG_EXPORT void ucp_worker_destroy(ucp_worker_h worker)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (windows != NULL) {
        windows->worker_destroying(worker);
    }
    if (hooks != NULL) {
        hooks->closing(worker);
    }
    PREDREG_REAL(ucx, ucp_worker_destroy)(worker);
}

PREDREG_EXPORT ucs_status_t ucp_worker_arm(ucp_worker_h worker)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    predreg_idle.skip = 0; /* Who sleeps polls seldom */

    /* A transfer that waits for room can go on without an event of UCX, so the
     * program must not sleep until there is one */
    return ((hooks != NULL) && !hooks->may_sleep()) ?
           UCS_ERR_BUSY : PREDREG_REAL(ucx, ucp_worker_arm)(worker);
}

/* Progress with windows that go through Firehose */
static UCS_F_NOINLINE unsigned
progress_windows(unsigned ucx, const void *caller,
                 const predreg_windows_t *windows, ucp_worker_h worker)
{
    unsigned count;

    ++predreg_in_progress;
    count = PREDREG_REAL_OF(ucx, caller, ucp_worker_progress)(worker);
    --predreg_in_progress;
    if (predreg_in_progress == 0) {
        windows->progressed(worker, count == 0);
    }
    return count;
}

/* Progress has found nothing to do. Most often this only counts: the sooner it
 * returns, the sooner the next message is found */
static UCS_F_ALWAYS_INLINE void
found_nothing(unsigned ucx, ucp_worker_h worker)
{
    uct_predreg_purpose_t purpose = predreg_purpose;
    const uct_predreg_hooks_t *hooks;

    if (ucs_likely(predreg_idle.skip > 0)) {
        --predreg_idle.skip;
        return;
    }

    hooks = predreg_hooks(ucx);
    if (hooks != NULL) {
        /* What the hook registers by UCP shows what hot buffers cost */
        predreg_purpose = UCT_PREDREG_PURPOSE_HOT;
        hooks->idle(&predreg_sender, &predreg_idle, worker);
        predreg_purpose = purpose;
    }
}

PREDREG_EXPORT unsigned ucp_worker_progress(ucp_worker_h worker)
{
    unsigned ucx                  = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose = predreg_purpose;
    const predreg_windows_t *windows;
    unsigned count;

    /* UCP's blocking calls make progress, too. What is registered during
     * progress does not belong to the blocking call */
    predreg_purpose = atomic_load_explicit(&predreg_bypassed,
                                           memory_order_relaxed) ?
                      UCT_PREDREG_PURPOSE_UNKNOWN : UCT_PREDREG_PURPOSE_MESSAGE;
    windows         = predreg_windows(ucx);
    count           = ucs_likely(windows == NULL) ?
                      PREDREG_REAL(ucx, ucp_worker_progress)(worker) :
                      progress_windows(ucx, PREDREG_CALLER, windows, worker);
    predreg_purpose = purpose;

    if (count == 0) {
        found_nothing(ucx, worker);
    }

    return count;
}


/* A small send with what the core has changed of it */
typedef struct small_send {
    uct_predreg_send_t  send;
    ucp_request_param_t param; /* What UCP gets in place of the caller's */
} small_send_t;

/* Whether a message may go without a copy, so that the core is to be asked. UCP
 * implements the older calls by the newer ones: only these are asked for */
static UCS_F_ALWAYS_INLINE int
is_small_send(const uct_predreg_hooks_t *hooks, size_t length)
{
    return (length - UCT_PREDREG_SEND_MIN <=
            UCT_PREDREG_SEND_MAX - UCT_PREDREG_SEND_MIN) &&
           (hooks != NULL) && (hooks->send != NULL);
}

/* Begin a small send: replace its count and parameters by those with the core's
 * changes. @return which changes there are, UCT_PREDREG_SEND_* */
static UCS_F_ALWAYS_INLINE unsigned
small_send_begin(const uct_predreg_hooks_t *hooks, small_send_t *small,
                 ucp_ep_h ep, const void *buffer, size_t length,
                 size_t *count_p, const ucp_request_param_t **param_p)
{
    unsigned changes;

    /* What the hook registers is a buffer that has become hot */
    predreg_purpose = UCT_PREDREG_PURPOSE_HOT;
    changes         = hooks->send(&predreg_sender, ep, buffer, length, *param_p,
                                  &small->send);
    if (changes != 0) {
        predreg_param_change(&small->param, *param_p, changes, &small->send);
        *param_p = &small->param;
        if (changes & UCT_PREDREG_SEND_DATATYPE) {
            *count_p = length;
        }
    }
    return changes;
}

/* What a communication registers its data for. The data of a put whose datatype
 * this library does not know, such as the lists of 1.22 (UCP_DATATYPE_SGL), may
 * go to a function of an interface that it does not replace: it must not be a
 * handle of ours. */
static UCS_F_ALWAYS_INLINE uct_predreg_purpose_t
comm_purpose(ucs_rcache_pred_comm_t kind, ucp_datatype_t datatype)
{
    switch (kind) {
    case UCS_RCACHE_PRED_COMM_PUT:
    case UCS_RCACHE_PRED_COMM_GET:
        switch (datatype & UCP_DATATYPE_CLASS_MASK) {
        case UCP_DATATYPE_CONTIG:
        case UCP_DATATYPE_IOV:
        case UCP_DATATYPE_GENERIC:
            return UCT_PREDREG_PURPOSE_ONE_SIDED;
        default:
            return UCT_PREDREG_PURPOSE_MAPPED;
        }
    case UCS_RCACHE_PRED_COMM_SEND:
        return UCT_PREDREG_PURPOSE_SEND;
    default:
        return UCT_PREDREG_PURPOSE_MESSAGE;
    }
}

/* Whether a put or get is to a window that goes through Firehose */
static UCS_F_ALWAYS_INLINE int
is_served(const predreg_windows_t *windows, ucp_rkey_h rkey)
{
    return ucs_unlikely(windows != NULL) && windows->serves(rkey);
}

/* Whether the data of a communication has the handle of such a window */
static UCS_F_ALWAYS_INLINE int
has_window(const predreg_windows_t *windows, const ucp_request_param_t *param)
{
    return ucs_unlikely(windows != NULL) &&
           (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMH) &&
           windows->is_window(param->memh);
}

/* A get may be that of the keys of a dynamic window */
static UCS_F_ALWAYS_INLINE void
note_dynamic_keys(const void *buffer, size_t length)
{
    if (ucs_unlikely(length == PREDREG_DYNAMIC_KEYS)) {
        predreg_dynamic_keys = buffer;
    }
}

/* Chosen by the options of a communication: its length */
#define LENGTH_PARAM(_count)    predreg_request_length(_count, param)
#define LENGTH_TAG              LENGTH_PARAM
#define LENGTH_AM               LENGTH_PARAM
#define LENGTH_STREAM           LENGTH_PARAM
#define LENGTH_DATATYPE(_count) predreg_length(_count, datatype)
#define LENGTH_BYTES(_count)    (_count)

/* Chosen in the same way: what is done around communications that may be small
 * sends, and whether UCP may register the buffer by itself. It does not if the
 * buffer is copied as another datatype, or comes with a handle: then the core need
 * not know of the communication. */
#define BEGIN_TAG BEGIN_SMALL(TAG)
#define BEGIN_AM BEGIN_SMALL(AM)
#define BEGIN_STREAM BEGIN_SMALL(STREAM)
#define BEGIN_PARAM
#define BEGIN_DATATYPE
#define BEGIN_BYTES

#define MAY_REGISTER_TAG \
    !(changes & (UCT_PREDREG_SEND_DATATYPE | UCT_PREDREG_SEND_HOT))
#define MAY_REGISTER_AM       MAY_REGISTER_TAG
#define MAY_REGISTER_STREAM   MAY_REGISTER_TAG
#define MAY_REGISTER_PARAM    1
#define MAY_REGISTER_DATATYPE 1
#define MAY_REGISTER_BYTES    1

#define BEGIN_SMALL(_message) \
    small_send_t small; \
    unsigned changes = 0; \
    \
    if (is_small_send(hooks, bytes)) { \
        small.send.message = UCT_PREDREG_MESSAGE_##_message; \
        changes            = small_send_begin(hooks, &small, ep, buffer, \
                                              bytes, &count, &param); \
    }

/* A handle of a window is of a page of it only, as to managed domains: the data of a
 * communication is registered for itself */
#define STRIP_PARAM \
    ucp_request_param_t plain; \
    \
    if (ucs_unlikely(has_window(windows, param))) { \
        predreg_param_drop_memh(&plain, param); \
        param = &plain; \
    }
#define STRIP_TAG    STRIP_PARAM
#define STRIP_AM     STRIP_PARAM
#define STRIP_STREAM STRIP_PARAM
#define STRIP_DATATYPE
#define STRIP_BYTES

/* Chosen by the kind of a communication: whom it goes to */
#define CALL_SEND(_name, _args) real _args
#define CALL_RECV               CALL_SEND
#define CALL_GET(_name, _args) \
    (note_dynamic_keys(buffer, bytes), CALL_PUT(_name, _args))
#define CALL_PUT(_name, _args) \
    (is_served(windows, rkey) ? windows->_name _args : real _args)

#define END_TAG \
    if (changes & UCT_PREDREG_SEND_HOT) { \
        hooks->sent(predreg_sender, &small.send, bytes, ret); \
    }
#define END_AM     END_TAG
#define END_STREAM END_TAG
#define END_PARAM
#define END_DATATYPE
#define END_BYTES

/* The overriding function of a communication. The frame address lies a constant
 * distance below that of the caller, and so stands for the depth of the
 * stack. */
#define PREDREG_COMM(_name, _ret, _kind, _params, _args, _buffer, _count, \
                     _options) \
    PREDREG_EXPORT _ret _name _params \
    { \
        unsigned ucx                     = predreg_ucx(PREDREG_CALLER); \
        __typeof__(&_name) real          = PREDREG_REAL(ucx, _name); \
        const uct_predreg_hooks_t *hooks = predreg_hooks(ucx); \
        UCS_V_UNUSED const predreg_windows_t *windows = \
                predreg_windows_for(hooks); \
        uct_predreg_purpose_t purpose    = predreg_purpose; \
        size_t bytes                     = LENGTH_##_options(_count); \
        uct_predreg_comm_t comm; \
        _ret ret; \
        \
        BEGIN_##_options \
        if ((bytes >= UCT_PREDREG_MIN_LENGTH) && (predreg_depth == 0) && \
            (hooks != NULL) && MAY_REGISTER_##_options) { \
            comm.kind   = UCS_RCACHE_PRED_COMM_##_kind; \
            comm.buffer = _buffer; \
            comm.caller = PREDREG_CALLER; \
            comm.stack  = __builtin_frame_address(0); \
            hooks->comm(&predreg_issuer, &comm); \
        } \
        \
        STRIP_##_options \
        ++predreg_depth; \
        predreg_purpose = comm_purpose(UCS_RCACHE_PRED_COMM_##_kind, \
                                       PREDREG_DATATYPE_##_options); \
        ret = CALL_##_kind(_name, _args); \
        predreg_purpose = purpose; \
        --predreg_depth; \
        END_##_options \
        return ret; \
    }

#include "ucp_comms.h"

PREDREG_EXPORT ucs_status_t
ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
            ucp_mem_h *memh_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose    = predreg_purpose;
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    if ((windows != NULL) &&
        windows->mem_map(context, params, memh_p, &status)) {
        return status;
    }

    predreg_purpose = UCT_PREDREG_PURPOSE_MAPPED;
    status          = PREDREG_REAL(ucx, ucp_mem_map)(context, params, memh_p);
    predreg_purpose = purpose;
    return status;
}
