/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_REG_H_
#define UCP_FH_REG_H_

#include "local.h"

/** @file reg.h
 *
 * The registrations of the local table: where they are found, who is counted on
 * them, and which lists they are in. Under the lock of the table. */

/** @return where all registrations of a bucket are, among others. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucp_fh_regs(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket)
{
    return ucs_rcache_pred_bucket(&table->regs, bucket);
}

/** @return the registration of a bucket that covers all that a span has of it, or
 *          NULL. Of several the oldest: while that is in use, it is always the
 *          same. */
ucp_fh_reg_t *
ucp_fh_reg_find(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket,
                const ucp_fh_span_t *span);

/** Make a registration of what a span has of a bucket, which is to be pinned and
 *  which nobody uses yet.
 *
 *  @return it, or NULL if there is no memory. */
ucp_fh_reg_t *ucp_fh_reg_add(ucp_fh_local_t *table, ucp_fh_bucket_t bucket,
                             const ucp_fh_span_t *span);

/** Remove and free a registration that is in no list and that nobody uses. */
void ucp_fh_reg_destroy(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** @return whether a local pin or a peer uses a registration. */
static inline int ucp_fh_reg_is_used(const ucp_fh_reg_t *reg)
{
    return reg->uses + reg->num_grants > 0;
}

/** Put a pinned registration that nobody uses where it belongs. */
void ucp_fh_reg_idle(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** A victim is one no longer. */
void ucp_fh_reg_revive(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** @return a withdrawal that has buckets of a run: the next one, or the first
 *          if @a withdraw is NULL; or NULL. */
static inline ucp_fh_withdraw_t *
ucp_fh_withdraw_next(const ucp_fh_local_t *table,
                     const ucp_fh_withdraw_t *withdraw, const ucp_fh_run_t *run)
{
    ucp_fh_place_t *place = (withdraw == NULL) ?
                                    ucp_fh_places_first(&table->withdraws,
                                                        run) :
                                    ucp_fh_places_next(&withdraw->place, run);

    return (place == NULL) ?
                   NULL : ucs_container_of(place, ucp_fh_withdraw_t, place);
}

/** @return a withdrawal of memory that a registration covers some of: the next one,
 *          or the first if @a withdraw is NULL; or NULL. */
ucp_fh_withdraw_t *
ucp_fh_reg_next_withdraw(const ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                         const ucp_fh_withdraw_t *withdraw);

/** A registration was unpinned, or cannot be: those who have withdrawn its memory
 *  learn of that. */
void ucp_fh_reg_gone(ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                     ucs_status_t status);

/** Count a local use. */
void ucp_fh_reg_use(ucp_fh_local_t *table, ucp_fh_reg_t *reg);
void ucp_fh_reg_unuse(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** Count a firehose. */
void ucp_fh_reg_grant(ucp_fh_local_t *table, ucp_fh_reg_t *reg);
void ucp_fh_reg_ungrant(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

#endif
