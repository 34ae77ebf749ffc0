/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ADDON_H_
#define UCT_PREDREG_ADDON_H_

#include "hooks.h"
#include "types.h"

#include <ucs/host/live.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/ib/predreg/status/aside.h>

#include <ucm/api/ucm.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file addon.h
 *
 * What an add-on is: a row of functions, which the core calls where something happens.
 * The core works without any add-on, and names none; ../addons.c lists the rows in the
 * order in which they are called. docs/design/addons.md has an example.
 */

/** What an add-on wants to know of memory. */
enum {
    UCT_PREDREG_NEEDS_UNMAPPED = UCS_BIT(0),
    UCT_PREDREG_NEEDS_MAPPED   = UCS_BIT(1)
};

/** An add-on. A function may be NULL. */
struct uct_predreg_addon {
    /** @return what the knobs make it want to know, UCT_PREDREG_NEEDS_*. UCM tells the core
     *  of unmapped memory anyway, except under the leave-pinned policy. */
    unsigned (*needs)(const uct_predreg_core_t *core);

    /**
     * The core starts, in the only thread that uses it.
     *
     * @param [inout] hooks   What the preloaded library is to call. The add-on may put
     *                        functions of its own in place of some, which call those that
     *                        were there. So what an add-on does not look at costs nothing.
     * @param [in]    events  Whether the core is told of unmapped memory: UCS_OK, or the
     *                        error of UCM. Only under leave-pinned is it not always UCS_OK.
     */
    void     (*start)(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks,
                      ucs_status_t events);

    /** The process exits. @param [in] nothing  Why nothing was managed; NULL: something
     *  was, or the user was told. */
    void     (*exit)(uct_predreg_core_t *core, const char *nothing);

    /** Called before exit(): end the add-on's own threads. @param [in] patience  Wait so
     *  long at most, ns. */
    void     (*stop)(uct_predreg_core_t *core, uint64_t patience);

    /** The cache is about to be made, or, under leave-pinned, the first domain to be
     *  watched: the time to set uct_predreg_core_t::observer. Under core.lock. */
    void     (*observe)(uct_predreg_core_t *core);

    /** A domain is managed or watched from now on, and not used yet. Under core.lock.
     *  @param [in] component  Its component, such as "ib". */
    void     (*domain_opened)(uct_predreg_core_t *core, uct_predreg_domain_t *domain,
                              const char *component);

    /** Nobody uses the domain any more: it is about to be closed. Under core.lock. */
    void     (*domain_closing)(uct_predreg_core_t *core, uct_predreg_domain_t *domain);

    /** Memory was unmapped. In a memory hook, as the next function: allocates nothing, logs
     *  nothing, and waits for no lock before HOOK in docs/design/locks.md. */
    void     (*unmapped)(uct_predreg_core_t *core, uintptr_t start, uintptr_t end);

    /** The program has asked the kernel to map or to move memory, and the kernel has
     *  answered: the result in UCM's event tells whether it did so. */
    void     (*mapped)(uct_predreg_core_t *core, ucm_event_type_t type,
                       const ucm_event_t *event);

    /** Deregister memory without a present use, to make room for another use. No lock of
     *  the library is held. @return 0 if there is no such memory. */
    int      (*give_way)(uct_predreg_core_t *core);

    /** The process is about to fork. Waits for nothing: a handler of a signal may fork. */
    void     (*fork_prepare)(uct_predreg_core_t *core);

    /** The next moment before a fork, in which the core holds its lock and the cache; left
     *  out where the handler of a signal forks that has interrupted the library. Signals
     *  are deferred (ucs/base/hook.h) from here to the next function. */
    void     (*fork_calm)(uct_predreg_core_t *core);

    /** The parent goes on after fork_calm(). */
    void     (*fork_parent)(uct_predreg_core_t *core);

    /** This is the forked child, which has one thread: nothing is registered, and the core
     *  is as before its first domain. Neither allocates nor frees memory. */
    void     (*fork_child)(uct_predreg_core_t *core);

    /** Fill in the add-on's numbers. Any thread, also in a round of the helper. */
    void     (*count)(uct_predreg_core_t *core, ucs_rcache_pred_snapshot_t *snapshot);

    /** Tell a tool in the process about the add-on, see status/aside.h. */
    void     (*tell)(uct_predreg_tell_t tell, void *arg);
};


/** Call a function of each add-on that has one. */
#define uct_predreg_addons_call(_core, _func, ...) \
    do { \
        const uct_predreg_addon_t *const *addon; \
        \
        for (addon = (_core)->addons; *addon != NULL; ++addon) { \
            if ((*addon)->_func != NULL) { \
                (*addon)->_func(__VA_ARGS__); \
            } \
        } \
    } while (0)

/** @return what the add-ons want to know of memory, UCT_PREDREG_NEEDS_*. */
unsigned uct_predreg_addons_need(const uct_predreg_core_t *core);

/** As uct_predreg_addon_t::give_way, of one add-on after the other. */
int uct_predreg_addons_give_way(uct_predreg_core_t *core);


/*
 * events.c: UCM's events, of which the core asks once.
 */

/** From now on tell the cache and the add-ons what happens to memory. @return the error of
 *  UCM if they will not be told of unmapped memory. */
ucs_status_t uct_predreg_vm_events_start(uct_predreg_core_t *core);

/** The program is about to change its rights to whole pages, see mprotect(). In memory hooks.
 *  @param [in] prot  PROT_READ and so on. */
void uct_predreg_vm_protected(uct_predreg_core_t *core, const void *address, size_t length,
                              int prot);

END_C_DECLS

#endif
