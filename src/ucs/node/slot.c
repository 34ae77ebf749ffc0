/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "node_int.h"

#include <ucs/base/relaxed.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>


ucs_status_t ucs_rcache_pred_procstat_parse(const char *line,
                                            ucs_rcache_pred_procstat_t *stat)
{
    /* The second field is the program's name in parentheses, and may itself contain
     * parentheses; later fields are a letter and numbers: 3, and 4 to 19, 20, 21, 22 */
    const char *pos = strrchr(line, ')');

    return ((pos != NULL) && (pos[1] == ' ') &&
            (sscanf(pos + 2, "%c%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d%*d"
                    "%" SCNu64 "%*d%" SCNu64, &stat->state, &stat->num_threads,
                    &stat->start_time) == 3)) ?
           UCS_OK : UCS_ERR_INVALID_PARAM;
}

int ucs_rcache_pred_procstat_is_dead(const ucs_rcache_pred_procstat_t *stat,
                                     uint64_t start_time)
{
    if (stat->start_time != start_time) {
        return 1; /* Another process has got the same pid */
    }

    /* A zombie has released its memory and closed its files. But where the process has
     * other threads, only its first thread has ended. */
    return (stat->state == 'X') || (stat->state == 'x') ||
           ((stat->state == 'Z') && (stat->num_threads <= 1));
}

static ucs_status_t procstat_read(pid_t pid, ucs_rcache_pred_procstat_t *stat)
{
    char line[1024]; /* 52 fields, most of them small */
    ssize_t length;
    int fd;

    snprintf(line, sizeof(line), "/proc/%d/stat", (int)pid);
    fd = open(line, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return UCS_ERR_NO_ELEM;
    }

    length = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (length < 0) {
        return UCS_ERR_IO_ERROR;
    }

    line[length] = '\0';
    return ucs_rcache_pred_procstat_parse(line, stat);
}

ucs_rcache_pred_procid_t ucs_rcache_pred_procid_self(void)
{
    ucs_rcache_pred_procstat_t stat;

    if (procstat_read(getpid(), &stat) != UCS_OK) {
        return 0;
    }

    return ucs_rcache_pred_procid(getpid(), stat.start_time);
}

int ucs_rcache_pred_procid_is_dead(ucs_rcache_pred_procid_t id)
{
    pid_t pid       = ucs_rcache_pred_procid_pid(id);
    int saved_errno = errno;
    ucs_rcache_pred_procstat_t stat;
    int dead;

    if ((kill(pid, 0) != 0) && (errno == ESRCH)) {
        dead = 1;
    } else {
        dead = (procstat_read(pid, &stat) == UCS_OK) &&
               ucs_rcache_pred_procstat_is_dead(
                       &stat, id >> UCS_RCACHE_PRED_PROCID_PID_BITS);
    }

    errno = saved_errno;
    return dead;
}


unsigned pred_node_num_used(const ucs_rcache_pred_node_t *node)
{
    return ucs_min(atomic_load(&node->shm->num_used),
                   UCS_RCACHE_PRED_NODE_SLOTS);
}

void pred_slot_set_cpus(_Atomic(uint64_t) *words, const cpu_set_t *cpus)
{
    uint64_t values[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    unsigned i;

    memcpy(values, cpus, sizeof(values));
    for (i = 0; i < UCS_RCACHE_PRED_NODE_CPU_WORDS; ++i) {
        ucs_relaxed_store(&words[i], values[i]);
    }
}

void pred_slot_get_cpus(const _Atomic(uint64_t) *words, cpu_set_t *cpus)
{
    uint64_t values[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_NODE_CPU_WORDS; ++i) {
        values[i] = ucs_relaxed_load(&words[i]);
    }
    memcpy(cpus, values, sizeof(values));
}

void pred_slot_free(ucs_rcache_pred_node_slot_t *slot)
{
    _Atomic(uint64_t) *word;

    /* Bytes and regions, which other processes sum, are cleared after the other
     * fields, and the owner last: that sets the slot free */
    for (word = &slot->procid; word < (_Atomic(uint64_t)*)(slot + 1); ++word) {
        ucs_relaxed_store(word, 0);
    }
    atomic_store(&slot->regions, 0);
    atomic_store(&slot->bytes, 0);
    atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

/* @return whether the owner of a slot has nothing registered any more. node_int.h says
 * why */
static int slot_is_dead(ucs_rcache_pred_node_t *node,
                        ucs_rcache_pred_node_slot_t *slot, uint64_t owner)
{
    uint64_t procid;

    if (!ucs_rcache_pred_token_is_gone(owner)) {
        return 0;
    }

    procid = ucs_relaxed_load(&slot->procid);
    if ((procid == 0) || (ucs_relaxed_load(&slot->names) != node->names)) {
        return 1;
    }

    /* A slot with this process's own procid, but another sign of life, is from before
     * this process has run another program (exec) */
    return (procid == node->procid) || ucs_rcache_pred_procid_is_dead(procid);
}

/* Take back a slot, if its owner is dead. @return whether this call has taken it back. */
static int slot_reap(ucs_rcache_pred_node_t *node,
                     ucs_rcache_pred_node_slot_t *slot)
{
    uint64_t owner = ucs_relaxed_load(&slot->owner);

    if ((owner == 0) || (owner == node->self) ||
        !slot_is_dead(node, slot, owner)) {
        return 0;
    }

    /* Acquire: another process may have died while clearing the slot; this process
     * writes after the dead one */
    if (!atomic_compare_exchange_strong_explicit(&slot->owner, &owner,
                                                 node->self,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return 0;
    }

    pred_slot_free(slot);
    return 1;
}

unsigned pred_node_reap(ucs_rcache_pred_node_t *node, unsigned max)
{
    unsigned num_used = pred_node_num_used(node);
    unsigned some     = ucs_min(num_used, max);
    unsigned count    = 0;
    unsigned hand, i;

    hand = ucs_relaxed_add(&node->reap_hand, some);
    for (i = 0; i < some; ++i) {
        count += slot_reap(node, &node->shm->slots[(hand + i) % num_used]);
    }

    return count;
}

/* Become the owner of a slot. @return 0 if the slot has another owner. */
static int slot_take(ucs_rcache_pred_node_t *node, unsigned index)
{
    ucs_rcache_pred_node_slot_t *slot = &node->shm->slots[index];
    uint32_t num_used                 = atomic_load(&node->shm->num_used);
    uint64_t owner                    = 0;

    while ((num_used < index + 1) &&
           !atomic_compare_exchange_weak(&node->shm->num_used, &num_used,
                                         index + 1)) {
    }

    return atomic_compare_exchange_strong_explicit(&slot->owner, &owner,
                                                   node->self,
                                                   memory_order_acquire,
                                                   memory_order_relaxed);
}

ucs_status_t pred_slot_take_any(ucs_rcache_pred_node_t *node)
{
    unsigned i;

    pred_node_reap(node, UCS_RCACHE_PRED_NODE_SLOTS);
    for (i = 0; i < UCS_RCACHE_PRED_NODE_SLOTS; ++i) {
        if (slot_take(node, i)) {
            node->slot = &node->shm->slots[i];
            ucs_relaxed_store(&node->slot->names, node->names);
            ucs_relaxed_store(&node->slot->procid, node->procid);
            return UCS_OK;
        }
    }

    ucs_error("the node has %d processes with predictive registration already, "
              "no more are accepted", UCS_RCACHE_PRED_NODE_SLOTS);
    return UCS_ERR_NO_RESOURCE;
}
