/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_LOCAL_INT_H_
#define UCP_FH_LOCAL_INT_H_

#include "local.h"

/** @file local_int.h
 *
 * Inside the local table. Registrations, firehoses of peers and withdrawals are
 * found and counted by reg.c; pins are let in, wait and end by pin.c. Under the
 * lock of the table. */

/** @return a list with all registrations of a bucket, and of some other buckets. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucp_fh_regs(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket)
{
    return ucs_bucket(&table->regs, bucket);
}

/** @return the registration that covers the part of a span in a bucket, or NULL. If
 *          several cover the part, the oldest one: so the answer is the same as long as
 *          the registration is in use. */
ucp_fh_reg_t *
ucp_fh_reg_find(const ucp_fh_local_t *table, ucp_fh_bucket_t bucket,
                const ucp_fh_span_t *span);

/** Make a registration of the part of a span in a bucket, without any use, and put it
 *  into ucp_fh_local_t::to_pin.
 *
 *  @return the registration, or NULL if there is no memory. */
ucp_fh_reg_t *ucp_fh_reg_add(ucp_fh_local_t *table, ucp_fh_bucket_t bucket,
                             const ucp_fh_span_t *span);

/** Remove and free a registration that is in no list and not in use. */
void ucp_fh_reg_destroy(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** @return whether a local pin or a peer uses a registration. */
static inline int ucp_fh_reg_is_used(const ucp_fh_reg_t *reg)
{
    return reg->uses + reg->num_grants > 0;
}

/** Put a pinned registration that is not in use into the victim FIFO, or, if it is
 *  withdrawn, into the list of doomed ones. */
void ucp_fh_reg_idle(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** Take a registration out of the victim FIFO: it gets a use, or is unpinned. */
void ucp_fh_reg_revive(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** @return the first withdrawal that has buckets of a run or, if @a withdraw is not NULL,
 *          the next such withdrawal after @a withdraw; NULL if there is none. */
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

/** @return the next withdrawal after @a withdraw that withdraws memory of a registration,
 *          as ucp_fh_withdraw_next(). */
ucp_fh_withdraw_t *
ucp_fh_reg_next_withdraw(const ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                         const ucp_fh_withdraw_t *withdraw);

/** A registration was unpinned, or could not be unpinned: count it as gone in all
 *  withdrawals of its memory, and end each withdrawal for which it was the last
 *  registration. */
void ucp_fh_reg_gone(ucp_fh_local_t *table, const ucp_fh_reg_t *reg,
                     ucs_status_t status);

/** Begin or end a local use of a registration. */
void ucp_fh_reg_use(ucp_fh_local_t *table, ucp_fh_reg_t *reg);
void ucp_fh_reg_unuse(ucp_fh_local_t *table, ucp_fh_reg_t *reg);

/** @return the firehose of a peer on a bucket, or NULL. */
ucp_fh_grant_t *ucp_fh_grant_find(const ucp_fh_local_t *table, uint32_t peer,
                                  ucp_fh_bucket_t bucket);

/** Give a peer that has no firehose on the bucket of a registration a firehose there.
 *
 *  @return UCS_ERR_NO_MEMORY, or UCS_OK. */
ucs_status_t
ucp_fh_grant_add(ucp_fh_local_t *table, uint32_t peer, ucp_fh_reg_t *reg);

/** Take a firehose back and free it. */
void ucp_fh_grant_drop(ucp_fh_local_t *table, ucp_fh_grant_t *grant);


/** @return whether the part of a span in each bucket of a run is pinned, and not
 *          withdrawn. */
int ucp_fh_run_is_pinned(const ucp_fh_local_t *table, const ucp_fh_run_t *run,
                         const ucp_fh_span_t *span);

/** Fill in a pin that is in no list, except for ucp_fh_pin_t::wanted. */
void ucp_fh_pin_init(ucp_fh_pin_t *pin, const ucp_fh_run_t *run, uint32_t peer);

/**
 * Let a pin in, or have it wait for room.
 *
 * @return UCS_OK: the memory is pinned. UCS_INPROGRESS: the pin ends later, by
 *         ucp_fh_pin_end(). An error: the pin is not in the table.
 */
ucs_status_t ucp_fh_pin_begin(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** As ucp_fh_pin_begin(), for a local pin that does not wait.
 *
 *  @return UCS_OK; UCS_ERR_NO_RESOURCE if some of the memory is not pinned, or if the pin
 *          cannot be let in now; or another error. */
ucs_status_t ucp_fh_pin_hit(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** Let an active pin wait for its next registration that is not pinned.
 *  @return 1 if all its registrations are pinned: the caller has to end the pin. */
int ucp_fh_pin_advance(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** End a pin. A local pin is put into ucp_fh_local_t::ended; a pin of a peer's message is
 *  counted, and the message ends with the last one of its pins. */
void ucp_fh_pin_end(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                    ucs_status_t status);

/** End all uses that a pin has begun, or take back the firehose that it has given. */
void ucp_fh_pin_drop(ucp_fh_local_t *table, ucp_fh_pin_t *pin);

/** End a queued or active pin with an error. */
void ucp_fh_pin_fail(ucp_fh_local_t *table, ucp_fh_pin_t *pin,
                     ucs_status_t status);

/** Let those queued pins in that nothing hinders any more. To be called when there may be
 *  more room, or when a registration was pinned, unpinned or withdrawn. */
void ucp_fh_pin_settle(ucp_fh_local_t *table);

#endif
