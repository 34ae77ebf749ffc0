/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_PRIOR_H_
#define UCS_RCACHE_RECORD_PRIOR_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file prior.h
 *
 * What is known of the program from elsewhere: a profile, from a recorded run, and how
 * this process names its places, for other processes that run the same program. Uses
 * places.h and trace/profile/profile.h; the core of uct/ib/predreg calls it.
 */

typedef struct ucs_rcache_record_prior ucs_rcache_record_prior_t;


/** Make names, and read a profile. What is wrong with it is logged.
 *  @param [in] path  NULL: there is no profile.
 *  @return UCS_ERR_NO_MEMORY, and what ucs_rcache_profile_load() returns. */
ucs_status_t ucs_rcache_record_prior_create(const char *path,
                                            ucs_rcache_record_prior_t **prior_p);

/** Free all of this. No thread may use it any more. */
void ucs_rcache_record_prior_destroy(ucs_rcache_record_prior_t *prior);

/** Note where a communication comes from. Called by the thread that issues it; see
 *  ucs_rcache_record_places_note(). */
void ucs_rcache_record_prior_note(ucs_rcache_record_prior_t *prior,
                                  const ucs_rcache_pred_context_t *context);

/** The operation prior of the cache: see there. Any thread. */
unsigned
ucs_rcache_record_prior_ask(ucs_rcache_record_prior_t *prior,
                            const ucs_rcache_pred_context_t *context,
                            uint64_t length, ucs_rcache_pred_time_t *intervals);

/** The operation name of the cache: see there. Any thread. */
uint64_t ucs_rcache_record_prior_name(ucs_rcache_record_prior_t *prior,
                                      const ucs_rcache_pred_context_t *context);

END_C_DECLS

#endif
