/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucm/api/ucm.h>

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * A library to preload before the thread sanitizer, whose functions for memory
 * and UCM's hooks undo each other. It stands in for UCM's events: whoever asks
 * for unmapped memory is told of each munmap() and mremap() that is called by
 * name.
 */

#define EXPORT       __attribute__((visibility("default")))
#define MAX_HANDLERS 8

typedef struct {
    ucm_event_callback_t cb;
    void                 *arg;
} handler_t;

/* Handlers are added before other threads unmap memory, and stay */
static handler_t handlers[MAX_HANDLERS];
static unsigned num_handlers;

static int (*next_munmap)(void *address, size_t length);
static void *(*next_mremap)(void *address, size_t old_length, size_t length,
                            int flags, ...);


__attribute__((constructor)) static void events_start(void)
{
    next_munmap = dlsym(RTLD_NEXT, "munmap");
    next_mremap = dlsym(RTLD_NEXT, "mremap");
}

EXPORT ucs_status_t ucm_set_event_handler(int events, int priority,
                                          ucm_event_callback_t cb, void *arg)
{
    if (!(events & UCM_EVENT_VM_UNMAPPED)) {
        return UCS_OK;
    }

    if (num_handlers == MAX_HANDLERS) {
        abort();
    }

    handlers[num_handlers].cb  = cb;
    handlers[num_handlers].arg = arg;
    ++num_handlers;
    return UCS_OK;
}

static void tell(void *address, size_t length)
{
    ucm_event_t event = {
        .vm_unmapped = {.address = address, .size = length}
    };
    unsigned i;

    for (i = 0; i < num_handlers; ++i) {
        handlers[i].cb(UCM_EVENT_VM_UNMAPPED, &event, handlers[i].arg);
    }
}

/* The sanitizer also unmaps memory while it prints a report, and a handler that
 * is called then could make it begin another one */
static int is_sanitizer(void *caller)
{
    struct dl_find_object found;

    return (_dl_find_object(caller, &found) == 0) &&
           strstr(found.dlfo_link_map->l_name, "libtsan");
}

EXPORT int munmap(void *address, size_t length)
{
    if (!is_sanitizer(__builtin_return_address(0))) {
        tell(address, length);
    }

    return next_munmap(address, length);
}

EXPORT void *mremap(void *address, size_t old_length, size_t length, int flags,
                    ...)
{
    void *place;
    va_list args;

    va_start(args, flags);
    place = (flags & MREMAP_FIXED) ? va_arg(args, void*) : NULL;
    va_end(args);
    tell(address, old_length);
    return (place == NULL) ?
           next_mremap(address, old_length, length, flags) :
           next_mremap(address, old_length, length, flags, place);
}
