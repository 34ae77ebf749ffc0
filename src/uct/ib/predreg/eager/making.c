/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <ucs/base/mutex.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>
#include <uct/api/tl.h>
#include <uct/ib/predreg/compat/compat.h>
#include <uct/ib/predreg/core/state.h>

#include <stdio.h>
#include <string.h>

#define SETTING         "ZCOPY_THRESH"
#define SETTING_RNDV    "RNDV_THRESH"
#define SETTING_DEFAULT "auto"

/* From how many bytes on puts and gets go without a copy, in contexts that are for
 * messages as well. The lowered setting for messages (UCX_ZCOPY_THRESH) would have UCP
 * register the buffers of all small puts and gets, and no flag of a single put or get
 * asks UCP for the copy. UCX 1.13 copies puts of less than PUT_ZCOPY_MIN
 * (ucp_ep_config_init()). UCP also uses gets for rendezvous, which begins above the
 * lengths of small sends */
#define PUT_ZCOPY_MIN 16384
#define GET_ZCOPY_MIN (UCT_PREDREG_SEND_MAX + 1)

/*
 * UCT's structure of an interface has no room for a pointer to the operation that was
 * replaced, the original, and a search for the original would slow down each message. But
 * all interfaces of a kind of transport have the same original, and kinds are few: each
 * original gets a replacement of its own.
 */
#define MAX_KINDS 16

/* The original operations, by the number of their replacement. Written under the
 * lock, before the replacement is put into an interface; relaxed, since a thread
 * gets an interface only later */
static _Atomic(uct_ep_am_zcopy_func_t) originals[MAX_KINDS];
static ucs_mutex_t                     lock =
        UCS_MUTEX_INITIALIZER(UCS_RANK_ZCOPY);

/* @return whether a context is for any of the features in a mask */
static int has_feature(const ucp_params_t *params, uint64_t features)
{
    return (params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
           (params->features & features);
}

int uct_predreg_eager_has_messages(const ucp_params_t *params)
{
    return has_feature(params, UCP_FEATURE_TAG | UCP_FEATURE_AM |
                               UCP_FEATURE_STREAM);
}

/* Have UCP send without a copy from a length on */
static void set_threshold(const uct_predreg_real_t *real, ucp_config_t *config,
                          size_t length)
{
    char value[32];

    snprintf(value, sizeof(value), "%zu", length);
    real->ucp_config_modify(config, SETTING, value);
}

/* @return the longest message to look at. UCP sends messages from the user's length
 * (UCX_RNDV_THRESH) on by rendezvous: the library does not mark such a message to be
 * copied, since UCP would then not send it by rendezvous */
static size_t
max_length(const uct_predreg_real_t *real, const ucp_config_t *config)
{
    char value[64];
    size_t length;

    if (uct_predreg_ucp_setting(real, config, SETTING_RNDV, value,
                                sizeof(value)) &&
        (ucs_str_to_memunits(value, &length) == UCS_OK)) {
        return ucs_min(ucs_max(length, 1ul) - 1, UCS_REUSE_MAX_LENGTH);
    }
    return UCS_REUSE_MAX_LENGTH;
}

void uct_predreg_eager_making(const uct_predreg_core_t *core,
                              const uct_predreg_real_t *real,
                              size_t (*gain_from)(void),
                              const ucp_params_t *params, ucp_config_t *config,
                              uct_predreg_making_t *making)
{
    const uct_predreg_setting_t *proto = &core->compat->proto;
    size_t gain, length;
    char value[64];

    *making = (uct_predreg_making_t){};
    if (!uct_predreg_eager_has_messages(params) ||
        !uct_predreg_ucp_setting(real, config, proto->name, value,
                                 sizeof(value))) {
        return;
    }

    making->flag_decides = !strcmp(value, proto->off);
    if (!uct_predreg_ucp_setting(real, config, SETTING, value,
                                 sizeof(value))) {
        return;
    }

    making->max_length = max_length(real, config);
    /* gain_from() also measures which of the two ways of copying is the faster one */
    gain = gain_from();
    if (!strcmp(value, SETTING_DEFAULT)) {
        if (gain == 0) {
            uct_predreg_thresholds_tell_useless(core);
            return;
        }

        making->min_length = ucs_max(gain, UCT_PREDREG_SEND_MIN);
        making->is_changed = 1;
        making->has_rma    = has_feature(params, UCP_FEATURE_RMA);
        set_threshold(real, config, making->min_length);
        return;
    }

    /* The user has set the length from which UCP sends without a copy */
    if ((ucs_str_to_memunits(value, &length) == UCS_OK) &&
        (length <= UCS_REUSE_MAX_LENGTH)) {
        making->min_length = ucs_max(length, UCT_PREDREG_SEND_MIN);
    }
}

void uct_predreg_eager_made(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            const uct_predreg_making_t *making,
                            ucp_config_t *config, ucp_context_h ucp)
{
    ucp_datatype_t cold_datatype;
    ucs_status_t status;

    if (making->is_changed) {
        real->ucp_config_modify(config, SETTING, SETTING_DEFAULT);
    }

    if ((making->min_length == 0) || (ucp == NULL)) {
        return;
    }

    status = uct_predreg_cold_make_datatype(real, &cold_datatype);
    if (status == UCS_OK) {
        status = uct_predreg_eager_add(core, real, ucp, making, cold_datatype);
    }

    if (status != UCS_OK) {
        ucs_warn("reused small sends of a context are not looked at: %s",
                 ucs_status_string(status));
    }
}

void uct_predreg_eager_closing(ucp_context_h ucp)
{
    uct_predreg_eager_context_t *context = uct_predreg_eager_remove(ucp);

    if (context != NULL) {
        uct_predreg_hot_close(context);
        uct_predreg_eager_free(context);
    }
}

void uct_predreg_eager_iface_query(uct_iface_attr_t *attr)
{
    /* For memory of devices zero-copy may be the only way */
    if (!uct_predreg_eager_is_making_rma() || uct_predreg_has_devices()) {
        return;
    }

    if (attr->cap.flags & UCT_IFACE_FLAG_PUT_BCOPY) {
        attr->cap.put.min_zcopy = ucs_max(attr->cap.put.min_zcopy,
                                          PUT_ZCOPY_MIN);
    }

    if (attr->cap.flags & UCT_IFACE_FLAG_GET_BCOPY) {
        attr->cap.get.min_zcopy = ucs_max(attr->cap.get.min_zcopy,
                                          GET_ZCOPY_MIN);
    }
}


/* A segment of a message that the transport sends zero-copy only after UCP's call has
 * returned, because its send queue was full or UCP was still connecting */
typedef struct late {
    const uct_iov_t *iov;
    int             is_hot; /* Whether its buffer is hot */
} late_t;

static void find_late(uct_predreg_eager_context_t *context, void *arg)
{
    late_t *late = arg;
    const ucs_reuse_buffer_t *buffer;
    ucs_reuse_slot_t *slot;
    uint32_t handle;

    buffer = ucs_reuse_table_find(&context->table, late->iov->buffer);
    handle = (buffer == NULL) ? 0 : ucs_reuse_buffer_handle(buffer);
    if (handle == 0) {
        return;
    }

    slot = ucs_reuse_slots_at(&context->slots, handle);
    if (ucs_reuse_slot_is_sent(slot)) {
        uct_predreg_hot_prove(slot);
        late->is_hot = 1;
    }
}

static void count_late(const uct_iov_t *iov)
{
    late_t late = {.iov = iov};

    uct_predreg_eager_for_each(find_late, &late);
    if (late.is_hot) {
        uct_predreg_count_late(iov->length);
    }
}

/* A transport has sent an active message of UCT, and has not copied the data after its
 * header */
static UCS_F_ALWAYS_INLINE void zcopy_seen(const uct_iov_t *iov, size_t iovcnt)
{
    uct_predreg_sender_t *sender = uct_predreg_sender_mine;
    size_t i;

    if ((sender != NULL) && (sender->issuing.slot != NULL)) {
        for (i = 0; i < iovcnt; ++i) {
            if (iov[i].buffer == sender->issuing.buffer) {
                uct_predreg_hot_prove(sender->issuing.slot);
                sender->issuing.is_zcopy = 1;
                return;
            }
        }
    }

    for (i = 0; i < iovcnt; ++i) {
        if (iov[i].length <= UCS_REUSE_MAX_LENGTH) {
            count_late(&iov[i]);
        }
    }
}

static UCS_F_ALWAYS_INLINE ucs_status_t
am_zcopy(unsigned kind, uct_ep_h ep, uint8_t id, const void *header,
         unsigned header_length, const uct_iov_t *iov, size_t iovcnt,
         unsigned flags, uct_completion_t *comp)
{
    uct_ep_am_zcopy_func_t original = ucs_relaxed_load(&originals[kind]);
    ucs_status_t status;

    status = original(ep, id, header, header_length, iov, iovcnt, flags, comp);
    if (ucs_likely((status == UCS_OK) || (status == UCS_INPROGRESS))) {
        zcopy_seen(iov, iovcnt);
    }
    return status;
}

#define REPLACEMENT(_kind) \
    static ucs_status_t am_zcopy_##_kind( \
            uct_ep_h ep, uint8_t id, const void *header, \
            unsigned header_length, const uct_iov_t *iov, size_t iovcnt, \
            unsigned flags, uct_completion_t *comp) \
    { \
        return am_zcopy(_kind, ep, id, header, header_length, iov, iovcnt, \
                        flags, comp); \
    }

#define KINDS(_f) \
    _f(0) _f(1) _f(2) _f(3) _f(4) _f(5) _f(6) _f(7) \
    _f(8) _f(9) _f(10) _f(11) _f(12) _f(13) _f(14) _f(15)

KINDS(REPLACEMENT)

#define NAME(_kind) am_zcopy_##_kind,

static const uct_ep_am_zcopy_func_t replacements[MAX_KINDS] = {KINDS(NAME)};

/* @return the replacement of an operation, or the operation if it is a replacement
 * already; NULL: there are too many kinds */
static uct_ep_am_zcopy_func_t replacement_of(uct_ep_am_zcopy_func_t func)
{
    uct_ep_am_zcopy_func_t original;
    unsigned i;

    for (i = 0; i < MAX_KINDS; ++i) {
        original = ucs_relaxed_load(&originals[i]);
        if (original == NULL) {
            ucs_relaxed_store(&originals[i], func);
            return replacements[i];
        }

        if ((original == func) || (replacements[i] == func)) {
            return replacements[i];
        }
    }

    return NULL;
}

void uct_predreg_eager_iface_opened(uct_iface_h iface)
{
    uct_ep_am_zcopy_func_t replacement;

    if (iface->ops.ep_am_zcopy == NULL) {
        return;
    }

    ucs_mutex_lock(&lock);
    replacement = replacement_of(iface->ops.ep_am_zcopy);
    ucs_mutex_unlock(&lock);

    if (replacement == NULL) {
        ucs_debug("interface %p: sends without a copy are not counted", iface);
        return;
    }

    iface->ops.ep_am_zcopy = replacement;
}


void uct_predreg_eager_fork(void)
{
    uct_predreg_eager_reset();
    uct_predreg_senders_reset();
    uct_predreg_endpoints_forget();
    uct_predreg_hot_reset();
    uct_predreg_thresholds_reset();
    ucs_mutex_init(&lock, UCS_RANK_ZCOPY, 0);
}
