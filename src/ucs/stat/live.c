/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "live.h"

#include <ucs/base/relaxed.h>
#include <ucs/host/own_fd.h>
#include <ucs/debug/log_def.h>
#include <ucs/vfs/base/vfs_obj.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nobody can change the size of a sealed page. If somebody made a page shorter while
 * another process reads it, the reader would be killed with a SIGBUS. */
#define LIVE_SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#  define MFD_NOEXEC_SEAL 8u
#endif


struct ucs_rcache_pred_live {
    ucs_rcache_pred_live_page_t *page;
    ucs_rcache_pred_own_fd_t    file; /* Constant */

    /* Not 0 while a thread is writing. Sequentially consistent, as wanted, see
     * ucs_rcache_pred_live_update() */
    _Atomic(int)                busy;
    /* Not 0 if a change may not be in the page yet. Any thread sets the flag; the
     * thread that has set busy clears it */
    _Atomic(int)                wanted;
};


/* Newer kernels may refuse memory unless a flag says that nobody executes it; older
 * kernels refuse the flag. */
static int live_memfd(void)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd;

    fd = memfd_create(UCS_RCACHE_PRED_LIVE_NAME, flags | MFD_NOEXEC_SEAL);
    if ((fd < 0) && (errno == EINVAL)) {
        fd = memfd_create(UCS_RCACHE_PRED_LIVE_NAME, flags);
    }

    return (fd < 0) ? fd : ucs_rcache_pred_own_fd_move(fd);
}

ucs_status_t ucs_rcache_pred_live_create(ucs_rcache_pred_live_t **live_p)
{
    ucs_status_t status = UCS_ERR_UNSUPPORTED;
    ucs_rcache_pred_live_t *live;
    ucs_rcache_pred_live_page_t *page;
    int fd;

    live = calloc(1, sizeof(*live));
    if (live == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    fd = live_memfd();
    if (fd < 0) {
        goto err_free;
    }

    if ((ucs_rcache_pred_own_fd_init(&live->file, fd) != 0) ||
        (ftruncate(fd, sizeof(*page)) != 0) ||
        (fcntl(fd, F_ADD_SEALS, LIVE_SEALS) != 0)) {
        goto err_close;
    }

    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        goto err_close;
    }

    page->version = UCS_RCACHE_PRED_LIVE_VERSION;
    page->size    = sizeof(*page);
    atomic_store_explicit(&page->magic, UCS_RCACHE_PRED_LIVE_MAGIC, memory_order_release);
    live->page = page;
    *live_p    = live;
    return UCS_OK;

err_close:
    close(fd);
err_free:
    free(live);
err:
    return status;
}

void ucs_rcache_pred_live_destroy(ucs_rcache_pred_live_t *live)
{
    munmap(live->page, sizeof(*live->page));
    ucs_rcache_pred_own_fd_close(&live->file);
    free(live);
}

void ucs_rcache_pred_live_abandon(ucs_rcache_pred_live_t *live)
{
    /* The page stays mapped. Unmapping calls the memory hooks, and a thread of the
     * parent, gone here, may have held their lock */
    ucs_rcache_pred_own_fd_close(&live->file);
}

static void live_write(ucs_rcache_pred_live_page_t *page,
                       const ucs_rcache_pred_live_state_t *state)
{
    uint64_t words[UCS_RCACHE_PRED_LIVE_WORDS];
    uint64_t seq;
    unsigned i;

    memcpy(words, state, sizeof(words));
    /* Relaxed: only the thread that has set busy writes the number, and busy orders
     * such threads */
    seq = ucs_relaxed_load(&page->seq);
    ucs_relaxed_store(&page->seq, seq + 1);

    /* Release: a reader of one of the words sees the odd number as well */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < UCS_RCACHE_PRED_LIVE_WORDS; ++i) {
        ucs_relaxed_store(&page->word[i], words[i]);
    }

    /* Release: a reader of the number sees the words */
    atomic_store_explicit(&page->seq, seq + 2, memory_order_release);
}

/*
 * Why no change is missed: a thread A with a change sets wanted, and gives up if a
 * thread B has set busy. After clearing busy, B looks at wanted again, and starts over
 * if it is still set. If it is not, B has cleared it after A has set it, has collected
 * the state after that, and so has seen the change. All operations are sequentially
 * consistent.
 */
void ucs_rcache_pred_live_update(ucs_rcache_pred_live_t *live,
                                 ucs_rcache_pred_live_collect_t collect,
                                 void *arg)
{
    ucs_rcache_pred_live_state_t state;

    atomic_store(&live->wanted, 1);
    while (atomic_load(&live->wanted) && !atomic_exchange(&live->busy, 1)) {
        /* An exchange rather than a store: this thread reads the value that another
         * thread has stored, and so collect() sees what that thread changed before */
        atomic_exchange(&live->wanted, 0);
        collect(arg, &state);
        live_write(live->page, &state);
        atomic_store(&live->busy, 0);
    }
}

void ucs_rcache_pred_live_count_use(ucs_rcache_pred_live_t *live)
{
    ucs_relaxed_add(&live->page->uses, 1);
}

uint64_t ucs_rcache_pred_live_get_uses(const ucs_rcache_pred_live_t *live)
{
    return ucs_relaxed_load(&live->page->uses);
}

int ucs_rcache_pred_live_get_fd(const ucs_rcache_pred_live_t *live)
{
    return live->file.fd;
}


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

/* Show the name of a number in the snapshot.
 * @param [in] arg_ptr  The names.
 * @param [in] arg_u64  Where the number is in the snapshot */
static void vfs_read_name(void *obj, ucs_string_buffer_t *strb, void *arg_ptr,
                          uint64_t arg_u64)
{
    const char *const *names   = arg_ptr;
    ucs_rcache_pred_vfs_t *vfs = obj;
    ucs_rcache_pred_snapshot_t snapshot;

    vfs->snapshot(vfs->arg, &snapshot);
    ucs_string_buffer_appendf(
            strb, "%s\n", names[*(uint32_t*)UCS_PTR_BYTE_OFFSET(&snapshot, arg_u64)]);
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
        ucs_vfs_obj_add_ro_file(vfs, vfs_read_name, ucs_rcache_pred_policy_names,
                                ucs_offsetof(ucs_rcache_pred_snapshot_t, policy),
                                "policy");
        ucs_vfs_obj_add_ro_file(vfs, vfs_read_name, ucs_rcache_pred_mode_names,
                                ucs_offsetof(ucs_rcache_pred_snapshot_t, mode),
                                "helper");
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
