/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "live.h"
#include "own_fd.h"

#include <ucs/base/relaxed.h>
#include <ucs/debug/log_def.h>
#include <ucs/vfs/base/vfs_obj.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIVE_MAGIC   0x6765726465727001ul /* "\1predreg" in little endian */
#define LIVE_WORDS   (sizeof(ucs_rcache_pred_live_state_t) / sizeof(uint64_t))

/* Nobody can change the size of a sealed page. If somebody made a page shorter while
 * another process reads it, the reader would be killed with a SIGBUS. */
#define LIVE_SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* How often a reader looks for a moment in which nobody writes the page, and the
 * wait between two looks. A running writer is done in a microsecond; a writer that
 * the scheduler has set aside goes on after the time slices of some other threads. */
#define READ_TRIES   50
#define READ_WAIT_NS 1000000

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#  define MFD_NOEXEC_SEAL 8u
#endif


/* The page, which other processes map, too */
typedef struct live_page {
    /* Constant once magic is written. Magic, version and size have the same sizes
     * and places in all versions of the page. */
    _Atomic(uint64_t) magic;  /* Release, acquire: written after the two others */
    uint32_t         version;
    uint32_t         size;    /* Size of this structure, bytes */

    /* Uses under leave-pinned. Any thread adds to the number; relaxed, since
     * nothing else depends on it */
    _Atomic(uint64_t) uses;

    /* The state, and its sequence number: odd during a write, so that a reader
     * notices; 0: nothing has been written yet. Only the thread that has set busy
     * writes */
    _Atomic(uint64_t) seq;
    _Atomic(uint64_t) word[LIVE_WORDS];
} live_page_t;

struct ucs_rcache_pred_live {
    live_page_t              *page;
    ucs_rcache_pred_own_fd_t file;   /* Constant */

    /* Not 0 while a thread is writing. Sequentially consistent, as wanted, see
     * ucs_rcache_pred_live_update() */
    _Atomic(int)              busy;
    /* Not 0 if a change may not be in the page yet. Any thread sets the flag; the
     * thread that has set busy clears it */
    _Atomic(int)              wanted;
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
    live_page_t *page;
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
    atomic_store_explicit(&page->magic, LIVE_MAGIC, memory_order_release);
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

static void live_write(live_page_t *page,
                       const ucs_rcache_pred_live_state_t *state)
{
    uint64_t words[LIVE_WORDS];
    uint64_t seq;
    unsigned i;

    memcpy(words, state, sizeof(words));
    /* Relaxed: only the thread that has set busy writes the number, and busy orders
     * such threads */
    seq = ucs_relaxed_load(&page->seq);
    ucs_relaxed_store(&page->seq, seq + 1);

    /* Release: a reader of one of the words sees the odd number as well */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < LIVE_WORDS; ++i) {
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


/* @return UCS_OK if the file can be mapped and read without a SIGBUS: long enough,
 * and sealed against truncation. */
static ucs_status_t read_check_file(int fd)
{
    struct stat st;
    int seals;

    seals = fcntl(fd, F_GET_SEALS);
    if ((seals < 0) || (fstat(fd, &st) != 0)) {
        return UCS_ERR_INVALID_PARAM;
    }

    if (!(seals & F_SEAL_SHRINK)) {
        /* The file may be a page that is not sealed yet */
        return (st.st_size <= sizeof(live_page_t)) ? UCS_ERR_BUSY :
                                                     UCS_ERR_INVALID_PARAM;
    }

    /* All versions have the members before uses */
    return (st.st_size < ucs_offsetof(live_page_t, uses)) ?
           UCS_ERR_INVALID_PARAM : UCS_OK;
}

static ucs_status_t read_check_page(int fd, const live_page_t *page,
                                    unsigned *version_p)
{
    struct stat st;
    uint64_t magic;

    /* Acquire: a reader that sees the magic sees version and size as well */
    magic = atomic_load_explicit(&page->magic, memory_order_acquire);
    if (magic != LIVE_MAGIC) {
        return (magic == 0) ? UCS_ERR_BUSY : UCS_ERR_INVALID_PARAM;
    }

    *version_p = page->version;
    if (*version_p != UCS_RCACHE_PRED_LIVE_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }

    return ((page->size == sizeof(*page)) && (fstat(fd, &st) == 0) &&
            (st.st_size >= sizeof(*page))) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

/* Read the state. @return 0 if a writer has changed it meanwhile */
static int read_try(const live_page_t *page,
                    ucs_rcache_pred_live_state_t *state)
{
    uint64_t words[LIVE_WORDS];
    uint64_t seq;
    unsigned i;

    /* Acquire: pairs with the release of the writer's last store */
    seq = atomic_load_explicit(&page->seq, memory_order_acquire);
    if ((seq == 0) || (seq & 1)) {
        return 0;
    }

    for (i = 0; i < LIVE_WORDS; ++i) {
        words[i] = ucs_relaxed_load(&page->word[i]);
    }

    /* Acquire: the number is read again only after the words were read */
    atomic_thread_fence(memory_order_acquire);
    if (ucs_relaxed_load(&page->seq) != seq) {
        return 0;
    }

    memcpy(state, words, sizeof(*state));
    return 1;
}

/* Anybody may have written the page, and its reader may print it on a terminal:
 * numbers must be in range, and the command must be printable. */
static ucs_status_t read_check_state(ucs_rcache_pred_live_state_t *state)
{
    unsigned i;

    if ((state->snapshot.policy >= UCS_RCACHE_PRED_POLICY_LAST) ||
        (state->snapshot.mode >= UCS_RCACHE_PRED_MODE_LAST) ||
        (state->snapshot.pid <= 0)) {
        return UCS_ERR_INVALID_PARAM;
    }

    state->command[UCS_RCACHE_PRED_LIVE_COMMAND - 1] = '\0';
    for (i = 0; state->command[i] != '\0'; ++i) {
        if ((state->command[i] < ' ') || (state->command[i] > '~')) {
            state->command[i] = '?';
        }
    }
    return UCS_OK;
}

static ucs_status_t read_page(const live_page_t *page,
                              ucs_rcache_pred_live_state_t *state)
{
    const struct timespec wait = { .tv_nsec = READ_WAIT_NS };
    unsigned i;

    for (i = 0; i < READ_TRIES; ++i) {
        if (read_try(page, state)) {
            if (state->snapshot.policy ==
                UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
                state->snapshot.stats.uses = ucs_relaxed_load(&page->uses);
            }
            return read_check_state(state);
        }
        nanosleep(&wait, NULL);
    }

    return UCS_ERR_BUSY;
}

ucs_status_t ucs_rcache_pred_live_read(int fd,
                                       ucs_rcache_pred_live_state_t *state,
                                       unsigned *version_p)
{
    const live_page_t *page;
    ucs_status_t status;

    status = read_check_file(fd);
    if (status != UCS_OK) {
        return status;
    }

    page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        return UCS_ERR_IO_ERROR;
    }

    status = read_check_page(fd, page, version_p);
    if (status == UCS_OK) {
        status = read_page(page, state);
    }
    munmap((void*)page, sizeof(*page));
    return status;
}

void ucs_rcache_pred_live_advance(ucs_rcache_pred_live_state_t *state,
                                  uint64_t now)
{
    ucs_rcache_pred_stats_t *stats = &state->snapshot.stats;
    uint64_t age, duration;
    unsigned __int128 integral;

    if (!state->counting || (now <= state->time)) {
        return;
    }

    age      = now - state->time;
    duration = stats->duration + age;
    if (duration < age) {
        return; /* The sum has wrapped around, perhaps to 0: the page is nonsense */
    }

    integral         = (unsigned __int128)stats->bytes_avg * stats->duration +
                       (unsigned __int128)stats->bytes_now * age;
    stats->bytes_avg = integral / duration;
    stats->duration  = duration;
    state->time     = now;
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
