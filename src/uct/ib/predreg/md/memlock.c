/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memlock.h"

#include <ucs/base/relaxed.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/sys/math.h>

#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>


/* The inode number of the first user name space in /proc, the same in all kernels (Linux,
 * include/linux/proc_ns.h, PROC_USER_INIT_INO) */
#define FIRST_USER_NAMESPACE 0xeffffffdu


/* Whether the process is in the first user name space. The root of another name space,
 * such as a container's, has capabilities there, but the kernel asks for a capability of
 * the first (capable() in ib_umem_get() and mlock()) */
static int is_in_first_namespace(void)
{
    struct stat st;

    return (stat("/proc/self/ns/user", &st) == 0) &&
           (st.st_ino == FIRST_USER_NAMESPACE);
}

static int linux_may_lock_anything(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3
    };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    memset(data, 0, sizeof(data));
    return (syscall(SYS_capget, &header, data) == 0) &&
           (data[0].effective & (1u << CAP_IPC_LOCK)) &&
           is_in_first_namespace();
}

static int linux_get_limit(struct rlimit *limit)
{
    return getrlimit(RLIMIT_MEMLOCK, limit);
}

const uct_predreg_memlock_sys_t uct_predreg_memlock_linux = {
    .may_lock_anything = linux_may_lock_anything,
    .get_limit         = linux_get_limit
};

uint64_t uct_predreg_memlock_limit(const uct_predreg_memlock_t *memlock)
{
    struct rlimit limit;

    if (memlock->sys->may_lock_anything() ||
        (memlock->sys->get_limit(&limit) != 0) ||
        (limit.rlim_cur == RLIM_INFINITY)) {
        return UINT64_MAX;
    }

    return limit.rlim_cur;
}

uint64_t uct_predreg_memlock_bound(uct_predreg_memlock_t *memlock,
                                   uint64_t max_pinned)
{
    uint64_t limit = uct_predreg_memlock_limit(memlock);
    uint64_t bytes = ucs_relaxed_load(&memlock->bytes);
    uint64_t left  = (limit > bytes) ? (limit - bytes) : 0;

    if (limit == UINT64_MAX) {
        return max_pinned;
    }

    left = ucs_max(left, UCS_RCACHE_PRED_MIN_BYTES);
    return ucs_min(max_pinned, left);
}
