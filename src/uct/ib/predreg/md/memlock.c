/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memlock.h"

#include <ucs/rcache_pred/predict/cost.h>
#include <uct/ib/predreg/core/live.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/datastruct/list.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>


/* Memory that UCX has registered for itself: a few large pools */
typedef struct foreign {
    ucs_list_link_t list;
    uct_mem_h       memh;
    uint64_t        bytes;
    size_t          pool;  /* Its part of pool_now, 0 if it is no pool */
} foreign_t;

/* Under foreign_lock, which is taken after core.lock */
static pthread_mutex_t foreign_lock  = PTHREAD_MUTEX_INITIALIZER;
static ucs_list_link_t foreign_list  = UCS_LIST_INITIALIZER(&foreign_list,
                                                            &foreign_list);
static uint64_t        foreign_bytes = 0;
static uint64_t        pool_now      = 0; /* Of core.pool_bytes, the most */


static int may_lock_anything(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3
    };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    memset(data, 0, sizeof(data));
    return (syscall(SYS_capget, &header, data) == 0) &&
           (data[0].effective & (1u << CAP_IPC_LOCK));
}

uint64_t uct_predreg_memlock_limit(void)
{
    struct rlimit limit;

    if (may_lock_anything() || (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) ||
        (limit.rlim_cur == RLIM_INFINITY)) {
        return UINT64_MAX;
    }

    return limit.rlim_cur;
}

uint64_t uct_predreg_max_bytes(void)
{
    uint64_t max_bytes = uct_predreg_core.knobs.max_pinned;
    uint64_t memlock   = uct_predreg_memlock_limit();
    uint64_t left;

    if (memlock == UINT64_MAX) {
        return max_bytes;
    }

    pthread_mutex_lock(&foreign_lock);
    left = (memlock > foreign_bytes) ? (memlock - foreign_bytes) : 0;
    pthread_mutex_unlock(&foreign_lock);

    /* With less, nothing works: let the kernel say so */
    left = ucs_max(left, UCS_RCACHE_PRED_MIN_BYTES);
    return ucs_min(max_bytes, left);
}

static void update_bound(void)
{
    uint64_t max_bytes;

    /* The lock is not held: lowering the bound deregisters. Of two that do this
     * at once the last one is right. */
    do {
        max_bytes = uct_predreg_max_bytes();
        ucs_rcache_pred_set_max_bytes(uct_predreg_core.pred, max_bytes);
    } while (max_bytes != uct_predreg_max_bytes());
}

/* Under foreign_lock */
static void pool_add(size_t length)
{
    pool_now += length;
    /* Relaxed: a number, written under the lock */
    if (pool_now > atomic_load_explicit(&uct_predreg_core.pool_bytes,
                                        memory_order_relaxed)) {
        atomic_store_explicit(&uct_predreg_core.pool_bytes, pool_now,
                              memory_order_relaxed);
    }
}

void uct_predreg_pool_add(size_t length)
{
    pthread_mutex_lock(&foreign_lock);
    pool_add(length);
    pthread_mutex_unlock(&foreign_lock);
    uct_predreg_publish(NULL);
}

void uct_predreg_foreign_add(uct_mem_h memh, void *address, size_t length,
                             int is_pool)
{
    foreign_t *foreign = malloc(sizeof(*foreign));

    if (foreign == NULL) {
        return; /* The kernel still counts it */
    }

    foreign->memh  = memh;
    foreign->bytes = ucs_rcache_pred_pages((uintptr_t)address, length) *
                     UCS_RCACHE_PRED_PAGE_SIZE;
    foreign->pool  = is_pool ? length : 0;

    pthread_mutex_lock(&foreign_lock);
    ucs_list_add_head(&foreign_list, &foreign->list);
    foreign_bytes += foreign->bytes;
    pool_add(foreign->pool);
    pthread_mutex_unlock(&foreign_lock);
    update_bound();
    uct_predreg_publish(NULL);
}

void uct_predreg_foreign_remove(uct_mem_h memh)
{
    foreign_t *found = NULL;
    foreign_t *foreign;

    pthread_mutex_lock(&foreign_lock);
    ucs_list_for_each(foreign, &foreign_list, list) {
        if (foreign->memh == memh) {
            found          = foreign;
            foreign_bytes -= found->bytes;
            pool_now      -= found->pool;
            ucs_list_del(&found->list);
            break;
        }
    }
    pthread_mutex_unlock(&foreign_lock);

    if (found != NULL) {
        free(found);
        update_bound();
    }
}

void uct_predreg_foreign_reset(void)
{
    /* Not freed: another thread of the parent may have been in the allocator */
    pthread_mutex_init(&foreign_lock, NULL);
    ucs_list_head_init(&foreign_list);
    foreign_bytes = 0;
    pool_now      = 0;
}
