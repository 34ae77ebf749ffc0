/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "table.h"

#include <pthread.h>
#include <string.h>


uct_predreg_table_t uct_predreg_table;

/* Protects changes to the table. No other lock is taken while it is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;


static void set_key(const uct_predreg_iface_t *self, uct_iface_h iface)
{
    /* Relaxed: see uct_predreg_table_t */
    atomic_store_explicit(&uct_predreg_table.keys[self -
                                                  uct_predreg_table.ifaces],
                          iface, memory_order_relaxed);
}

uct_predreg_iface_t *uct_predreg_table_add(uct_iface_h iface)
{
    uct_predreg_iface_t *self;

    pthread_mutex_lock(&lock);
    self = uct_predreg_table_find(NULL); /* NULL is the key of a free place */
    if (self != NULL) {
        memset(self, 0, sizeof(*self));
        set_key(self, iface);
    }
    pthread_mutex_unlock(&lock);
    return self;
}

void uct_predreg_table_remove(uct_predreg_iface_t *self)
{
    pthread_mutex_lock(&lock);
    set_key(self, NULL);
    pthread_mutex_unlock(&lock);
}

void uct_predreg_table_reset(void)
{
    unsigned i;

    /* The lock may have been held at the fork, by a thread that only the parent
     * has */
    pthread_mutex_init(&lock, NULL);
    for (i = 0; i < UCT_PREDREG_MAX_IFACES; ++i) {
        set_key(&uct_predreg_table.ifaces[i], NULL);
    }
}
