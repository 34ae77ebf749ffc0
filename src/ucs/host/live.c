/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "live.h"
#include "own_fd.h"

#include <ucs/base/seqslot.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIVE_MAGIC   0x6765726465727001ul /* "\1predreg" in little endian */
#define LIVE_WORDS   (sizeof(ucs_rcache_pred_live_record_t) / sizeof(uint64_t))

/* The page keeps its size, and so do those who may map it: it cannot be made
 * shorter under a reader, who would get a SIGBUS */
#define LIVE_SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* How often a reader tries, and how long it waits in between: a writer that has
 * the processor is done in a microsecond, one that was set aside comes back
 * within some turns of others */
#define READ_TRIES   50
#define READ_WAIT_NS 1000000

#define NSEC_PER_SEC 1000000000ul

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#  define MFD_NOEXEC_SEAL 8u
#endif


/* What others see */
typedef struct live_page {
    /* Constant once magic is there. Sizes and places of these are the same in
     * all versions. */
    _Atomic uint64_t magic;   /* Release, acquire: written last */
    uint32_t         version;
    uint32_t         size;    /* Of this structure */

    /* Under leave-pinned. Relaxed: a number */
    _Atomic uint64_t uses;

    /* See seqslot.h; 0: nothing has been written. Written by who has busy */
    _Atomic uint64_t seq;
    _Atomic uint64_t word[LIVE_WORDS];
} live_page_t;

struct ucs_rcache_pred_live {
    live_page_t              *page;
    ucs_rcache_pred_own_fd_t file;   /* Constant */

    /* A thread is writing. Sequentially consistent with wanted, see
     * ucs_rcache_pred_live_update() */
    _Atomic int              busy;
    /* Something has changed that is not in the page yet */
    _Atomic int              wanted;
};


/* Newer kernels want to be told that it is never executed, or refuse; older
 * ones do not know how */
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
    /* Not unmapped: the memory hooks may be locked by a thread of the parent */
    ucs_rcache_pred_own_fd_close(&live->file);
}

static void live_write(live_page_t *page,
                       const ucs_rcache_pred_live_record_t *record)
{
    uint64_t words[LIVE_WORDS];
    uint64_t seq;

    memcpy(words, record, sizeof(words));
    /* Relaxed: written by who has busy, which orders it */
    seq = atomic_load_explicit(&page->seq, memory_order_relaxed);
    ucs_rcache_pred_seq_write(&page->seq, page->word, LIVE_WORDS, seq, seq + 2,
                              words);
}

/*
 * Who finds busy taken has set wanted before. Who has taken it looks at wanted
 * after it gave it back: it sees it, unless it has cleared it in between, and
 * then what it collected came after that. All four are sequentially consistent.
 */
void ucs_rcache_pred_live_update(ucs_rcache_pred_live_t *live,
                                 ucs_rcache_pred_live_collect_t collect,
                                 void *arg)
{
    ucs_rcache_pred_live_record_t record;

    atomic_store(&live->wanted, 1);
    while (atomic_load(&live->wanted) && !atomic_exchange(&live->busy, 1)) {
        /* An exchange, not a store: what the others changed before they set it
         * is seen by what follows */
        atomic_exchange(&live->wanted, 0);
        collect(arg, &record);
        live_write(live->page, &record);
        atomic_store(&live->busy, 0);
    }
}

void ucs_rcache_pred_live_count_use(ucs_rcache_pred_live_t *live)
{
    atomic_fetch_add_explicit(&live->page->uses, 1, memory_order_relaxed);
}

uint64_t ucs_rcache_pred_live_get_uses(const ucs_rcache_pred_live_t *live)
{
    return atomic_load_explicit(&live->page->uses, memory_order_relaxed);
}

int ucs_rcache_pred_live_get_fd(const ucs_rcache_pred_live_t *live)
{
    return live->file.fd;
}


/* Only what can neither be too short nor become so may be looked at */
static ucs_status_t read_check_file(int fd)
{
    struct stat st;
    int seals;

    seals = fcntl(fd, F_GET_SEALS);
    if ((seals < 0) || (fstat(fd, &st) != 0)) {
        return UCS_ERR_INVALID_PARAM;
    }

    if (!(seals & F_SEAL_SHRINK)) {
        /* One that is being made */
        return (st.st_size <= sizeof(live_page_t)) ? UCS_ERR_BUSY :
                                                     UCS_ERR_INVALID_PARAM;
    }

    /* What is the same in all versions */
    return (st.st_size < ucs_offsetof(live_page_t, uses)) ?
           UCS_ERR_INVALID_PARAM : UCS_OK;
}

static ucs_status_t read_check_page(int fd, const live_page_t *page,
                                    unsigned *version_p)
{
    struct stat st;
    uint64_t magic;

    /* Acquire: whoever sees it sees the rest of the beginning */
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

static int read_try(const live_page_t *page,
                    ucs_rcache_pred_live_record_t *record)
{
    uint64_t words[LIVE_WORDS];
    uint64_t seq;

    /* Relaxed: it is looked at again */
    seq = atomic_load_explicit(&page->seq, memory_order_relaxed);
    if ((seq == 0) || (seq & 1) ||
        !ucs_rcache_pred_seq_read(&page->seq, page->word, LIVE_WORDS, seq,
                                  words)) {
        return 0;
    }

    memcpy(record, words, sizeof(*record));
    return 1;
}

/* It may have been written by anybody, and may go to a terminal */
static ucs_status_t read_check_record(ucs_rcache_pred_live_record_t *record)
{
    unsigned i;

    if ((record->snapshot.policy >= UCS_RCACHE_PRED_POLICY_LAST) ||
        (record->snapshot.mode >= UCS_RCACHE_PRED_MODE_LAST) ||
        (record->snapshot.pid <= 0)) {
        return UCS_ERR_INVALID_PARAM;
    }

    record->command[UCS_RCACHE_PRED_LIVE_COMMAND - 1] = '\0';
    for (i = 0; record->command[i] != '\0'; ++i) {
        if ((record->command[i] < ' ') || (record->command[i] > '~')) {
            record->command[i] = '?';
        }
    }
    return UCS_OK;
}

static ucs_status_t read_page(const live_page_t *page,
                              ucs_rcache_pred_live_record_t *record)
{
    const struct timespec wait = { .tv_nsec = READ_WAIT_NS };
    unsigned i;

    for (i = 0; i < READ_TRIES; ++i) {
        if (read_try(page, record)) {
            if (record->snapshot.policy ==
                UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
                record->snapshot.stats.uses =
                        atomic_load_explicit(&page->uses,
                                             memory_order_relaxed);
            }
            return read_check_record(record);
        }
        nanosleep(&wait, NULL);
    }

    return UCS_ERR_BUSY;
}

ucs_status_t ucs_rcache_pred_live_read(int fd,
                                       ucs_rcache_pred_live_record_t *record,
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
        status = read_page(page, record);
    }
    munmap((void*)page, sizeof(*page));
    return status;
}

uint64_t ucs_rcache_pred_live_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void ucs_rcache_pred_live_advance(ucs_rcache_pred_live_record_t *record,
                                  uint64_t now)
{
    ucs_rcache_pred_stats_t *stats = &record->snapshot.stats;
    uint64_t age, duration;
    unsigned __int128 integral;

    if (!record->counting || (now <= record->time)) {
        return;
    }

    age      = now - record->time;
    duration = stats->duration + age;
    if (duration < age) {
        return; /* Nonsense, and it would be divided by it */
    }

    integral         = (unsigned __int128)stats->bytes_avg * stats->duration +
                       (unsigned __int128)stats->bytes_now * age;
    stats->bytes_avg = integral / duration;
    stats->duration  = duration;
    record->time     = now;
}
