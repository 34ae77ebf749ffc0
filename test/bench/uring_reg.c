/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "uring_reg.h"

#include <liburing.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct ring ring_t;

/* A handle is the address of a slot: the verbs layer hands out pointers to
 * structures some cache lines apart as well */
typedef struct slot {
    struct slot *next_free;
    ring_t      *ring;     /* Whose table of buffers it is in */
    char        pad[48];
} slot_t;

/* One io_uring with its table of buffers */
struct ring {
    struct io_uring uring;
    slot_t          slots[];
};

/* Under the lock, except for uring_reg_init() and uring_reg_cleanup() */
static struct {
    ring_t          *rings[URING_REG_MAX_RINGS];
    unsigned        num_rings;
    unsigned        num_slots; /* Of each ring */
    slot_t          *free;
    pthread_mutex_t lock;
} all = {
    .lock = PTHREAD_MUTEX_INITIALIZER
};


/* Put a slot in front of the free ones */
static void slot_free(slot_t *slot)
{
    slot->next_free = all.free;
    all.free        = slot;
}

/* Make one more ring, all of whose slots are free.
 * @return 0, or a negative error number; then *what_p names what failed. */
static int ring_add(const char **what_p)
{
    ring_t *ring;
    unsigned i;
    int ret;

    *what_p = "malloc";
    ring    = calloc(1, sizeof(*ring) + all.num_slots * sizeof(slot_t));
    if (ring == NULL) {
        return -ENOMEM;
    }

    *what_p = "io_uring_setup";
    ret     = io_uring_queue_init(1, &ring->uring, 0);
    if (ret < 0) {
        goto err_free;
    }

    *what_p = "io_uring_register_buffers_sparse";
    ret     = io_uring_register_buffers_sparse(&ring->uring, all.num_slots);
    if (ret < 0) {
        goto err_exit;
    }

    /* A forked child that had the mappings would keep the ring, and with it the
     * pages pinned, beyond the end of this process */
    (void)io_uring_ring_dontfork(&ring->uring);
    for (i = all.num_slots; i-- > 0;) {
        ring->slots[i].ring = ring;
        slot_free(&ring->slots[i]);
    }
    all.rings[all.num_rings++] = ring;
    return 0;

err_exit:
    io_uring_queue_exit(&ring->uring);
err_free:
    free(ring);
    return ret;
}

static slot_t *slot_get(void)
{
    const char *what;
    slot_t *slot;

    pthread_mutex_lock(&all.lock);
    if ((all.free == NULL) && (all.num_rings < URING_REG_MAX_RINGS)) {
        (void)ring_add(&what);
    }

    slot = all.free;
    if (slot != NULL) {
        all.free = slot->next_free;
    }
    pthread_mutex_unlock(&all.lock);
    return slot;
}

static void slot_put(slot_t *slot)
{
    pthread_mutex_lock(&all.lock);
    slot_free(slot);
    pthread_mutex_unlock(&all.lock);
}

/* An empty vector releases the slot. Unlike a submission, registering needs no
 * lock here: the kernel has one for each ring. */
static int slot_update(slot_t *slot, void *address, size_t length)
{
    struct iovec iov = {.iov_base = address, .iov_len = length};
    ring_t *ring     = slot->ring;
    __u64 tag        = 0;
    int ret;

    ret = io_uring_register_buffers_update_tag(&ring->uring, slot - ring->slots,
                                               &iov, &tag, 1);
    return (ret < 0) ? ret : ((ret == 1) ? 0 : -EIO);
}

static ucs_status_t status_of(int ret)
{
    switch (ret) {
    case 0:
        return UCS_OK;
    case -ENOMEM:
        return UCS_ERR_NO_MEMORY;
    case -EFAULT:
        return UCS_ERR_INVALID_ADDR;
    default:
        return UCS_ERR_IO_ERROR;
    }
}

ucs_status_t uring_reg_init(unsigned num_slots)
{
    const char *what;
    int ret;

    all.num_slots = num_slots;
    ret           = ring_add(&what);
    if (ret < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-ret));
        return UCS_ERR_UNSUPPORTED;
    }

    return UCS_OK;
}

void uring_reg_cleanup(void)
{
    while (all.num_rings > 0) {
        --all.num_rings;
        io_uring_queue_exit(&all.rings[all.num_rings]->uring);
        free(all.rings[all.num_rings]);
    }
    all.free = NULL;
}

void uring_reg_forked(void)
{
    /* Nothing is freed: another thread of the parent may have been in the
     * allocator when it forked */
    while (all.num_rings > 0) {
        --all.num_rings;
        close(all.rings[all.num_rings]->uring.ring_fd);
    }
    all.free = NULL;
    pthread_mutex_init(&all.lock, NULL);
}

ucs_status_t uring_reg(void *address, size_t length, void **handle_p)
{
    slot_t *slot = slot_get();
    int ret;

    if (slot == NULL) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    ret = slot_update(slot, address, length);
    if (ret != 0) {
        slot_put(slot);
        return status_of(ret);
    }

    *handle_p = slot;
    return UCS_OK;
}

ucs_status_t uring_dereg(void *handle)
{
    int ret = slot_update(handle, NULL, 0);

    if (ret == 0) {
        slot_put(handle);
    }
    return status_of(ret);
}
