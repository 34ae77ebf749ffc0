/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "making.h"
#include "context.h"
#include "hot.h"
#include "send.h"
#include "thresholds.h"

#include <uct/ib/predreg/compat/ucp_setting.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <stdio.h>
#include <string.h>

#define SETTING         "ZCOPY_THRESH"
#define SETTING_RNDV    "RNDV_THRESH"
#define SETTING_DEFAULT "auto"


/* Puts and gets shorter than these are copied in contexts that are for messages
 * as well: the setting would have UCP register the buffers of all of them, and
 * nothing else can choose the copy for a single one. Bytes. UCX 1.13 copies puts
 * of less than the first one (ucp_ep_config_init()); gets carry rendezvous, too,
 * which begins above the lengths of small sends */
#define PUT_ZCOPY_MIN 16384
#define GET_ZCOPY_MIN (UCT_PREDREG_SEND_MAX + 1)


/* Whether a context is for one of some features */
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

/* @return the longest message that is looked at. What is longer than the user has
 * said goes by rendezvous, which a message that is to be copied would not */
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
    /* Measures which way to copy is the faster one, too */
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

    /* The user has set it: shorter messages are copied anyway */
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
    ucs_status_t status;

    if (making->is_changed) {
        real->ucp_config_modify(config, SETTING, SETTING_DEFAULT);
    }

    if ((making->min_length == 0) || (ucp == NULL)) {
        return;
    }

    status = uct_predreg_eager_make_datatype(real);
    if (status == UCS_OK) {
        status = uct_predreg_eager_add(core, real, ucp, making);
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
    /* Memory of devices may have no other way than zero-copy */
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
