/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_RECORD_H_
#define UCT_PREDREG_RECORD_H_

#include <trace/recorder.h>
#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>

BEGIN_C_DECLS

/** @file record.h
 *
 * The trace of this process, if the user asks for one (UCX_RCACHE_PRED_TRACE): an add-on
 * that observes and changes nothing.
 */

extern const uct_predreg_addon_t uct_predreg_record_addon;

/** Counts the small sends from each buffer, in a process whose trace is recorded, whether
 *  UCX_RCACHE_PRED_EAGER is set or not. The sends are no events of the trace: their
 *  counts are written at its end. Without a trace the add-on sets no hooks, and sends
 *  cost no time here. */
extern const uct_predreg_addon_t uct_predreg_sends_addon;

/** @return the recorder of a core; NULL: there is none. Any thread. */
static inline ucs_rcache_recorder_t *
uct_predreg_recorder(const uct_predreg_core_t *core)
{
    /* Acquire: a thread that sees the observer sees its fields */
    const uct_predreg_observer_t *observer =
            atomic_load_explicit(&core->observer, memory_order_acquire);

    return (observer == NULL) ? NULL : (ucs_rcache_recorder_t*)observer->super.arg;
}

/** Make a recorder the observer of the core, if the user asks for a trace. Without memory a
 *  warning is logged and nothing is recorded. To be called under core.lock, as the next two
 *  functions. */
void uct_predreg_record_observe(uct_predreg_core_t *core);

/** Record that a domain is managed or watched from now on; before, make the trace file as
 *  uct_predreg_record_begin() does. */
void uct_predreg_record_domain(uct_predreg_core_t *core, uct_predreg_domain_t *domain,
                               const char *component);

/** Make the trace file, at the first call, if there is a recorder.
 *  If the file cannot be made, a single warning is logged, and nothing is
 *  recorded. */
void uct_predreg_record_begin(uct_predreg_core_t *core);

/** Register memory with UCX in a watched domain, and record the begin of a use; the
 *  deregistration will record its end. Any thread.
 *
 *  @param [in] kind  The ucs_rcache_pred_use_kind_t of the use in a managed domain. */
ucs_status_t uct_predreg_record_mem_reg(uct_predreg_domain_t *domain,
                                        void *address, size_t length,
                                        unsigned flags, unsigned kind,
                                        uct_mem_h *memh_p);

/** @return whether the making of the trace file was tried, with or without success. To be
 *  called at exit. */
int uct_predreg_record_is_begun(const uct_predreg_core_t *core);

/** @return the length of the shortest use so far, bytes. Any thread. */
uint64_t uct_predreg_record_shortest(void);

/** Write the rest of the events, and the counters, into the trace before the process
 *  exits. */
void uct_predreg_record_finish(uct_predreg_core_t *core);

/** Forget the recorder in a forked child: the trace file is the parent's. */
void uct_predreg_record_reset(uct_predreg_core_t *core);

END_C_DECLS

#endif
