/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

/*
 * Overriding functions for entry points of UCP: those that read its
 * configuration; its progress functions, which show when a program waits and
 * has time to spare; the destruction of workers; and all communications. The
 * core is told of each communication with its call site, and may change it. UCP
 * implements some communications by others, which come through here again: the
 * core is only told of the outer call, which the program made.
 */


/* The preceding communications of this thread. About initial-exec, see
 * preload.h. */
static __thread __attribute__((tls_model("initial-exec")))
ucs_rcache_pred_window_t predreg_window;

/* What this thread remembers of its small sends; NULL: it has sent none */
static __thread __attribute__((tls_model("initial-exec")))
uct_predreg_sender_t *predreg_sender;

__thread __attribute__((tls_model("initial-exec")))
uct_predreg_purpose_t predreg_purpose;

__thread __attribute__((tls_model("initial-exec"))) unsigned predreg_in_init;

_Atomic int predreg_one_sided;

_Atomic int predreg_bypassed;

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

PREDREG_EXPORT ucs_status_t
ucp_init_version(unsigned api_major_version, unsigned api_minor_version,
                 const ucp_params_t *params, const ucp_config_t *config,
                 ucp_context_h *context_p)
{
    unsigned ucx             = predreg_find_ucx(PREDREG_CALLER);
    ucp_config_t *own_config = NULL;
    const uct_predreg_hooks_t *hooks;
    uct_predreg_making_t making;
    ucs_status_t status;

    if (config == NULL) {
        /* Without a configuration UCP would read one itself, where no hook sees
         * it */
        status = config_read(ucx, PREDREG_CALLER, NULL, NULL, &own_config);
        if (status != UCS_OK) {
            return status;
        }
        config = own_config;
    }

    if ((params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
        (params->features & UCP_FEATURE_RMA)) {
        atomic_store_explicit(&predreg_one_sided, 1, memory_order_relaxed);
    }

    hooks = making_hooks(ucx);
    if (hooks != NULL) {
        /* The configuration is as it was when this function returns */
        hooks->making(predreg_real_ucp(ucx, PREDREG_CALLER), params,
                      (ucp_config_t*)config, &making);
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

    return status;
}

PREDREG_EXPORT void ucp_cleanup(ucp_context_h context)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = making_hooks(ucx);

    if (hooks != NULL) {
        hooks->cleaning(context);
    }
    PREDREG_REAL(ucx, ucp_cleanup)(context);
}

PREDREG_EXPORT ucs_status_t
ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
                  ucp_worker_h *worker_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = making_hooks(ucx);
    uct_predreg_purpose_t purpose    = predreg_purpose;
    ucs_status_t status;

    status = PREDREG_REAL(ucx, ucp_worker_create)(context, params, worker_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        predreg_purpose = UCT_PREDREG_PURPOSE_HOT;
        hooks->worker_made(context, *worker_p);
        predreg_purpose = purpose;
    }
    return status;
}

PREDREG_EXPORT void ucp_worker_destroy(ucp_worker_h worker)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    if (hooks != NULL) {
        hooks->closing(worker);
    }
    PREDREG_REAL(ucx, ucp_worker_destroy)(worker);
}

PREDREG_EXPORT ucs_status_t ucp_worker_arm(ucp_worker_h worker)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    /* A transfer that waits for room can go on without an event of UCX, so the
     * program must not sleep until there is one */
    return ((hooks != NULL) && !hooks->may_sleep()) ?
           UCS_ERR_BUSY : PREDREG_REAL(ucx, ucp_worker_arm)(worker);
}

PREDREG_EXPORT unsigned ucp_worker_progress(ucp_worker_h worker)
{
    unsigned ucx                  = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose = predreg_purpose;
    const uct_predreg_hooks_t *hooks;
    unsigned count;

    /* UCP's blocking calls make progress, too. What is registered during
     * progress does not belong to the blocking call */
    predreg_purpose = atomic_load_explicit(&predreg_bypassed,
                                           memory_order_relaxed) ?
                      UCT_PREDREG_PURPOSE_UNKNOWN : UCT_PREDREG_PURPOSE_MESSAGE;
    count           = PREDREG_REAL(ucx, ucp_worker_progress)(worker);
    predreg_purpose = purpose;

    if (count == 0) {
        hooks = predreg_hooks(ucx);
        if (hooks != NULL) {
            hooks->idle(&predreg_sender, worker);
        }
    }

    return count;
}


/* @return the core's hooks if the core is to be told of a communication of
 * count elements of a datatype, else NULL */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *
comm_hooks(unsigned ucx, size_t count, ucp_datatype_t datatype)
{
    return ((predreg_depth > 0) || predreg_comm_is_short(count, datatype)) ?
           NULL : predreg_hooks(ucx);
}

/* Copy those fields of request parameters that are set. The program may have
 * been compiled with the structure of another version of UCX, which is shorter
 * or longer. */
static void
copy_param(ucp_request_param_t *copy, const ucp_request_param_t *param)
{
    copy->op_attr_mask = param->op_attr_mask;

#define COPY_FIELD(_bit, _field) \
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_##_bit) { \
        copy->_field = param->_field; \
    }
    COPY_FIELD(FLAGS, flags)
    COPY_FIELD(REQUEST, request)
    COPY_FIELD(CALLBACK, cb)
    COPY_FIELD(DATATYPE, datatype)
    COPY_FIELD(USER_DATA, user_data)
    COPY_FIELD(REPLY_BUFFER, reply_buffer)
    COPY_FIELD(MEMORY_TYPE, memory_type)
    COPY_FIELD(RECV_INFO, recv_info)
    COPY_FIELD(MEMH, memh)
#undef COPY_FIELD
}

/* Copy request parameters, and put the core's changes into the copy. If a field
 * is set that this library does not know, the parameters stay as they are. */
static UCS_F_NOINLINE const ucp_request_param_t *
changed_param(const uct_predreg_comm_t *comm, ucp_request_param_t *copy)
{
    if (comm->param->op_attr_mask & UCT_PREDREG_UNKNOWN_FIELDS) {
        return comm->param;
    }

    copy_param(copy, comm->param);
    if (comm->changed & UCT_PREDREG_COMM_DATATYPE) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        copy->datatype      = comm->datatype;
    }

    if (comm->changed & UCT_PREDREG_COMM_FLAGS) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        copy->flags         = comm->flags;
    }

    if (comm->changed & UCT_PREDREG_COMM_MEMH) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        copy->memh          = comm->memh;
    }

    if (comm->changed & UCT_PREDREG_COMM_CALLBACK) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK |
                              UCP_OP_ATTR_FIELD_USER_DATA;
        copy->cb.send       = comm->cb;
        copy->user_data     = comm->user_data;
    }

    if (comm->changed & UCT_PREDREG_COMM_FAST) {
        copy->op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL;
    } else if (comm->changed & UCT_PREDREG_COMM_NOT_FAST) {
        copy->op_attr_mask &= ~UCP_OP_ATTR_FLAG_FAST_CMPL;
    }

    return copy;
}

/* @return the core's hooks if it is to be told of a send of count elements of a
 * datatype, because it may go without a copy; else NULL. UCP implements the older
 * calls by the newer ones: only these are told of */
static UCS_F_ALWAYS_INLINE const uct_predreg_hooks_t *
send_hooks(unsigned ucx, size_t count, ucp_datatype_t datatype)
{
    const uct_predreg_hooks_t *hooks;
    size_t length;

    if (((datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) ||
        __builtin_mul_overflow(count, datatype >> UCP_DATATYPE_SHIFT,
                               &length) ||
        (length < UCT_PREDREG_SEND_MIN) || (length > UCT_PREDREG_SEND_MAX)) {
        return NULL;
    }

    hooks = predreg_hooks(ucx);
    return ((hooks == NULL) || (hooks->send == NULL)) ? NULL : hooks;
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

/* The endpoint and the worker of a communication, chosen by the name of its
 * object: EP_OF_ or WORKER_OF_ with ep or worker */
#define EP_OF_ep         ep
#define EP_OF_worker     NULL
#define WORKER_OF_ep     NULL
#define WORKER_OF_worker worker

/* Chosen by the options of a communication: its request parameters, a place for
 * a copy of them, and the code that hands the core's changes over to UCP */
#define PARAM_PARAM      param
#define PARAM_TAG        param
#define PARAM_AM         param
#define PARAM_STREAM     param
#define PARAM_DATATYPE   NULL
#define PARAM_BYTES      NULL

#define COPY_PARAM       ucp_request_param_t copy;
#define COPY_TAG         COPY_PARAM
#define COPY_AM          COPY_PARAM
#define COPY_STREAM      COPY_PARAM
#define COPY_DATATYPE
#define COPY_BYTES

#define CHANGE_PARAM \
    if (ucs_unlikely(comm.changed != 0)) { \
        param = changed_param(&comm, &copy); \
    }
#define CHANGE_TAG \
    CHANGE_PARAM \
    count = comm.count;
#define CHANGE_AM        CHANGE_TAG
#define CHANGE_STREAM    CHANGE_TAG
#define CHANGE_DATATYPE  datatype = comm.datatype;
#define CHANGE_BYTES

/* Which communications may be sends without a copy: the core's hooks for them, or
 * NULL */
#define SENDS_TAG(_ucx, _count, _datatype) \
    send_hooks(_ucx, _count, _datatype)
#define SENDS_AM         SENDS_TAG
#define SENDS_STREAM     SENDS_TAG
#define SENDS_PARAM(_ucx, _count, _datatype)    NULL
#define SENDS_DATATYPE(_ucx, _count, _datatype) NULL
#define SENDS_BYTES(_ucx, _count, _datatype)    NULL

#define MESSAGE_TAG      UCT_PREDREG_MESSAGE_TAG
#define MESSAGE_AM       UCT_PREDREG_MESSAGE_AM
#define MESSAGE_STREAM   UCT_PREDREG_MESSAGE_STREAM
#define MESSAGE_PARAM    UCT_PREDREG_MESSAGE_LAST
#define MESSAGE_DATATYPE UCT_PREDREG_MESSAGE_LAST
#define MESSAGE_BYTES    UCT_PREDREG_MESSAGE_LAST

/* The overriding function of a communication. The frame address lies a constant
 * distance below that of the caller, and so stands for the depth of the
 * stack. */
#define PREDREG_COMM(_name, _ret, _kind, _params, _args, _object, _buffer, \
                     _count, _options) \
    PREDREG_EXPORT _ret _name _params \
    { \
        unsigned ucx                  = predreg_ucx(PREDREG_CALLER); \
        uct_predreg_purpose_t purpose = predreg_purpose; \
        const uct_predreg_hooks_t *hooks, *sends; \
        uct_predreg_comm_t comm; \
        COPY_##_options \
        _ret ret; \
        \
        hooks = comm_hooks(ucx, _count, PREDREG_DATATYPE_##_options); \
        sends = SENDS_##_options(ucx, _count, PREDREG_DATATYPE_##_options); \
        if ((hooks != NULL) || (sends != NULL)) { \
            comm.kind     = UCS_RCACHE_PRED_COMM_##_kind; \
            comm.message  = MESSAGE_##_options; \
            comm.ep       = EP_OF_##_object; \
            comm.worker   = WORKER_OF_##_object; \
            comm.buffer   = _buffer; \
            comm.count    = _count; \
            comm.datatype = PREDREG_DATATYPE_##_options; \
            comm.param    = PARAM_##_options; \
            comm.caller   = PREDREG_CALLER; \
            comm.stack    = __builtin_frame_address(0); \
            comm.changed  = 0; \
            comm.hot      = NULL; \
            if (hooks != NULL) { \
                hooks->comm(&predreg_window, &comm); \
            } \
            if (sends != NULL) { \
                predreg_purpose = UCT_PREDREG_PURPOSE_HOT; \
                sends->send(&predreg_sender, &comm); \
            } \
            CHANGE_##_options \
        } \
        \
        ++predreg_depth; \
        predreg_purpose = comm_purpose(UCS_RCACHE_PRED_COMM_##_kind, \
                                       PREDREG_DATATYPE_##_options); \
        ret = PREDREG_REAL(ucx, _name) _args; \
        predreg_purpose = purpose; \
        --predreg_depth; \
        if ((sends != NULL) && ucs_unlikely(comm.hot != NULL)) { \
            sends->sent(predreg_sender, &comm, \
                        (ucs_status_ptr_t)(intptr_t)ret); \
        } \
        return ret; \
    }

#include "ucp_comms.h"

PREDREG_EXPORT ucs_status_t
ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
            ucp_mem_h *memh_p)
{
    unsigned ucx                  = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose = predreg_purpose;
    ucs_status_t status;

    predreg_purpose = UCT_PREDREG_PURPOSE_MAPPED;
    status          = PREDREG_REAL(ucx, ucp_mem_map)(context, params, memh_p);
    predreg_purpose = purpose;
    return status;
}
