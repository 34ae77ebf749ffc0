/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"
#include "node_int.h"

#include <ucs/base/relaxed.h>
#include <ucs/sys/math.h>


/* By which part of the limit the processes that have less than their equal share of it may
 * exceed it, until those that have more give up some. The keys that stay free for other jobs
 * (limit.c) have room for that */
#define SHARE_PART 80

/*
 * The keys that processes have on each device, and how many the device was found to have
 * (limit.h). A process counts its keys in its own slot; sum_keys() adds up the
 * slots.
 */


/* Sum the keys of all processes that use a device. @return how many these are */
static unsigned sum_keys(const ucs_rcache_pred_node_t *node, unsigned device,
                         uint64_t *keys_p)
{
    unsigned num_used = pred_node_num_used(node);
    unsigned procs    = 0;
    const ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    *keys_p = 0;
    for (i = 0; i < num_used; ++i) {
        slot     = &node->shm->slots[i];
        procs   += (atomic_load(&slot->devices) >> device) & 1;
        *keys_p += ucs_relaxed_load(&slot->keys[device]);
    }

    return procs;
}

static void forget(pred_node_device_t *entry)
{
    ucs_rcache_pred_limit_forget(&entry->limit);
    ucs_relaxed_store(&entry->told, 0);
    ucs_relaxed_store(&entry->wanted.regions, 0);
}

/* Use an entry of the table, if the entry is that of the device or if no process uses the
 * entry. Two processes that rename an entry at the same time, for two devices, may get one
 * entry and keep to one limit, which does no harm: the limit is advice. @return whether this
 * process uses the entry now */
static int enter(ucs_rcache_pred_node_t *node, unsigned device, uint64_t name)
{
    pred_node_device_t *entry = &node->shm->devices[device];
    uint64_t own, old, keys;

    own = atomic_fetch_or(&node->slot->devices, UCS_BIT(device));
    old = atomic_load(&entry->name);
    if (old == name) {
        if (!(own & UCS_BIT(device)) && (sum_keys(node, device, &keys) == 1)) {
            forget(entry); /* An earlier job of the same name has ended */
        }
        return 1;
    }

    if (own & UCS_BIT(device)) {
        return 0; /* This process uses it for another device */
    }

    if (((old == 0) || (sum_keys(node, device, &keys) == 1)) &&
        atomic_compare_exchange_strong(&entry->name, &old, name)) {
        forget(entry);
        return 1;
    }

    if (old == name) {
        return 1; /* Another process of the job has just named it */
    }

    atomic_fetch_and(&node->slot->devices, ~UCS_BIT(device));
    return 0;
}

unsigned ucs_rcache_pred_node_device(ucs_rcache_pred_node_t *node, uint64_t name)
{
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_NODE_DEVICES; ++i) {
        if ((atomic_load(&node->shm->devices[i].name) == name) &&
            enter(node, i, name)) {
            return i;
        }
    }

    for (i = 0; (i < UCS_RCACHE_PRED_NODE_DEVICES) && !enter(node, i, name); ++i) {
    }
    return i;
}

void ucs_rcache_pred_node_fix_keys(ucs_rcache_pred_node_t *node, unsigned device,
                                   uint64_t keys)
{
    ucs_rcache_pred_limit_fix(&node->shm->devices[device].limit, keys);
}

void ucs_rcache_pred_node_know_keys(ucs_rcache_pred_node_t *node, unsigned device,
                                    uint64_t keys, uint64_t now)
{
    ucs_rcache_pred_limit_know(&node->shm->devices[device].limit, keys, now);
}

int ucs_rcache_pred_node_tells_first(ucs_rcache_pred_node_t *node, unsigned device,
                                     unsigned what)
{
    _Atomic(uint64_t) *told = &node->shm->devices[device].told;

    return !(ucs_relaxed_or(told, UCS_BIT(what)) & UCS_BIT(what));
}

void ucs_rcache_pred_node_key_taken(ucs_rcache_pred_node_t *node, unsigned device)
{
    ucs_relaxed_add(&node->slot->keys[device], 1);
}

void ucs_rcache_pred_node_key_given(ucs_rcache_pred_node_t *node, unsigned device)
{
    ucs_relaxed_lower(&node->slot->keys[device]);
}

int ucs_rcache_pred_node_has_key(const ucs_rcache_pred_node_t *node, unsigned device)
{
    uint64_t limit = ucs_rcache_pred_limit_get(&node->shm->devices[device].limit);
    uint64_t keys, share;
    unsigned procs;

    if (ucs_likely(limit == UINT64_MAX)) {
        return 1;
    }

    procs = sum_keys(node, device, &keys);
    share = limit / ucs_max(procs, 1u);
    return (keys < limit) || ((ucs_relaxed_load(&node->slot->keys[device]) < share) &&
                              (keys < limit + (limit / SHARE_PART)));
}

void ucs_rcache_pred_node_lacks_key(ucs_rcache_pred_node_t *node, unsigned device,
                                    uint64_t now)
{
    ucs_rcache_pred_limit_lack(&node->shm->devices[device].limit, now);
}

int ucs_rcache_pred_node_key_refused(ucs_rcache_pred_node_t *node, unsigned device,
                                     uint64_t now, ucs_rcache_pred_node_keys_t *keys)
{
    ucs_rcache_pred_limit_t *limit = &node->shm->devices[device].limit;
    int is_first;

    ucs_rcache_pred_node_get_keys(node, device, keys);
    is_first    = ucs_rcache_pred_limit_refused(limit, keys->keys, now);
    keys->limit = ucs_rcache_pred_limit_get(limit);
    return is_first;
}

void ucs_rcache_pred_node_get_keys(const ucs_rcache_pred_node_t *node, unsigned device,
                                   ucs_rcache_pred_node_keys_t *keys)
{
    const pred_node_device_t *devices = node->shm->devices;
    uint64_t name                     = atomic_load(&devices[device].name);
    uint64_t of_job;
    unsigned i;

    keys->procs = sum_keys(node, device, &keys->keys);
    keys->limit = ucs_rcache_pred_limit_get(&devices[device].limit);
    keys->all   = 0;
    for (i = 0; i < UCS_RCACHE_PRED_NODE_DEVICES; ++i) {
        if (ucs_rcache_pred_node_same_device(atomic_load(&devices[i].name), name)) {
            (void)sum_keys(node, i, &of_job);
            keys->all += of_job;
        }
    }
}

int ucs_rcache_pred_node_get_scarce_keys(const ucs_rcache_pred_node_t *node,
                                         ucs_rcache_pred_node_keys_t *keys)
{
    uint64_t devices = atomic_load(&node->slot->devices);
    uint64_t least   = UINT64_MAX;
    unsigned scarce  = 0;
    uint64_t limit;
    unsigned i;

    ucs_for_each_bit(i, devices) {
        limit = ucs_rcache_pred_limit_get(&node->shm->devices[i].limit);
        if (limit < least) {
            least  = limit;
            scarce = i;
        }
    }

    if (least == UINT64_MAX) {
        return 0;
    }

    ucs_rcache_pred_node_get_keys(node, scarce, keys);
    keys->limit = least;
    return 1;
}
