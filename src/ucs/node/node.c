/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"
#include "cpus.h"
#include "idle.h"
#include "node_int.h"
#include "share.h"
#include "slot.h"
#include "watch.h"

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>


/* Say that the bound on bytes has no room for what this process needs of it */
static void complain_of_bytes(const ucs_rcache_pred_node_params_t *params,
                              const ucs_rcache_pred_node_totals_t *totals)
{
    char bound[32], need[32], taken[32];

    ucs_memunits_to_str(params->max_bytes, bound, sizeof(bound));
    ucs_memunits_to_str(params->reserve, need, sizeof(need));
    ucs_memunits_to_str(totals->bytes, taken, sizeof(taken));
    ucs_error("%s=%s has no room for this process, which needs %s of it: "
              "the others (%u) have %s; accepted: %s and more for each process "
              "of the node", params->bytes_name, bound, need,
              totals->procs - 1, taken, need);
}

static void complain_of_regions(const ucs_rcache_pred_node_params_t *params,
                                const ucs_rcache_pred_node_totals_t *totals)
{
    ucs_error("%s=%" PRIu64 " has no room for this process, which needs "
              "%" PRIu64 " of it: the others (%u) have %" PRIu64 "; accepted: "
              "%" PRIu64 " and more for each process of the node",
              params->regions_name, params->max_regions,
              params->reserve_regions, totals->procs - 1, totals->regions,
              params->reserve_regions);
}

static ucs_status_t hold_reserve(ucs_rcache_pred_node_t *node)
{
    const ucs_rcache_pred_node_params_t *params = &node->params;
    ucs_rcache_pred_node_totals_t totals;

    /* A reserve of nothing is accepted even if the others have more than this
     * process's bound, which is possible if theirs is larger */
    if (((params->reserve == 0) && (params->reserve_regions == 0)) ||
        pred_node_reserve(node, params->reserve, params->reserve_regions)) {
        return UCS_OK;
    }

    /* Others may have given back room since. Then it is not known which bound
     * had none, and the one on bytes is named if there is one. */
    ucs_rcache_pred_node_get_totals(node, &totals);
    if ((params->max_bytes == UCS_RCACHE_PRED_NODE_UNLIMITED) ||
        ((params->max_regions != UCS_RCACHE_PRED_NODE_UNLIMITED) &&
         (totals.regions + params->reserve_regions > params->max_regions))) {
        complain_of_regions(params, &totals);
    } else {
        complain_of_bytes(params, &totals);
    }
    return UCS_ERR_EXCEEDS_LIMIT;
}

ucs_rcache_pred_segment_id_t pred_node_segment_id(uint64_t key)
{
    ucs_rcache_pred_segment_id_t id = {
        .magic   = UCS_RCACHE_PRED_NODE_MAGIC,
        .version = UCS_RCACHE_PRED_NODE_VERSION,
        .key     = key
    };

    return id;
}

/* Tell the others where this process may run, and begin to watch the processors */
static void node_start(ucs_rcache_pred_node_t *node)
{
    ucs_rcache_pred_cpus_usable(&node->usable);
    ucs_rcache_pred_idle_read_cores(node->params.root, &node->usable, node->cores);
    pred_slot_set_cpus(node->slot->affinity, &node->params.affinity);
    pred_slot_set_cpus(node->slot->usable, &node->usable);
    node->joined = ucs_monotonic_ns();
    pred_node_watch(node, node->joined);
    atomic_store_explicit(&node->asks_seen, atomic_load(&node->shm->asks),
                          memory_order_relaxed);
}

/* Identify the name spaces in which the name of this process (procid.h) is
 * true */
static uint64_t name_spaces(void)
{
    static const char *const paths[] = {
        "/proc/self/ns/pid", "/proc/self/ns/time"
    };
    uint64_t key = 0;
    struct stat st;
    unsigned i;

    for (i = 0; i < ucs_static_array_size(paths); ++i) {
        key = (key * 0x100000001b3ull) +
              ((stat(paths[i], &st) == 0) ? st.st_ino : 0);
    }

    return key;
}

void pred_node_close(ucs_rcache_pred_node_t *node)
{
    ucs_rcache_pred_segment_detach(&node->shm->header);
    ucs_rcache_pred_token_destroy(node->token);
    free(node);
}

ucs_status_t pred_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t procid,
                               ucs_rcache_pred_node_t **node_p)
{
    ucs_rcache_pred_segment_id_t id = pred_node_segment_id(key);
    ucs_rcache_pred_segment_header_t *segment;
    ucs_rcache_pred_node_t *node;
    ucs_status_t status;

    node = calloc(1, sizeof(*node));
    if (node == NULL) {
        ucs_error("failed to allocate %zu bytes", sizeof(*node));
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    status = ucs_rcache_pred_token_create(&node->self, &node->token);
    if (status != UCS_OK) {
        goto err_free;
    }

    status = ucs_rcache_pred_segment_attach(&id, sizeof(*node->shm), &segment);
    if (status != UCS_OK) {
        goto err_destroy_token;
    }

    node->params = *params;
    if (params->root == NULL) {
        node->params.root = "";
    }
    node->procid = procid;
    node->names  = name_spaces();
    node->shm    = (ucs_rcache_pred_node_shm_t*)segment;
    status       = pred_slot_take_any(node);
    if (status != UCS_OK) {
        goto err_detach;
    }

    status = hold_reserve(node);
    if (status != UCS_OK) {
        goto err_free_slot;
    }

    node_start(node);
    *node_p = node;
    return UCS_OK;

err_free_slot:
    pred_slot_free(node->slot);
err_detach:
    ucs_rcache_pred_segment_detach(segment);
err_destroy_token:
    ucs_rcache_pred_token_destroy(node->token);
err_free:
    free(node);
err:
    return status;
}

ucs_status_t
ucs_rcache_pred_node_join(const ucs_rcache_pred_node_params_t *params,
                          ucs_rcache_pred_node_t **node_p)
{
    ucs_rcache_pred_procid_t self = ucs_rcache_pred_procid_self();

    if (self == 0) {
        ucs_error("failed to read /proc/self/stat, by which the processes of a "
                  "node know each other");
        return UCS_ERR_UNSUPPORTED;
    }

    /* Whoever sees the same shared memory is on the same node */
    return pred_node_join_as(params, 0, self, node_p);
}

void ucs_rcache_pred_node_leave(ucs_rcache_pred_node_t *node)
{
    pred_slot_free(node->slot);
    pred_node_close(node);
}

/* Tell the others what this process has used of its idle processor, if it has one */
static void tell_helper(ucs_rcache_pred_node_t *node, uint64_t busy)
{
    pred_node_word_t seat     = pred_node_get_seat(node);
    pred_node_helper_t helper = {
        .cpu  = seat.cpu,
        .usec = busy / 1000
    };

    atomic_store_explicit(&node->slot->helper, helper.word, memory_order_relaxed);
}

void pred_node_update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
                         uint64_t busy, ucs_rcache_pred_node_seat_t *seat)
{
    pred_node_word_t word;

    atomic_store_explicit(&node->slot->demand, demand, memory_order_relaxed);
    tell_helper(node, busy);
    pred_node_watch(node, now);

    word          = pred_node_get_seat(node);
    seat->procs   = (word.procs == 0) ? 1 : word.procs;
    seat->rank    = word.rank;
    seat->sharers = (word.sharers == 0) ? 1 : word.sharers;
    seat->idle    = !word.has_cpu ? 0 :
                    word.is_half  ? UCS_RCACHE_PRED_SIBLING_PART : 1;
    seat->share   = (word.share == 0) ?
                    1 : ((double)word.share / UCS_RCACHE_PRED_NODE_SHARE_ONE);
    if (word.cpu > 0) {
        CPU_ZERO(&seat->cpus);
        CPU_SET(word.cpu - 1, &seat->cpus);
    } else {
        ucs_rcache_pred_cpus_own(&node->params.affinity, &node->usable, &seat->cpus);
    }
}

void ucs_rcache_pred_node_update(ucs_rcache_pred_node_t *node, uint64_t demand,
                                 uint64_t busy,
                                 ucs_rcache_pred_node_seat_t *seat)
{
    pred_node_update_at(node, ucs_monotonic_ns(), demand, busy, seat);
}
