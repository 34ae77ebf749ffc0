/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "vm_events.h"

#include <ucm/api/ucm.h>


static ucs_status_t status = UCS_OK;
static unsigned num_asked;
static int priority;
static ucm_event_callback_t handler, map_handler;
static void *handler_arg, *map_handler_arg;

void test_vm_events_init(ucs_status_t new_status)
{
    status    = new_status;
    num_asked = 0;
    handler   = map_handler = NULL;
}

unsigned test_vm_events_asked(void)
{
    return num_asked;
}

int test_vm_events_priority(void)
{
    return priority;
}

void test_vm_unmapped(void *address, size_t length)
{
    ucm_event_t event = {
        .vm_unmapped.address = address,
        .vm_unmapped.size    = length
    };

    handler(UCM_EVENT_VM_UNMAPPED, &event, handler_arg);
}

void test_vm_mapped(void *address, size_t length, int prot, int flags,
                    void *result)
{
    ucm_event_t event = {
        .mmap.address = address,
        .mmap.size    = length,
        .mmap.prot    = prot,
        .mmap.flags   = flags,
        .mmap.fd      = -1,
        .mmap.result  = result
    };

    map_handler(UCM_EVENT_MMAP, &event, map_handler_arg);
}

void test_vm_remapped(void *address, size_t old_length, size_t new_length,
                      void *result)
{
    ucm_event_t event = {
        .mremap.address  = address,
        .mremap.old_size = old_length,
        .mremap.new_size = new_length,
        .mremap.result   = result
    };

    map_handler(UCM_EVENT_MREMAP, &event, map_handler_arg);
}


/* The linker routes the calls of the library through here (--wrap) */
ucs_status_t __wrap_ucm_set_event_handler(int events, int new_priority,
                                          ucm_event_callback_t cb, void *arg)
{
    if (events & UCM_EVENT_VM_UNMAPPED) {
        ++num_asked;
        priority    = new_priority;
        handler     = cb;
        handler_arg = arg;
    }
    if ((events & UCM_EVENT_MMAP) && (events & UCM_EVENT_MREMAP)) {
        map_handler     = cb;
        map_handler_arg = arg;
    }
    return status;
}
