/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "events.h"
#include "say.h"

#include <sys/mman.h>

#define LENGTH (1ul << 20)


/* What is unmapped, and how often UCM told of it */
typedef struct {
    char     *start;
    unsigned count;
} unmap_t;


static void unmapped(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    unmap_t *unmap = arg;
    char *start    = event->vm_unmapped.address;

    if ((start <= unmap->start) &&
        (start + event->vm_unmapped.size >= unmap->start + LENGTH)) {
        ++unmap->count;
    }
}

void predreg_probe_events(const predreg_probe_ucx_t *ucx)
{
    static unmap_t unmap; /* The handler stays */
    ucs_status_t status;

    predreg_say("stage asking for memory events");
    if (ucx->ucm_set_event_handler == NULL) {
        predreg_say("events there is no libucm");
        return;
    }

    unmap.start = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unmap.start == MAP_FAILED) {
        predreg_say("events out of memory");
        return;
    }

    status = ucx->ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED,
                                        ucx->compat->vm_event_priority,
                                        unmapped, &unmap);
    if (status != UCS_OK) {
        predreg_say("events %s", predreg_probe_text(ucx, status));
        return;
    }

    munmap(unmap.start, LENGTH);
    predreg_say("events %s", (unmap.count > 0) ? "delivered" :
                             "UCM says that they are on, but none came");
}
