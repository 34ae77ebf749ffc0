/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "vfs.h"

#include <ucs/debug/log_def.h>
#include <ucs/vfs/base/vfs_obj.h>

#include <unistd.h>


static void vfs_read_counter(void *obj, ucs_string_buffer_t *strb,
                             void *arg_ptr, uint64_t arg_u64)
{
    const ucs_rcache_pred_counter_t *counter = arg_ptr;
    ucs_rcache_pred_vfs_t *vfs               = obj;
    ucs_rcache_pred_snapshot_t snapshot;

    vfs->snapshot(vfs->arg, &snapshot);
    ucs_string_buffer_appendf(strb, "%lu\n",
                              ucs_rcache_pred_counter_get(counter, &snapshot,
                                                          arg_u64));
}

static void vfs_read_policy(void *obj, ucs_string_buffer_t *strb, void *arg_ptr,
                            uint64_t arg_u64)
{
    ucs_rcache_pred_vfs_t *vfs = obj;
    ucs_rcache_pred_snapshot_t snapshot;

    vfs->snapshot(vfs->arg, &snapshot);
    ucs_string_buffer_appendf(strb, "%s\n",
                              ucs_rcache_pred_policy_names[snapshot.policy]);
}

static void vfs_read_helper(void *obj, ucs_string_buffer_t *strb, void *arg_ptr,
                            uint64_t arg_u64)
{
    ucs_rcache_pred_vfs_t *vfs = obj;
    ucs_rcache_pred_snapshot_t snapshot;

    vfs->snapshot(vfs->arg, &snapshot);
    ucs_string_buffer_appendf(strb, "%s\n",
                              ucs_rcache_pred_mode_names[snapshot.mode]);
}

static void vfs_add_counters(ucs_rcache_pred_vfs_t *vfs)
{
    const ucs_rcache_pred_counter_t *counter;
    ucs_rcache_pred_snapshot_t snapshot;
    char name[UCS_RCACHE_PRED_COUNTER_NAME];
    unsigned i;

    vfs->snapshot(vfs->arg, &snapshot);
    for (counter = ucs_rcache_pred_counters; counter->name != NULL; ++counter) {
        if (!ucs_rcache_pred_counter_is_known(counter, &snapshot)) {
            continue;
        }

        for (i = 0; i < counter->num; ++i) {
            ucs_rcache_pred_counter_name(counter, i, name);
            ucs_vfs_obj_add_ro_file(vfs, vfs_read_counter, (void*)counter, i,
                                    "%s", name);
        }
    }
}

void ucs_rcache_pred_vfs_add(ucs_rcache_pred_vfs_t *vfs,
                             void (*snapshot)(void *arg,
                                              ucs_rcache_pred_snapshot_t*),
                             void *arg)
{
    ucs_status_t status;

    vfs->snapshot = snapshot;
    vfs->arg      = arg;
    status        = ucs_vfs_obj_add_dir(NULL, vfs, UCS_RCACHE_PRED_VFS_DIR);
    if (status == UCS_OK) {
        ucs_vfs_obj_add_ro_file(vfs, vfs_read_policy, NULL, 0, "policy");
        ucs_vfs_obj_add_ro_file(vfs, vfs_read_helper, NULL, 0, "helper");
        vfs_add_counters(vfs);
    } else if (status != UCS_ERR_ALREADY_EXISTS) {
        ucs_debug("the counters are not in UCX's virtual file system: %s",
                  ucs_status_string(status));
        return;
    }

    vfs->pid = getpid();
}

void ucs_rcache_pred_vfs_remove(ucs_rcache_pred_vfs_t *vfs)
{
    if (vfs->pid == getpid()) {
        ucs_vfs_obj_remove(vfs);
        vfs->pid = 0;
    }
}
