/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#ifndef UCS_RELAXED_H_
#define UCS_RELAXED_H_

#include <stdatomic.h>

/** @file relaxed.h
 *
 * Relaxed operations on atomic variables: for numbers and flags that nothing else depends
 * on, or that a lock or another operation orders. The comment on each such variable says
 * which. Any thread may use these macros, memory hooks included.
 */

/** @return the value of a variable. */
#define ucs_relaxed_load(_ptr) atomic_load_explicit(_ptr, memory_order_relaxed)

/** Set the value of a variable. */
#define ucs_relaxed_store(_ptr, _value) \
    atomic_store_explicit(_ptr, _value, memory_order_relaxed)

/** Add to a variable. @return the value before. */
#define ucs_relaxed_add(_ptr, _value) \
    atomic_fetch_add_explicit(_ptr, _value, memory_order_relaxed)

/** Subtract from a variable. @return the value before. */
#define ucs_relaxed_sub(_ptr, _value) \
    atomic_fetch_sub_explicit(_ptr, _value, memory_order_relaxed)

/** Set bits of a variable. @return the value before. */
#define ucs_relaxed_or(_ptr, _bits) \
    atomic_fetch_or_explicit(_ptr, _bits, memory_order_relaxed)

/** Clear all bits of a variable but the ones in @a _bits. @return the value before. */
#define ucs_relaxed_and(_ptr, _bits) \
    atomic_fetch_and_explicit(_ptr, _bits, memory_order_relaxed)

/** Raise a variable to a value, unless the variable has the value or a greater one. */
#define ucs_relaxed_raise(_ptr, _value) \
    do { \
        __auto_type raised_from = ucs_relaxed_load(_ptr); \
        \
        while ((raised_from < (_value)) && \
               !ucs_relaxed_cas(_ptr, &raised_from, _value)) { \
        } \
    } while (0)

/** Subtract 1 from a variable, unless it is 0. */
#define ucs_relaxed_lower(_ptr) \
    do { \
        __auto_type lowered_from = ucs_relaxed_load(_ptr); \
        \
        while ((lowered_from > 0) && \
               !ucs_relaxed_cas(_ptr, &lowered_from, lowered_from - 1)) { \
        } \
    } while (0)

/** Set a variable to @a _new if it has the value *_old_p; else store its present value
 *  in *_old_p. @return whether the variable was set. */
#define ucs_relaxed_cas(_ptr, _old_p, _new) \
    atomic_compare_exchange_strong_explicit(_ptr, _old_p, _new, \
                                            memory_order_relaxed, \
                                            memory_order_relaxed)

#endif
