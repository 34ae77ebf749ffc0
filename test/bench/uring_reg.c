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

/* A handle is the address of a slot: the verbs layer hands out pointers to
 * structures some cache lines apart as well */
typedef struct uring_reg_slot {
    struct uring_reg_slot *next_free;
    char                  pad[56];
} uring_reg_slot_t;

static struct {
    struct io_uring  ring;
    uring_reg_slot_t *slots;
    uring_reg_slot_t *free;  /* Protected by the lock */
    pthread_mutex_t  lock;
} uring = {
    .lock = PTHREAD_MUTEX_INITIALIZER
};


static uring_reg_slot_t *slot_get(void)
{
    uring_reg_slot_t *slot;

    pthread_mutex_lock(&uring.lock);
    slot = uring.free;
    if (slot != NULL) {
        uring.free = slot->next_free;
    }
    pthread_mutex_unlock(&uring.lock);
    return slot;
}

static void slot_put(uring_reg_slot_t *slot)
{
    pthread_mutex_lock(&uring.lock);
    slot->next_free = uring.free;
    uring.free      = slot;
    pthread_mutex_unlock(&uring.lock);
}

/* An empty vector releases the slot. Unlike a submission, registering needs no
 * lock here: the kernel has one for each ring. */
static int slot_update(uring_reg_slot_t *slot, void *address, size_t length)
{
    struct iovec iov = {.iov_base = address, .iov_len = length};
    __u64 tag        = 0;
    int ret;

    ret = io_uring_register_buffers_update_tag(&uring.ring, slot - uring.slots,
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
    const char *what = "io_uring_setup";
    unsigned i;
    int ret;

    uring.slots = calloc(num_slots, sizeof(*uring.slots));
    if (uring.slots == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ret = io_uring_queue_init(1, &uring.ring, 0);
    if (ret < 0) {
        goto err_free;
    }

    what = "io_uring_register_buffers_sparse";
    ret  = io_uring_register_buffers_sparse(&uring.ring, num_slots);
    if (ret < 0) {
        goto err_exit;
    }

    for (i = num_slots; i-- > 0;) {
        slot_put(&uring.slots[i]);
    }
    return UCS_OK;

err_exit:
    io_uring_queue_exit(&uring.ring);
err_free:
    free(uring.slots);
    fprintf(stderr, "%s: %s\n", what, strerror(-ret));
    return UCS_ERR_UNSUPPORTED;
}

void uring_reg_cleanup(void)
{
    io_uring_queue_exit(&uring.ring);
    free(uring.slots);
    uring.slots = NULL;
    uring.free  = NULL;
}

ucs_status_t uring_reg(void *address, size_t length, void **handle_p)
{
    uring_reg_slot_t *slot = slot_get();
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
