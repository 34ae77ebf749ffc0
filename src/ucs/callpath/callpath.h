/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_CALLPATH_H_
#define UCS_CALLPATH_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file callpath.h
 *
 * A number for the path of calls that a thread is on, without unwinding its
 * stack each time. The caller of a function and the depth of the stack say much
 * about the path; from which of several places a function further out has made its
 * call, only the return addresses further out say. For one caller and one depth
 * these addresses nearly always lie in the same words of the stack (slots): an
 * unwinding finds the slots, and from then on their contents are read and hashed.
 *
 * But frames in between may have other sizes although the depth is the same:
 * the return addresses are in other slots then, and the known slots hold
 * something else. Hence a hash counts only if an unwinding has found the same
 * hash before; else the stack is unwound again, and the new slots are
 * remembered beside the others. A hash can be wrong only if all known slots
 * still hold the return addresses of a known path while the thread is on
 * another path.
 *
 * The caller hands in functions that unwind and that find the end of a thread's stack
 * (ucs_callpath_ops_t). Uses ucs/base; the core of uct/ib/predreg calls it.
 *
 * Threads: any number of threads may use one table, each with a state of its
 * own. Nobody waits for anybody.
 */

/** The most return addresses that make a path: the innermost ones. Programs
 *  that were measured have 6 to 11 on average; addresses further out hardly
 *  tell paths apart, and each costs a load and a multiplication. */
#define UCS_CALLPATH_MAX_SLOTS     24

/** How many arrangements of slots are remembered for one caller and depth.
 *  Paths with further arrangements are told apart by the depth alone. */
#define UCS_CALLPATH_MAX_WAYS      4

/** How often the stack is unwound for one caller and depth. Paths that were
 *  found by then are recognized afterwards, and others are not told apart. */
#define UCS_CALLPATH_MAX_UNWINDS   64

/** How many unwindings a thread may do (its credit) at first, and at most. */
#define UCS_CALLPATH_MAX_CREDIT    512

/** After how many calls a thread may do one more unwinding. An unwinding takes
 *  1.4 to 6 us, and up to 20 us after milliseconds of other work, see
 *  docs/benchmarks.md, so that a program in which no call is like another one
 *  pays at most 20 ns for each call. */
#define UCS_CALLPATH_CREDIT_PERIOD 1024


typedef struct ucs_callpath_table ucs_callpath_table_t;


/** A return address, and the word of the stack that it was found in. */
typedef struct ucs_callpath_frame {
    uintptr_t address;
    uintptr_t slot;
} ucs_callpath_frame_t;


/** The stack of a thread: from the first address up to, but without, the
 *  second one. Both are 0 if it is not known. */
typedef struct ucs_callpath_stack {
    uintptr_t low;
    uintptr_t high;
} ucs_callpath_stack_t;


/** What the table needs to know of threads and stacks. */
typedef struct ucs_callpath_ops {
    /** @return the stack of this thread. Called once a thread. */
    ucs_callpath_stack_t (*stack)(void);

    /**
     * Unwind the stack of this thread.
     *
     * @param [in]  caller  A return address on the stack.
     * @param [out] frames  The return addresses further out than the caller,
     *                      the innermost one first. Their slots are on the
     *                      stack, aligned, and in rising order.
     * @param [in]  max     Room for this many frames.
     * @return how many frames were found; 0 if the caller was not found either.
     */
    unsigned             (*unwind)(const void *caller,
                                   ucs_callpath_frame_t *frames, unsigned max);
} ucs_callpath_ops_t;


/** Memory of a thread. All 0 at first. Only the thread uses it, without a lock. */
typedef struct ucs_callpath_thread {
    ucs_callpath_stack_t stack;
    uint32_t             calls;    /**< Calls until the thread is given credit */
    uint16_t             credit;   /**< How many unwindings the thread may do */
    uint8_t              is_ready; /**< Whether the table has asked for the stack
                                        of the thread */
} ucs_callpath_thread_t;


/** Create a table; @a ops must exist as long as the table. The table has 288 KiB, whose
 *  pages are touched only as paths are added. @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_callpath_table_create(const ucs_callpath_ops_t *ops,
                                       ucs_callpath_table_t **table_p);

/** Free a table. No thread may use it any more. */
void ucs_callpath_table_destroy(ucs_callpath_table_t *table);

/**
 * Get the number of the path that the calling thread is on. Not to be called in
 * memory hooks, or with locks held: an unwinding may take locks of the dynamic
 * loader, and the first call of a thread may allocate memory.
 *
 * @param [in] caller  A return address of this thread, from which on outwards
 *                     its path counts.
 * @param [in] stack   An address on the stack, not above any slot further out. Paths
 *                     with different such addresses get different numbers.
 * @return a number which is the same for the same path at the same depth; or
 *         @a stack itself if nothing better is known: the stack is not the
 *         thread's own, as in a fiber, or cannot be unwound, or would be
 *         unwound too often.
 */
uint64_t ucs_callpath_find(ucs_callpath_table_t *table,
                           ucs_callpath_thread_t *thread, const void *caller,
                           const void *stack);

END_C_DECLS

#endif
