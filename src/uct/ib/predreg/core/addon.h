/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ADDON_H_
#define UCT_PREDREG_ADDON_H_

#include "hooks.h"
#include "types.h"

#include <ucs/stat/stats.h>
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

/** Changes of memory that an add-on may ask to be told of. */
enum {
    UCT_PREDREG_NEEDS_UNMAPPED = UCS_BIT(0),
    UCT_PREDREG_NEEDS_MAPPED   = UCS_BIT(1)
};

/** An add-on. A function may be NULL. */
struct uct_predreg_addon {
    /** @return which changes of memory the add-on is to be told of with the present
     *  knobs, UCT_PREDREG_NEEDS_*. UCM tells the core of unmapped memory anyway, except
     *  under the leave-pinned policy. */
    unsigned (*needs)(const uct_predreg_core_t *core);

    /**
     * The core starts, in the only thread that uses it.
     *
     * @param [inout] hooks   The functions that the preloaded library calls. The add-on
     *                        may replace some of them by functions of its own, which call
     * @param [in]    events  Whether UCM tells the core of unmapped memory: UCS_OK, or
     *                        the error of UCM. Under other policies than leave-pinned the
     *                        value is always UCS_OK.
     */
    void     (*start)(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks,
                      ucs_status_t events);

    /** The process exits. @param [in] nothing  Why the library managed no domain,
     *  although UCX opened some; NULL: the library managed or watched a domain, UCX
     *  opened none, or a warning has told the user why nothing was managed. */
    void     (*exit)(uct_predreg_core_t *core, const char *nothing);

    /** The process exits, and exit() may follow: end the add-on's own threads. @param
     *  [in] patience  How long the function may wait for the threads at most, ns. */
    void     (*stop)(uct_predreg_core_t *core, uint64_t patience);

    /** Called before the cache is made or, under leave-pinned, before the first domain is
     *  watched. Here an add-on that observes sets uct_predreg_core_t::observer. Under
     *  core.lock. */
    void     (*observe)(uct_predreg_core_t *core);

    /** A domain is managed or watched from now on, and nobody uses it yet. Under
     *  core.lock.
     *  @param [in] component  The component of the domain, such as "ib". */
    void     (*domain_opened)(uct_predreg_core_t *core, uct_predreg_domain_t *domain,
                              const char *component);

    /** Nobody uses the domain any more: it is about to be closed. Under core.lock. */
    void     (*domain_closing)(uct_predreg_core_t *core, uct_predreg_domain_t *domain);

    /** Memory was unmapped. This function and mapped() are called in a memory hook: they
     *  allocate nothing, log nothing, and wait for no lock before HOOK in
     *  docs/design/locks.md. */
    void     (*unmapped)(uct_predreg_core_t *core, uintptr_t start, uintptr_t end);

    /** The program has asked the kernel to map or to move memory, and the kernel has
     *  answered: the result in UCM's event tells whether it did so. */
    void     (*mapped)(uct_predreg_core_t *core, ucm_event_type_t type,
                       const ucm_event_t *event);

    /** Deregister memory that nobody uses at present, to make room for another use. No
     *  lock of the library is held. @return 0 if there is no such memory. */
    int      (*give_way)(uct_predreg_core_t *core);

    /** The process is about to fork. The function waits for nothing, not even for a lock:
     *  the handler of a signal may fork, and may have interrupted this thread
     *  anywhere. */
    void     (*fork_prepare)(uct_predreg_core_t *core);

    /** Called after fork_prepare() and before the fork, while the core holds its own lock
     *  and the cache. Not called if the handler of a signal forks that has interrupted
     *  the library. Signals are deferred (ucs/base/hook.h) from here until fork_parent()
     *  or fork_child(). */
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


/** Call a function of all add-ons that have the function. */
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

/** Call give_way() of one add-on after the other until one of them has made room. @return
 *  0 if none has. */
int uct_predreg_addons_give_way(uct_predreg_core_t *core);


/*
 * events.c: UCM's events, for which the core asks UCM once.
 */

/** Have UCM tell the cache and the add-ons from now on what happens to memory. @return
 *  the error of UCM if UCM will not tell them of unmapped memory. */
ucs_status_t uct_predreg_vm_events_start(uct_predreg_core_t *core);

/** The program is about to change its rights to whole pages, see mprotect(). In memory hooks.
 *  @param [in] prot  PROT_READ and so on. */
void uct_predreg_vm_protected(uct_predreg_core_t *core, const void *address, size_t length,
                              int prot);

END_C_DECLS

#endif
