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
 * What ucs/callpath has to know of this process: where the stacks of its
 * threads are, and what an unwinding finds on them. Unwinds by the unwind
 * tables of the program's code, with the unwinder that C++ exceptions use
 * (libgcc's, or what the program has instead); frame pointers are not needed.
 * Code without tables ends a path.
 *
 * Threads: any, for its own stack. Not in memory hooks, nor in handlers of
 * signals: the functions may take locks of the dynamic loader, and the stack of
 * a thread is asked of libc, which may allocate memory and reads a file for the
 * first thread.
 */

/** See @ref ucs_callpath_ops_t. */
ucs_callpath_stack_t ucs_host_stack(void);

/** See @ref ucs_callpath_ops_t. An address is left out if no word of its frame
 *  where a return address may be holds it: a frame that the kernel made for the
 *  handler of a signal, or a processor that signs the addresses it stores. */
unsigned ucs_host_unwind(const void *caller, ucs_callpath_frame_t *frames,
                         unsigned max);

/** Both. */
extern const ucs_callpath_ops_t ucs_host_callpath_ops;

END_C_DECLS

#endif
