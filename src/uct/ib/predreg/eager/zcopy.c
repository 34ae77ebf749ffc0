/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "zcopy.h"

#include <ucs/base/mutex.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/compiler_def.h>
#include <uct/api/tl.h>

#include <stdatomic.h>

/*
 * UCT's structure of an interface has no room for a pointer to its own
 * operation, and looking for it would cost each message. But there are as many
 * operations as there are kinds of transports, which are few: each gets a
 * replacement of its own.
 */
#define MAX_KINDS 16

/* The operations that were replaced, by the number of their replacement.
 * Written under the lock, before the replacement is put into an interface;
 * relaxed, since a thread gets an interface only after that */
static _Atomic(uct_ep_am_zcopy_func_t) originals[MAX_KINDS];
static ucs_mutex_t                     lock =
        UCS_MUTEX_INITIALIZER(UCS_RANK_ZCOPY);

/* Written before the first interface is opened */
static uct_predreg_zcopy_func_t        seen;


static UCS_F_ALWAYS_INLINE ucs_status_t
am_zcopy(unsigned kind, uct_ep_h ep, uint8_t id, const void *header,
         unsigned header_length, const uct_iov_t *iov, size_t iovcnt,
         unsigned flags, uct_completion_t *comp)
{
    uct_ep_am_zcopy_func_t original = atomic_load_explicit(
            &originals[kind], memory_order_relaxed);
    ucs_status_t status;

    status = original(ep, id, header, header_length, iov, iovcnt, flags, comp);
    if (ucs_likely((status == UCS_OK) || (status == UCS_INPROGRESS))) {
        seen(iov, iovcnt);
    }
    return status;
}

#define REPLACEMENT(_kind) \
    static ucs_status_t am_zcopy_##_kind( \
            uct_ep_h ep, uint8_t id, const void *header, \
            unsigned header_length, const uct_iov_t *iov, size_t iovcnt, \
            unsigned flags, uct_completion_t *comp) \
    { \
        return am_zcopy(_kind, ep, id, header, header_length, iov, iovcnt, \
                        flags, comp); \
    }

#define KINDS(_f) \
    _f(0) _f(1) _f(2) _f(3) _f(4) _f(5) _f(6) _f(7) \
    _f(8) _f(9) _f(10) _f(11) _f(12) _f(13) _f(14) _f(15)

KINDS(REPLACEMENT)

#define NAME(_kind) am_zcopy_##_kind,

static const uct_ep_am_zcopy_func_t replacements[MAX_KINDS] = {KINDS(NAME)};


void uct_predreg_zcopy_set_func(uct_predreg_zcopy_func_t func)
{
    seen = func;
}

/* @return the replacement of an operation, which may be one already; NULL: there
 * are too many kinds */
static uct_ep_am_zcopy_func_t replacement_of(uct_ep_am_zcopy_func_t func)
{
    uct_ep_am_zcopy_func_t original;
    unsigned i;

    for (i = 0; i < MAX_KINDS; ++i) {
        original = atomic_load_explicit(&originals[i], memory_order_relaxed);
        if (original == NULL) {
            atomic_store_explicit(&originals[i], func, memory_order_relaxed);
            return replacements[i];
        }

        if ((original == func) || (replacements[i] == func)) {
            return replacements[i];
        }
    }

    return NULL;
}

void uct_predreg_zcopy_watch(uct_iface_h iface)
{
    uct_ep_am_zcopy_func_t replacement;

    if (iface->ops.ep_am_zcopy == NULL) {
        return;
    }

    ucs_mutex_lock(&lock);
    replacement = replacement_of(iface->ops.ep_am_zcopy);
    ucs_mutex_unlock(&lock);

    if (replacement == NULL) {
        ucs_debug("interface %p: sends without a copy are not counted", iface);
        return;
    }

    iface->ops.ep_am_zcopy = replacement;
}

void uct_predreg_zcopy_reset(void)
{
    ucs_mutex_init(&lock, UCS_RANK_ZCOPY, 0);
}
