/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SIM_H_
#define PREDREG_SIM_H_

#include "policies.h"

#include <tools/replay/account/account.h>
#include <ucs/base/tree.h>

BEGIN_C_DECLS

/** @file sim.h
 *
 * Plays a program with this library's own cache in a world of virtual time, for
 * the policies predict, on-demand and arena. The parts of the simulation, from
 * the bottom up: a second flow of control, the world, transfers in pieces,
 * mappings in an arena, and the program.
 *
 * Times are times of the account, ns, unless a comment says that they are times
 * of the cache's clock.
 */

/*
 * A second flow of control within one thread (coroutine.c). The simulation decides which
 * of the two flows runs, and no scheduler does, so a replay always has the same result.
 */

typedef struct predreg_coroutine predreg_coroutine_t;


/** Make a flow, which runs from the first resume on.
 *  @param [in] func  Must not return. */
predreg_coroutine_t *predreg_coroutine_create(void (*func)(void *arg), void *arg);

/** Free a flow, wherever it is suspended. A flow must not call this for itself. */
void predreg_coroutine_destroy(predreg_coroutine_t *coroutine);

/** Let a flow run until it suspends itself. A flow must not call this for itself. */
void predreg_coroutine_resume(predreg_coroutine_t *coroutine);

/** Suspend the flow that calls this function: the other flow returns from
 *  predreg_coroutine_resume(). This function returns when the flow is resumed. */
void predreg_coroutine_suspend(predreg_coroutine_t *coroutine);


/*
 * The ranks of a node on one clock (flows.c). Of all flows the one runs whose time is the
 * earliest, the first one of several. So whatever ranks share, they use in the order of
 * time.
 */

/** The flow of a rank. */
typedef struct predreg_flow {
    void                (*func)(void *arg); /**< Plays the rank; may return */
    void                *arg;
    uint64_t            start;      /**< Time 0 of the rank, on the clock of all ranks */
    uint64_t            time;       /**< Of the rank, on that clock; UINT64_MAX: ended */
    uint64_t            limit;      /**< Time of the next flow */
    predreg_coroutine_t *coroutine;
} predreg_flow_t;

/** Run flows until all have ended. The caller has set func, arg and start. */
void predreg_flows_run(predreg_flow_t *flows, size_t num);

/** The rank of the flow that runs goes on until this time of the rank: let others come as
 *  far first. */
void predreg_flow_reach(predreg_flow_t *flow, uint64_t time);


/*
 * The world around a cache (world.c): a virtual clock, and two flows of time, those of
 * the program and of the helper, in which registrations take time. Only the program calls
 * the functions below. Only they move the clock, and they let the helper run whenever it
 * is due. If both flows are due at the same time, the helper comes first.
 */

typedef struct predreg_world predreg_world_t;

/** The operations that a cache needs. Their argument, and that of domains, is the
 *  world. */
extern const ucs_rcache_pred_ops_t predreg_world_ops;


/** Make a world without a helper, at time 0 of the account. */
predreg_world_t *predreg_world_create(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_account_t *account);

/** Destroy a world. Its cache must have been destroyed before. */
void predreg_world_destroy(predreg_world_t *world);

/** Begin the flow of the helper, which looks after the cache from now on. */
void predreg_world_start_helper(predreg_world_t *world, ucs_rcache_pred_t *pred);

/** @return the present time of the program. */
uint64_t predreg_world_now(const predreg_world_t *world);

/** @return the time of the account that is a time of the cache's clock; UINT64_MAX: the
 *          time is infinite. */
uint64_t predreg_world_time(ucs_rcache_pred_time_t time);

/** The program has done the helper's work for this time, ns, in place of its own. */
void predreg_world_steal(predreg_world_t *world, uint64_t time);

/** @return for how long the helper's work has kept the program from its own since the last
 *          call of this function, ns. A helper with a processor of its own keeps it from
 *          nothing. */
uint64_t predreg_world_take_stolen(predreg_world_t *world);

/** Let the program compute until this time, while the helper works. */
void predreg_world_advance(predreg_world_t *world, uint64_t until);

/** The program makes progress: it does a round of the cache if one is due.
 *  @return for how long the round has taken, but for registrations and deregistrations,
 *          ns. */
uint64_t predreg_world_progress(predreg_world_t *world, ucs_rcache_pred_t *pred);

/** The next registration by the program is the first one of its memory, and takes so much
 *  longer, ns. */
void predreg_world_set_fresh(predreg_world_t *world, uint64_t time);

/** @return the holding of a handle; valid until the clock moves. */
predreg_holding_t *predreg_world_holding(predreg_world_t *world, void *memh);

/**
 * End the program: the account closes the holdings of all registrations that are left, in
 * whatever state. From now on operations take no time, and the account takes no entries.
 * The helper leaves the code of the cache, and stops.
 *
 * @return the time of the helper for registrations and deregistrations, ns.
 */
uint64_t predreg_world_finish(predreg_world_t *world);


/*
 * Uses in pieces (transfer.c). Each is simulated as a transfer at a constant speed that
 * takes as long as the use. Up to UCS_RCACHE_PRED_PIECES_IN_FLIGHT pieces are in flight
 * at a time. Whenever a piece lands, the transfer registers the next one.
 */

/** A transfer. The caller allocates it with all fields 0, and passes its field super to
 *  the cache when the use begins. */
typedef struct predreg_transfer {
    ucs_rcache_pred_pieces_t    super;
    const predreg_use_t         *use;
    predreg_site_t              *site;
    uint64_t                    begun;
    uint64_t                    next; /**< Address of the first byte that no piece has
                                           had yet */
    ucs_rcache_pred_piece_t     pieces[UCS_RCACHE_PRED_PIECES_IN_FLIGHT];
                                      /**< The pieces in flight, oldest first */
    unsigned                    num_pieces;
    uint64_t                    lands; /**< When the oldest piece lands;
                                            UINT64_MAX: when the use ends */
    ucs_tree_node_t node;
} predreg_transfer_t;

/** All transfers under way. */
typedef struct predreg_transfers {
    predreg_account_t      *account;
    predreg_world_t        *world;   /**< For the clock */
    ucs_tree_t tree;     /**< Sorted by lands */
} predreg_transfers_t;


void predreg_transfers_init(predreg_transfers_t *transfers,
                            predreg_account_t *account, predreg_world_t *world);

/** Begin the transfer of a use that has begun. The program waits for the registration of
 *  the first piece, and does not wait for further pieces.
 *  @return when the program goes on. */
uint64_t predreg_transfer_begin(predreg_transfers_t *transfers,
                                predreg_transfer_t *transfer,
                                const predreg_use_t *use, predreg_site_t *site);

/** @return when the next piece of any transfer lands; UINT64_MAX: no piece
 *          lands before the end of its use. */
uint64_t predreg_transfers_next(const predreg_transfers_t *transfers);

/** Let the next piece land now. There must be one. */
void predreg_transfers_land(predreg_transfers_t *transfers);

/** End the transfer of a use that ends, and release its pieces. The caller may
 *  then free the transfer. */
void predreg_transfer_end(predreg_transfers_t *transfers,
                          predreg_transfer_t *transfer);


/*
 * The mappings of a program in an arena (served.c), with the library's own code
 * in ucs/arena: which uses the arena answers, and which slabs are registered
 * meanwhile. Zeroing and protecting memory take no time. The helper that
 * registers slabs has a processor of its own. The times of
 * calls never go back.
 */

typedef struct predreg_served predreg_served_t;


/** Make an arena of the size in params->limit, rounded down to slabs, but at
 *  least one slab long. */
predreg_served_t *predreg_served_create(const predreg_replay_params_t *params,
                                        predreg_account_t *account);

void predreg_served_destroy(predreg_served_t *served);

/** @return when predreg_served_tend() is due; UINT64_MAX: never. */
uint64_t predreg_served_due(const predreg_served_t *served);

/** Let the helper do one due thing. */
void predreg_served_tend(predreg_served_t *served, uint64_t now);

/** The program maps memory, which comes from the arena if there is room. */
void predreg_served_map(predreg_served_t *served, const predreg_map_t *map,
                        uint64_t now);

void predreg_served_unmap(predreg_served_t *served,
                          const predreg_unmap_t *unmap, uint64_t now);

/** A use begins.
 *  @return the slab that has the memory of the use, for predreg_served_end(); NULL: the
 *          memory is not in a registered slab. */
void *predreg_served_begin(predreg_served_t *served, const predreg_use_t *use,
                           predreg_site_t *site, uint64_t now);

void predreg_served_end(predreg_served_t *served, void *slab, uint64_t now);

/**
 * End the program: the account closes the holdings of all slabs, in whatever state.
 *
 * @param [in,out] result  Gets the time of the helper for slabs, and as its bound the
 *                         largest size of the arena at a time, bytes.
 */
void predreg_served_finish(predreg_served_t *served, uint64_t now,
                           predreg_replay_result_t *result);


/**
 * Play the cache over a program (sim.c).
 *
 * @param [in]  params  cache.policy is the policy of the cache, and limit is the size of
 *                      an arena for large mappings, bytes; 0: no arena.
 * @param [out] result  The caller has set all fields but policy and budget to 0.
 * @param [out] stats   Statistics of the cache at the end of the program.
 * @return the error with which the cache refuses its parameters, or UCS_OK.
 */
ucs_status_t predreg_sim_replay(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                predreg_replay_result_t *result,
                                ucs_rcache_pred_stats_t *stats);

END_C_DECLS

#endif
