/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SIGNATURE_H_
#define UCS_RCACHE_PRED_SIGNATURE_H_

#include <ucs/rcache_pred/api/context.h>

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file signature.h
 *
 * The signature of a communication on a region: the key of the call-site table
 * (CF'11, section 3.1). The functions are pure. The helper computes signatures,
 * off the critical path.
 */

/**
 * @return the signature of a communication on a region, which is never 0.
 *
 * @param [in] region  Number of the region. It tells apart regions that start
 *                     at the same address, because they belong to different
 *                     domains or are used with different lengths at the same
 *                     time.
 */
uint64_t ucs_rcache_pred_signature(const ucs_rcache_pred_context_t *context,
                                   uint64_t region, uintptr_t address,
                                   uint64_t length);

/** @return the hash, which is never 0, of the place of the program from which a
 *  communication was called, whatever its buffer and what came before it. */
uint64_t
ucs_rcache_pred_signature_of_place(const ucs_rcache_pred_context_t *context);

/** @return the hash, which is never 0, of a place (@ref
 *  ucs_rcache_pred_signature_of_place) and of the length of memory that is used
 *  there. */
uint64_t ucs_rcache_pred_signature_of_way(uint64_t place, uint64_t length);

/** @return the signature, which is never 0, of a communication that comes in a
 *  certain phase of its region. predict.c says what phases are. */
uint64_t ucs_rcache_pred_signature_in_phase(uint64_t signature, unsigned phase);

END_C_DECLS

#endif
