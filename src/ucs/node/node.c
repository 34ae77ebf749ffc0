/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"
#include "cpus.h"
#include "node_int.h"

#include <ucs/base/clock.h>
#include <ucs/base/relaxed.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How often a process asks for room before it looks for dead processes: the first
 * refusal may be due to another process that asks at the same time, and will be
 * refused as well. Only two times, since the yield in between may cost a time slice
 * on a crowded node. */
#define RESERVE_ATTEMPTS 2

/* The most bytes, and regions, that a process can have if there is no bound: the
 * numbers in its slot must not wrap around */
#define SLOT_MAX (UINT64_MAX / 2)


static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return (a + b < a) ? UINT64_MAX : (a + b);
}

void ucs_rcache_pred_node_get_totals(ucs_rcache_pred_node_t *node,
                                     ucs_rcache_pred_node_totals_t *totals)
{
    unsigned num_used = pred_node_num_used(node);
    ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    memset(totals, 0, sizeof(*totals));
    for (i = 0; i < num_used; ++i) {
        slot             = &node->shm->slots[i];
        totals->bytes    = add_saturated(totals->bytes,
                                         atomic_load(&slot->bytes));
        totals->regions  = add_saturated(totals->regions,
                                         atomic_load(&slot->regions));
        totals->procs   += (ucs_relaxed_load(&slot->owner) != 0);
    }
}

/* Add to a number of the own slot. @return 0 if the sum would exceed max: the
 * number stays as before. */
static int slot_add(_Atomic(uint64_t) *word, uint64_t value, uint64_t max)
{
    uint64_t old = atomic_load(word);

    do {
        if ((value > max) || (old > max - value)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(word, &old, old + value));

    return 1;
}

/* Ask for room once. node_int.h proves that the bound is kept. */
static int try_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                       uint64_t regions)
{
    uint64_t max_bytes   = node->params.max_bytes;
    uint64_t max_regions = node->params.max_regions;
    ucs_rcache_pred_node_totals_t totals;

    if (!slot_add(&node->slot->bytes, bytes, ucs_min(max_bytes, SLOT_MAX))) {
        return 0;
    }

    if (!slot_add(&node->slot->regions, regions,
                  ucs_min(max_regions, SLOT_MAX))) {
        goto err_sub_bytes;
    }

    if ((max_bytes == UCS_RCACHE_PRED_NODE_UNLIMITED) &&
        (max_regions == UCS_RCACHE_PRED_NODE_UNLIMITED)) {
        return 1;
    }

    ucs_rcache_pred_node_get_totals(node, &totals);
    if ((totals.bytes <= max_bytes) && (totals.regions <= max_regions)) {
        return 1;
    }

    atomic_fetch_sub(&node->slot->regions, regions);
err_sub_bytes:
    atomic_fetch_sub(&node->slot->bytes, bytes);
    return 0;
}

int ucs_rcache_pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                 uint64_t regions)
{
    unsigned i;

    for (i = 0; i < RESERVE_ATTEMPTS; ++i) {
        if (i > 0) {
            ucs_give_way(NULL);
        }

        if (try_reserve(node, bytes, regions)) {
            return 1;
        }
    }

    return (pred_node_reap(node, PRED_NODE_REAP_SOME) > 0) &&
           try_reserve(node, bytes, regions);
}

/* @return whether a further reservation can never fit a bound.
 * @param [in] held  The part of the bound that the reserve of this process holds */
static int never_fits(uint64_t more, uint64_t max, uint64_t held)
{
    return (more > 0) && (more > ucs_min(max, SLOT_MAX) - held);
}

int ucs_rcache_pred_node_never_fits(const ucs_rcache_pred_node_t *node,
                                    uint64_t bytes, uint64_t regions)
{
    const ucs_rcache_pred_node_params_t *params = &node->params;

    /* The reserve fits the bounds: this process has joined */
    return never_fits(bytes, params->max_bytes, params->reserve) ||
           never_fits(regions, params->max_regions, params->reserve_regions);
}

/* Log that a bound has no room for the reserve of this process. @param [in] values  The
 * bound, the reserve, and what the other processes have: bytes, or numbers of regions */
static void complain(const char *name, int is_bytes, const uint64_t values[3],
                     unsigned num_others)
{
    char texts[3][32];
    unsigned i;

    for (i = 0; i < 3; ++i) {
        if (is_bytes) {
            ucs_memunits_to_str(values[i], texts[i], sizeof(texts[i]));
        } else {
            snprintf(texts[i], sizeof(texts[i]), "%" PRIu64, values[i]);
        }
    }

    ucs_error("%s=%s has no room for this process, which needs %s of it: the others "
              "(%u) have %s; accepted: %s and more for each process of the node", name,
              texts[0], texts[1], num_others, texts[2], texts[1]);
}

ucs_status_t pred_node_hold_reserve(ucs_rcache_pred_node_t *node)
{
    const ucs_rcache_pred_node_params_t *params = &node->params;
    ucs_rcache_pred_node_totals_t totals;

    /* An empty reserve is accepted even if the other processes together have
     * more than the bound of this process: their bound may be larger */
    if (((params->reserve == 0) && (params->reserve_regions == 0)) ||
        ucs_rcache_pred_node_reserve(node, params->reserve,
                                     params->reserve_regions)) {
        return UCS_OK;
    }

    /* Others may have given back room since. Then nobody knows which bound had no
     * room, and the message names the bound on bytes if there is one. */
    ucs_rcache_pred_node_get_totals(node, &totals);
    if ((params->max_bytes == UCS_RCACHE_PRED_NODE_UNLIMITED) ||
        ((params->max_regions != UCS_RCACHE_PRED_NODE_UNLIMITED) &&
         (totals.regions + params->reserve_regions > params->max_regions))) {
        complain(params->regions_name, 0,
                 (uint64_t[]){params->max_regions, params->reserve_regions,
                              totals.regions}, totals.procs - 1);
    } else {
        complain(params->bytes_name, 1,
                 (uint64_t[]){params->max_bytes, params->reserve, totals.bytes},
                 totals.procs - 1);
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

/* Tell the other processes where this process may run, and begin to watch the
 * processors */
static void node_start(ucs_rcache_pred_node_t *node)
{
    ucs_rcache_pred_cpus_usable(&node->usable);
    ucs_rcache_pred_idle_read_cores(node->params.root, &node->usable, node->cores);
    pred_slot_set_cpus(node->slot->affinity, &node->params.affinity);
    pred_slot_set_cpus(node->slot->usable, &node->usable);
    node->joined = ucs_monotonic_ns();
    pred_node_watch(node, node->joined);
    ucs_relaxed_store(&node->asks_seen, atomic_load(&node->shm->asks));
}

/* @return a number that stands for the PID and time name spaces of this process */
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

    status = pred_node_hold_reserve(node);
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

    /* Processes that see the same shared memory are on the same node */
    return pred_node_join_as(params, 0, self, node_p);
}

void ucs_rcache_pred_node_leave(ucs_rcache_pred_node_t *node)
{
    pred_slot_free(node->slot);
    pred_node_close(node);
}

/* Tell the other processes the processor time of the helper so far, and its processor */
static void tell_helper(ucs_rcache_pred_node_t *node, uint64_t busy)
{
    pred_node_word_t seat     = pred_node_get_seat(node);
    pred_node_helper_t helper = {
        .cpu  = seat.cpu,
        .usec = busy / 1000
    };

    ucs_relaxed_store(&node->slot->helper, helper.word);
}

void pred_node_update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
                         uint64_t busy, ucs_rcache_pred_node_seat_t *seat)
{
    pred_node_word_t word;

    ucs_relaxed_store(&node->slot->demand, demand);
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
