/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "churn.h"
#include "apps.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHURN_PAGE       4096ul
#define CHURN_GUARD_BYTE 0xa5

/* Buffers begin at most this far into their slot. */
#define CHURN_MAX_OFFSET (3 * CHURN_PAGE)

#define CHURN_ROOM       (1024 * 1024ul)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

const char *const churn_names[CHURN_LAST] = {
    [CHURN_KEEP]      = "keep",
    [CHURN_REALLOC]   = "realloc",
    [CHURN_SAME_ADDR] = "same_addr",
    [CHURN_REPLACE]   = "replace",
    [CHURN_TAIL]      = "tail",
    [CHURN_MOVE]      = "move",
    [CHURN_MOVE_AWAY] = "move_away",
    [CHURN_RESIZE]    = "resize",
    [CHURN_DONTNEED]  = "dontneed"
};

int churn_hidden     = 0;
int churn_seen_moves = 0;
int churn_no_moves   = 0;


/* Memory is changed with the functions of libc, since these are what the memory
 * hooks of UCX see. */
static void *churn_sys_mmap(void *addr, size_t length, int prot, int flags,
                            int fd, off_t offset)
{
    return churn_hidden ? (void *)syscall(SYS_mmap, addr, length, prot, flags,
                                          fd, offset) :
                          mmap(addr, length, prot, flags, fd, offset);
}

static int churn_sys_munmap(void *addr, size_t length)
{
    return churn_hidden ? (int)syscall(SYS_munmap, addr, length) :
                          munmap(addr, length);
}

static void *churn_sys_mremap(void *addr, size_t old_length, size_t new_length,
                              int flags)
{
    return churn_hidden ? (void *)syscall(SYS_mremap, addr, old_length,
                                          new_length, flags) :
                          mremap(addr, old_length, new_length, flags);
}

static int churn_sys_madvise(void *addr, size_t length, int advice)
{
    return churn_hidden ? (int)syscall(SYS_madvise, addr, length, advice) :
                          madvise(addr, length, advice);
}

static size_t churn_page_up(size_t size)
{
    return (size + CHURN_PAGE - 1) & ~(CHURN_PAGE - 1);
}

/* Returns NULL if that is not possible, which is only expected when an address
 * is asked for: another thread may have been faster. */
static char *churn_map(void *addr, size_t length, int flags)
{
    char *ptr = churn_sys_mmap(addr, length, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    if ((ptr == MAP_FAILED) && (addr == NULL)) {
        app_fatal("churn: could not map %zu bytes: %s", length,
                  strerror(errno));
    }

    return (ptr == MAP_FAILED) ? NULL : ptr;
}

static void churn_unmap(char *base, size_t length)
{
    if (churn_sys_munmap(base, length) != 0) {
        app_fatal("churn: could not unmap %zu bytes: %s", length,
                  strerror(errno));
    }
}

void churn_release(churn_slot_t *slot)
{
    if (slot->base == NULL) {
        return;
    }

    if (slot->mapped) {
        churn_unmap(slot->base, slot->length);
    } else {
        free(slot->base);
    }

    slot->base   = NULL;
    slot->length = 0;
}

static void churn_alloc(churn_slot_t *slot, size_t length, uint64_t *rng)
{
    /* Mostly there is room for what comes later: otherwise the memory would be
     * replaced at every use. */
    if (app_random_below(rng, 4) != 0) {
        length = (length > (CHURN_ROOM / 2)) ? (length * 2) : CHURN_ROOM;
    }

    slot->mapped = app_random_below(rng, 3) != 0;
    if (slot->mapped) {
        slot->length = churn_page_up(length);
        slot->base   = churn_map(NULL, slot->length, 0);
        return;
    }

    slot->length = length;
    slot->base   = malloc(length);
    if (slot->base == NULL) {
        app_fatal("churn: could not allocate %zu bytes", length);
    }
}

static void churn_same_addr(churn_slot_t *slot)
{
    char *base = slot->base;

    churn_unmap(base, slot->length);
    slot->base = churn_map(base, slot->length, MAP_FIXED_NOREPLACE);
    if (slot->base == NULL) {
        slot->base = churn_map(NULL, slot->length, 0);
    }
}

static void churn_tail(churn_slot_t *slot, uint64_t *rng)
{
    size_t pages = slot->length / CHURN_PAGE;
    size_t keep;

    if (pages < 2) {
        return;
    }

    keep = CHURN_PAGE * (1 + app_random_below(rng, pages - 1));
    churn_unmap(slot->base + keep, slot->length - keep);
    if (churn_map(slot->base + keep, slot->length - keep,
                  MAP_FIXED_NOREPLACE) == NULL) {
        churn_unmap(slot->base, keep);
        slot->base = churn_map(NULL, slot->length, 0);
    }
}

/* The kernel does not move or extend what it keeps as several mappings, such
 * as a buffer whose tail was unmapped and mapped again. */
static void churn_check_mremap(const char *what, size_t length)
{
    if (errno != EFAULT) {
        app_fatal("churn: could not %s to %zu bytes: %s", what, length,
                  strerror(errno));
    }
}

/* Unless asked to be seen, the memory hooks are bypassed: UCX 1.13 (ucm_mremap())
 * loses the target, and the buffer would go anywhere. They see that the old place
 * is unmapped. */
static void *churn_sys_move(void *old, size_t length, void *target)
{
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

    return churn_seen_moves ? mremap(old, length, length, flags, target) :
                              (void *)syscall(SYS_mremap, old, length, length,
                                              flags, target);
}

static void churn_move(churn_slot_t *slot, int away)
{
    char *old = slot->base;
    char *target, *again;

    if (churn_no_moves) {
        return;
    }

    /* This place stays free until we take it, whatever other threads do */
    target = churn_map(NULL, slot->length, 0);
    if (churn_sys_move(old, slot->length, target) == MAP_FAILED) {
        churn_check_mremap("move", slot->length);
        /* The kernel has unmapped the target before it refused the rest, so that
         * another thread may have mapped it by now (mremap_to() of Linux) */
        return;
    }

    churn_unmap(old, slot->length);
    slot->base = target;
    if (away) {
        again = churn_map(old, slot->length, MAP_FIXED_NOREPLACE);
        if (again != NULL) {
            churn_unmap(target, slot->length);
            slot->base = again;
        }
    }
}

static void churn_resize(churn_slot_t *slot, size_t length, uint64_t *rng)
{
    size_t pages = slot->length / CHURN_PAGE;
    size_t cut;
    char *base;

    if (pages > 1) {
        cut = CHURN_PAGE * (1 + app_random_below(rng, pages - 1));
        if (churn_sys_mremap(slot->base, slot->length, cut, 0) ==
            MAP_FAILED) {
            app_fatal("churn: could not cut to %zu bytes: %s", cut,
                      strerror(errno));
        }
        slot->length = cut;
    }

    length = churn_page_up(length);
    base   = churn_sys_mremap(slot->base, slot->length, length,
                              MREMAP_MAYMOVE);
    if (base == MAP_FAILED) {
        churn_check_mremap("extend", length);
        churn_unmap(slot->base, slot->length);
        base = churn_map(NULL, length, 0);
    }

    slot->base   = base;
    slot->length = length;
}

static void churn_dontneed(churn_slot_t *slot)
{
    /* The pages that lie inside the buffer, also if malloc returned it */
    uintptr_t start = churn_page_up((uintptr_t)slot->base);
    uintptr_t end   = ((uintptr_t)slot->base + slot->length) &
                      ~(CHURN_PAGE - 1);

    if ((start < end) &&
        (churn_sys_madvise((void *)start, end - start, MADV_DONTNEED) !=
         0)) {
        app_fatal("churn: madvise: %s", strerror(errno));
    }
}

static churn_kind_t churn_change(churn_slot_t *slot, size_t length,
                                 uint64_t *rng)
{
    churn_kind_t kind = CHURN_KEEP;

    /* A buffer is used again as often as not: what is never used again is never
     * stale */
    if (app_random_below(rng, 2) == 0) {
        kind = app_random_below(rng, CHURN_LAST);
    }

    if (slot->base == NULL) {
        kind = CHURN_REALLOC;
    } else if (slot->length < length) {
        kind = (slot->mapped && (kind == CHURN_KEEP)) ? CHURN_RESIZE :
                                                        CHURN_REALLOC;
    } else if (!slot->mapped && (kind != CHURN_KEEP) &&
               (kind != CHURN_DONTNEED)) {
        kind = CHURN_REALLOC;
    }

    switch (kind) {
    case CHURN_REALLOC:
        churn_release(slot);
        churn_alloc(slot, length, rng);
        break;
    case CHURN_SAME_ADDR:
        churn_same_addr(slot);
        break;
    case CHURN_REPLACE:
        churn_map(slot->base, slot->length, MAP_FIXED);
        break;
    case CHURN_TAIL:
        churn_tail(slot, rng);
        break;
    case CHURN_MOVE:
    case CHURN_MOVE_AWAY:
        churn_move(slot, kind == CHURN_MOVE_AWAY);
        break;
    case CHURN_RESIZE:
        churn_resize(slot, length, rng);
        break;
    case CHURN_DONTNEED:
        churn_dontneed(slot);
        break;
    default:
        break;
    }

    return kind;
}

void *churn_get(churn_slot_t *slot, size_t size, uint64_t *rng,
                uint64_t counts[CHURN_LAST])
{
    size_t length = size + (2 * CHURN_GUARD) + CHURN_MAX_OFFSET;
    size_t offset = app_random_below(rng, CHURN_MAX_OFFSET);

    ++counts[churn_change(slot, length, rng)];

    /* The buffer begins at the same place as before, at an aligned one, or
     * anywhere */
    switch (app_random_below(rng, 3)) {
    case 0:
        offset = 0;
        break;
    case 1:
        offset &= ~(size_t)63;
        break;
    }

    return slot->base + CHURN_GUARD + offset;
}

void churn_guard(void *ptr, size_t size)
{
    memset((char *)ptr - CHURN_GUARD, CHURN_GUARD_BYTE, CHURN_GUARD);
    memset((char *)ptr + size, CHURN_GUARD_BYTE, CHURN_GUARD);
}

size_t churn_check_guard(const void *ptr, size_t size)
{
    const uint8_t *before = (const uint8_t *)ptr - CHURN_GUARD;
    const uint8_t *after  = (const uint8_t *)ptr + size;
    size_t errors         = 0;
    int i;

    for (i = 0; i < CHURN_GUARD; ++i) {
        errors += before[i] != CHURN_GUARD_BYTE;
        errors += after[i] != CHURN_GUARD_BYTE;
    }

    return errors;
}
