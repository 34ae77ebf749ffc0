/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <ucs/base/relaxed.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often a reader looks for a moment in which nobody writes the page, and the
 * wait between two looks. A running writer is done in a microsecond; a writer that
 * the scheduler has set aside goes on after the time slices of some other threads. */
#define READ_TRIES   50
#define READ_WAIT_NS 1000000


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
        return (st.st_size <= sizeof(ucs_rcache_pred_live_page_t)) ?
               UCS_ERR_BUSY : UCS_ERR_INVALID_PARAM;
    }

    /* All versions have the members before uses */
    return (st.st_size < ucs_offsetof(ucs_rcache_pred_live_page_t, uses)) ?
           UCS_ERR_INVALID_PARAM : UCS_OK;
}

static ucs_status_t read_check_page(int fd, const ucs_rcache_pred_live_page_t *page,
                                    unsigned *version_p)
{
    struct stat st;
    uint64_t magic;

    /* Acquire: pairs with the release in ucs_rcache_pred_live_create(), which writes version
     * and size before the magic */
    magic = atomic_load_explicit(&page->magic, memory_order_acquire);
    if (magic != UCS_RCACHE_PRED_LIVE_MAGIC) {
        return (magic == 0) ? UCS_ERR_BUSY : UCS_ERR_INVALID_PARAM;
    }

    *version_p = page->version;
    if (*version_p != UCS_RCACHE_PRED_LIVE_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }

    return ((page->size == sizeof(*page)) && (fstat(fd, &st) == 0) &&
            (st.st_size >= sizeof(*page))) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

/* Copy the state out of the page. @return 0 if the process has written the page meanwhile,
 * or has not written it yet: the copy is of no use */
static int read_try(const ucs_rcache_pred_live_page_t *page,
                    ucs_rcache_pred_live_state_t *state)
{
    uint64_t words[UCS_RCACHE_PRED_LIVE_WORDS];
    uint64_t seq;
    unsigned i;

    /* Acquire: pairs with the release of the even number at the end of live_write(), so that
     * the words below are of that write or of a later one */
    seq = atomic_load_explicit(&page->seq, memory_order_acquire);
    if ((seq == 0) || (seq & 1)) {
        return 0;
    }

    for (i = 0; i < UCS_RCACHE_PRED_LIVE_WORDS; ++i) {
        words[i] = ucs_relaxed_load(&page->word[i]);
    }

    /* Acquire: keeps the processor from reading the number again before it has read all
     * words. If a word is of a later write, the number is another one now */
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

static ucs_status_t read_page(const ucs_rcache_pred_live_page_t *page,
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

ucs_status_t predreg_stat_read(int fd, ucs_rcache_pred_live_state_t *state,
                               unsigned *version_p)
{
    const ucs_rcache_pred_live_page_t *page;
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

void predreg_stat_advance(ucs_rcache_pred_live_state_t *state, uint64_t now)
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
