/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_UNWIND_H_
#define UCS_RCACHE_PRED_UNWIND_H_

#include <ucs/callpath/callpath.h>

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file unwind.h
 *
 * The facts of this process for ucs/callpath: the stacks of its threads, and the
 * return addresses on a stack. Unwinds by the unwind tables of the program's code,
 * with the unwinder of C++ exceptions (libgcc's, or the program's); frame pointers
 * are not needed. Code without tables ends a path.
 *
 * Threads: any, for its own stack. Not in memory hooks, nor in handlers of signals:
 * the functions may take locks of the dynamic loader, and libc, which tells the
 * stack of a thread, may allocate memory and reads a file for the first thread.
 */

/** See @ref ucs_callpath_ops_t. */
ucs_callpath_stack_t ucs_host_stack(void);

/** See @ref ucs_callpath_ops_t. A return address is left out if the words of its frame
 *  where compilers store return addresses do not hold it: that is so in the frame that
 *  the kernel makes for the handler of a signal, and where the processor signs stored
 *  addresses. */
unsigned ucs_host_unwind(const void *caller, ucs_callpath_frame_t *frames,
                         unsigned max);

/** Both functions above, as a table. */
extern const ucs_callpath_ops_t ucs_host_callpath_ops;

END_C_DECLS

#endif
