/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"
#include "domain.h"
#include <uct/ib/predreg/core/comm.h>

#include <ucs/base/strb.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/string.h>

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* For how many ms memory that nothing can do without waits for keys of other processes */
#define ROOM_TRIES 20

/* A registration requested by UCP */
typedef struct request {
    void                  *address;
    size_t                length;
    unsigned              flags;
    uct_predreg_purpose_t purpose;
} request_t;


/* Deregister memory without a present use, to make room for another use. @return 0 if
 * there is no such memory */
static int give_way(uct_predreg_core_t *core)
{
    return uct_predreg_addons_give_way(core) || ucs_rcache_pred_unguard(core->pred);
}

/* Deregister all idle memory of the cache. uct_predreg_enter() tells the handler of a
 * signal in the calling thread to wait for none of the locks taken here */
static void purge(uct_predreg_core_t *core)
{
    uct_predreg_enter();
    ucs_rcache_pred_purge(core->pred);
    uct_predreg_leave();
}

/* Deregister all memory that no use needs at present, so that the system has room: first
 * memory of add-ons, then of the cache */
static void give_all(uct_predreg_core_t *core)
{
    while (give_way(core)) {
    }
    purge(core);
}

/* Make room for memory that the system has refused, and that nothing can do without: give
 * up some idle regions, and ask other processes of the node for keys. From the second
 * attempt on, wait for the keys. @return whether to try again */
static int make_room(const uct_predreg_domain_t *domain, size_t length, unsigned *tries)
{
    int helps;

    if (*tries == ROOM_TRIES) {
        return 0;
    }

    if ((*tries)++ > 0) {
        usleep(1000);
    }
    uct_predreg_enter();
    helps = ucs_rcache_pred_cure(domain->cache, length);
    uct_predreg_leave();
    return helps;
}

/* Register memory past the cache, such as UCX's own pools. If make_room() does not help in a
 * managed domain, all memory without a present use is deregistered before the last
 * attempt. */
static UCS_F_NOINLINE ucs_status_t
foreign_mem_reg(uct_predreg_domain_t *domain, const request_t *req, int is_pool,
                uct_mem_h *memh_p)
{
    uct_predreg_core_t *core = domain->core;
    const unsigned quiet     = UCT_MD_MEM_FLAG_HIDE_ERRORS;
    unsigned tries           = 0;
    ucs_status_t status;

    if (domain->cache == NULL) {
        status = uct_predreg_pass_mem_reg(domain, req->address, req->length,
                                          req->flags, memh_p);
        if ((status == UCS_OK) && is_pool) {
            uct_predreg_pool_add(core, req->address, req->length);
        }
        return status;
    }

    do {
        status = uct_predreg_try_mem_reg(domain, req->address, req->length,
                                         req->flags | quiet, memh_p);
    } while ((status == UCS_ERR_NO_MEMORY) &&
             make_room(domain, req->length, &tries));

    if (status == UCS_ERR_NO_MEMORY) {
        give_all(core);
    }

    if (status != UCS_OK) {
        status = uct_predreg_pass_mem_reg(domain, req->address, req->length,
                                          req->flags, memh_p);
    }

    if (status == UCS_OK) {
        uct_predreg_foreign_add(domain, *memh_p, req->address, req->length,
                                is_pool);
    }
    return status;
}

/* Register memory that stays pinned until its owner, such as Firehose, ends the use. If
 * the system has no room, all memory without a present use is deregistered before a
 * second attempt. UCP's error about a failure is not logged: the owner may have memory to
 * unpin, and logs the error if it has none */
static UCS_F_NOINLINE ucs_status_t
pinned_mem_reg(uct_predreg_domain_t *domain, const request_t *req, uct_mem_h *memh_p)
{
    uct_predreg_core_t *core = domain->core;
    ucs_status_t status;

    do {
        status = uct_predreg_pinned_reg(domain, req->address, req->length,
                                        req->flags, memh_p);
    } while ((status == UCS_ERR_EXCEEDS_LIMIT) && give_way(core));

    if (status == UCS_ERR_NO_MEMORY) {
        give_all(core);
        status = uct_predreg_pinned_reg(domain, req->address, req->length,
                                        req->flags, memh_p);
    }

    if (status != UCS_OK) {
        uct_predreg_quiet_once();
    }
    return status;
}

/* Append the name of a bound and its value to a list for a message. The value ULONG_MAX
 * stands for a bound that the user has not set, and is left out */
static void list_bound(ucs_string_buffer_t *list, const char *name,
                       unsigned long value, int is_bytes)
{
    const char *separator = ucs_string_buffer_length(list) ? ", " : "";
    char bytes[32];

    if ((value != ULONG_MAX) && is_bytes) {
        ucs_memunits_to_str(value, bytes, sizeof(bytes));
        ucs_string_buffer_appendf(list, "%s%s%s", separator, name, bytes);
    } else if (value != ULONG_MAX) {
        ucs_string_buffer_appendf(list, "%s%s%lu", separator, name, value);
    }
}

static void complain_of_bounds(const uct_predreg_domain_t *domain,
                               const request_t *req)
{
    const uct_predreg_knobs_t *knobs = &domain->core->knobs;
    uint64_t max_bytes               = uct_predreg_max_bytes(knobs);
    UCS_STRB(list, 512);

    list_bound(&list, "UCX_RCACHE_PRED_MAX_PINNED=", knobs->max_pinned, 1);
    list_bound(&list, "UCX_RCACHE_PRED_MAX_REGIONS=", knobs->max_regions, 0);
    list_bound(&list, "UCX_RCACHE_PRED_NODE_MAX_PINNED=",
               knobs->node_max_pinned, 1);
    list_bound(&list, "UCX_RCACHE_PRED_NODE_MAX_REGIONS=",
               knobs->node_max_regions, 0);
    if (max_bytes < knobs->max_pinned) {
        list_bound(&list, "what the limit of locked memory (ulimit -l) "
                   "leaves to this process, ", max_bytes, 1);
    }

    /* Relaxed: see uct_predreg_domain_t */
    ucs_error("%zu bytes at %p do not fit the bounds beside what is in use "
              "(%s), and cannot be registered in pieces: %s", req->length,
              req->address, ucs_string_buffer_cstr(&list),
              ucs_relaxed_load(&domain->whole) ?
              "this transport cannot move pieces" :
              "peers may access this memory, such as an MPI window");
}

/* Whether a fence of UCP may follow the transfer of the memory. Fences follow puts only:
 * those of one-sided communication; and messages, if UCP puts messages (fenced_puts), for
 * which UCP registers the sender's memory for local reading */
static int is_one_sided(const uct_predreg_core_t *core, const request_t *req)
{
    /* Relaxed: see state.h */
    return (req->purpose == UCT_PREDREG_PURPOSE_ONE_SIDED) ||
           ((req->flags & UCT_MD_MEM_ACCESS_LOCAL_READ) &&
            ucs_relaxed_load(&core->fenced_puts));
}

/*
 * Decide how to treat a registration, within what the version of UCX allows
 * (compat->may). If an interface of the domain would not understand pieces handles, the
 * memory must be registered as a whole. Pieces are only the last resort for transfers
 * that UCP may order by fences; and in a process with memory of devices, where UCP may be
 * about to hand out a key to the memory, as memory in pieces has no key.
 */
static UCS_F_ALWAYS_INLINE uct_predreg_may_t
may_do(const uct_predreg_domain_t *domain, const request_t *req)
{
    uct_predreg_purpose_t purpose =
            (req->purpose == UCT_PREDREG_PURPOSE_PINNED) ?
            UCT_PREDREG_PURPOSE_MAPPED : req->purpose;
    uct_predreg_may_t may = (purpose == UCT_PREDREG_PURPOSE_OPTIONAL) ?
                            UCT_PREDREG_MAY_REFUSE :
                            domain->core->compat->may(req->flags, purpose);

    if ((may != UCT_PREDREG_MAY_PIECES) &&
        (may != UCT_PREDREG_MAY_LAST_RESORT)) {
        return may;
    }

    /* Relaxed: see uct_predreg_domain_t */
    if (ucs_relaxed_load(&domain->whole)) {
        return UCT_PREDREG_MUST_WHOLE;
    }

    return (is_one_sided(domain->core, req) ||
            uct_predreg_has_devices()) ?
           UCT_PREDREG_MAY_LAST_RESORT : may;
}

/* What becomes of a use if the bounds leave no room to register all of its memory: WHOLE,
 * the use is refused; else it goes on */
static unsigned use_kind(uct_predreg_may_t may)
{
    switch (may) {
    case UCT_PREDREG_MAY_PIECES:
        return UCS_RCACHE_PRED_USE_PIECES;
    case UCT_PREDREG_MAY_LAST_RESORT:
    case UCT_PREDREG_MAY_KEYLESS:
        return UCS_RCACHE_PRED_USE_LAST_RESORT;
    default:
        return UCS_RCACHE_PRED_USE_WHOLE;
    }
}

/* Give UCP a pieces handle for a use, whose memory was not registered as a whole */
static UCS_F_NOINLINE ucs_status_t
go_on_in_pieces(uct_predreg_domain_t *domain, const request_t *req,
                uct_predreg_may_t may, ucs_rcache_pred_pieces_t *use,
                uct_mem_h *memh_p)
{
    uct_predreg_pieces_memh_t *pieces = calloc(1, sizeof(*pieces));

    if (pieces == NULL) {
        ucs_rcache_pred_end_in_pieces(use);
        return UCS_ERR_NO_MEMORY;
    }

    pieces->use       = *use;
    pieces->flags     = req->flags;
    pieces->one_sided = is_one_sided(domain->core, req);
    pieces->keyless   = (may == UCT_PREDREG_MAY_KEYLESS);
    if (pieces->keyless) {
        /* Relaxed: see state.h */
        ucs_relaxed_store(&domain->core->has_keyless, 1);
    }
    *memh_p           = uct_predreg_pieces_to_memh(pieces);
    return UCS_OK;
}

/* Begin a use that goes on without room: if the cache does not register the memory as a
 * whole, UCP gets a pieces handle */
static UCS_F_ALWAYS_INLINE ucs_status_t
begin_in_pieces(uct_predreg_domain_t *domain, const request_t *req,
                uct_predreg_may_t may, const ucs_rcache_pred_context_t *context,
                uct_mem_h *memh_p)
{
    ucs_rcache_pred_pieces_t use;
    ucs_status_t status;

    use.last_resort = (may != UCT_PREDREG_MAY_PIECES);
    status          = ucs_rcache_pred_begin_in_pieces(domain->cache,
                                                      req->address, req->length,
                                                      req->flags, context, &use,
                                                      memh_p);
    return ucs_likely(status != UCS_INPROGRESS) ?
           status : go_on_in_pieces(domain, req, may, &use, memh_p);
}

/* Let UCX's own cache register memory in a watched domain, through the observer if there is
 * one */
static UCS_F_NOINLINE ucs_status_t
watched_mem_reg(uct_predreg_domain_t *domain, const request_t *req,
                uct_predreg_may_t may, uct_mem_h *memh_p)
{
    uct_predreg_core_t *core               = domain->core;
    const uct_predreg_observer_t *observer = core->observer;

    uct_predreg_count_passed(core);
    return ucs_likely(observer == NULL) ?
           core->compat->mem_reg(&core->real, domain->md, req->address, req->length,
                                 req->flags, memh_p) :
           observer->mem_reg(domain, req->address, req->length, req->flags,
                             use_kind(may), memh_p);
}

/* Begin a use as a whole or in pieces */
static UCS_F_ALWAYS_INLINE ucs_status_t
begin_use(uct_predreg_domain_t *domain, const request_t *req,
          uct_predreg_may_t may, const ucs_rcache_pred_context_t *context,
          uct_mem_h *memh_p)
{
    return (use_kind(may) != UCS_RCACHE_PRED_USE_WHOLE) ?
           begin_in_pieces(domain, req, may, context, memh_p) :
           ucs_rcache_pred_begin(domain->cache, req->address, req->length,
                                 req->flags, context, memh_p);
}

/* Begin a use that nothing can do without. Only the last attempt tells of its failure */
static UCS_F_NOINLINE ucs_status_t
begin_vital(uct_predreg_domain_t *domain, const request_t *req, uct_predreg_may_t may,
            const ucs_rcache_pred_context_t *context, uct_mem_h *memh_p)
{
    request_t quiet = *req;
    unsigned tries  = 0;
    ucs_status_t status;

    quiet.flags |= UCT_MD_MEM_FLAG_HIDE_ERRORS;
    do {
        status = begin_use(domain, &quiet, may, context, memh_p);
    } while ((status == UCS_ERR_NO_MEMORY) && make_room(domain, req->length, &tries));

    return ((status == UCS_OK) || (status == UCS_ERR_EXCEEDS_LIMIT) ||
            (status == UCS_ERR_UNSUPPORTED)) ?
           status : begin_use(domain, req, may, context, memh_p);
}

/* Begin a use, be it vital or not */
static UCS_F_ALWAYS_INLINE ucs_status_t
begin_any(uct_predreg_domain_t *domain, const request_t *req, uct_predreg_may_t may,
          const ucs_rcache_pred_context_t *context, uct_mem_h *memh_p)
{
    return ((use_kind(may) == UCS_RCACHE_PRED_USE_WHOLE) &&
            (may != UCT_PREDREG_MAY_REFUSE)) ?
           begin_vital(domain, req, may, context, memh_p) :
           begin_use(domain, req, may, context, memh_p);
}

/* Go on with a use in a managed domain after a first attempt to begin it, which has
 * returned a rare status: not UCS_OK */
static UCS_F_NOINLINE ucs_status_t
managed_go_on(uct_predreg_domain_t *domain, const request_t *req,
              uct_predreg_may_t may, const ucs_rcache_pred_context_t *context,
              ucs_status_t status, uct_mem_h *memh_p)
{
    while ((status == UCS_ERR_EXCEEDS_LIMIT) && give_way(domain->core)) {
        status = begin_any(domain, req, may, context, memh_p);
    }

    if (req->purpose == UCT_PREDREG_PURPOSE_OPTIONAL) {
        return status; /* The caller can do without the registration */
    }

    if (status == UCS_ERR_UNSUPPORTED) {
        return foreign_mem_reg(domain, req, 0, memh_p);
    }

    if (status == UCS_ERR_EXCEEDS_LIMIT) {
        if (may != UCT_PREDREG_MAY_REFUSE) {
            complain_of_bounds(domain, req);
        } else if (!(req->flags & UCT_MD_MEM_FLAG_HIDE_ERRORS)) {
            uct_predreg_quiet_once();
        }
    }

    return status;
}

/* Begin a use in a managed domain */
static UCS_F_ALWAYS_INLINE ucs_status_t
managed_mem_reg(uct_predreg_domain_t *domain, const request_t *req,
                uct_predreg_may_t may, uct_mem_h *memh_p)
{
    ucs_rcache_pred_context_t context;
    ucs_status_t status;

    uct_predreg_posted_get(req->address, &context);
    status = begin_any(domain, req, may, &context, memh_p);

    return ucs_likely(status == UCS_OK) ?
           UCS_OK :
           managed_go_on(domain, req, may, &context, status, memh_p);
}

static int is_foreign(const request_t *req, uct_predreg_may_t may)
{
    /* A registration with wrong arguments goes to UCT, which reports them */
    return (may == UCT_PREDREG_MAY_PASS) ||
           (may == UCT_PREDREG_MAY_PASS_POOL) || (req->length == 0) ||
           (req->address == NULL);
}

static int is_of_device(const request_t *req)
{
    return ucs_unlikely(uct_predreg_has_devices()) && (req->length != 0) &&
           (req->address != NULL) &&
           !uct_predreg_is_host_memory(req->address, req->length);
}

/* Begin a use of memory that stays registered after the use, if the domain can have a
 * cache for such memory; else have UCX register the memory. It counts against no bound of
 * the library. Memory with the purpose PINNED is not kept: its owner decides when it is
 * unpinned */
static ucs_status_t kept_mem_reg(uct_predreg_domain_t *domain,
                                 const request_t *req, uct_mem_h *memh_p)
{
    uct_predreg_kept_t *kept =
            (req->purpose == UCT_PREDREG_PURPOSE_PINNED) ?
            NULL : uct_predreg_kept_need(domain);

    return (kept == NULL) ?
           uct_predreg_pass_mem_reg(domain, req->address, req->length,
                                    req->flags, memh_p) :
           uct_predreg_kept_reg(kept, req->address, req->length, req->flags,
                                NULL, memh_p);
}

/* Begin a use in a domain where all memory stays registered after its use, as it would in
 * UCP's cache. UCP's pools are not kept, since UCP itself decides when to deregister
 * them */
static UCS_F_NOINLINE ucs_status_t
keeper_mem_reg(uct_predreg_domain_t *domain, const request_t *req,
               uct_mem_h *memh_p)
{
    uct_predreg_may_t may = domain->core->compat->may(req->flags, req->purpose);

    return is_foreign(req, may) ?
           uct_predreg_pass_mem_reg(domain, req->address, req->length,
                                    req->flags, memh_p) :
           kept_mem_reg(domain, req, memh_p);
}

/* Let the answerer of the domain, such as the arena, begin a use in place of the cache.
 * @return 0 if it is no memory of the answerer. The answerer is not asked for optional
 * uses, which get registrations of their own */
static UCS_F_NOINLINE int
is_answered(uct_predreg_domain_t *domain, const request_t *req,
            uct_predreg_may_t may, uct_mem_h *memh_p)
{
    return (req->purpose != UCT_PREDREG_PURPOSE_OPTIONAL) &&
           domain->answerer->begin(domain, req->address, req->length, req->flags,
                                   use_kind(may), memh_p);
}

static UCS_F_ALWAYS_INLINE ucs_status_t
begin(uct_predreg_domain_t *domain, const request_t *req, uct_mem_h *memh_p)
{
    uct_predreg_may_t may;

    /* This thread must not be in the domain: a use may wait for another thread's
     * registration, and the other thread would wait for the domain */
    ucs_rank_check(UCS_RANK_DOMAIN);
    if (ucs_unlikely(uct_predreg_domain_keeps_all(domain))) {
        return keeper_mem_reg(domain, req, memh_p);
    }

    if (is_of_device(req)) {
        return kept_mem_reg(domain, req, memh_p);
    }

    may = may_do(domain, req);
    if (ucs_unlikely(may == UCT_PREDREG_MAY_KEEP) && (req->length != 0) &&
        (req->address != NULL)) {
        return kept_mem_reg(domain, req, memh_p);
    }

    if (ucs_unlikely(is_foreign(req, may))) {
        return foreign_mem_reg(domain, req, may == UCT_PREDREG_MAY_PASS_POOL,
                               memh_p);
    }

    if (ucs_unlikely(domain->answerer != NULL) &&
        is_answered(domain, req, may, memh_p)) {
        return UCS_OK;
    }

    if (ucs_unlikely(domain->cache == NULL)) {
        return watched_mem_reg(domain, req, may, memh_p);
    }

    return ucs_unlikely(req->purpose == UCT_PREDREG_PURPOSE_PINNED) ?
           pinned_mem_reg(domain, req, memh_p) :
           managed_mem_reg(domain, req, may, memh_p);
}

/* Begin a use of all local data of a put or get, in place of a use of a part: one
 * registration serves all parts. The caller can do without the registration, so a refusal
 * is not logged, and no memory outside of the cache is deregistered to make room
 * (give_way()) */
static UCS_F_NOINLINE ucs_status_t
whole_begin(uct_predreg_domain_t *domain, const request_t *req, uct_mem_h *memh_p)
{
    uct_predreg_may_t may = domain->core->compat->may(req->flags,
                                                      UCT_PREDREG_PURPOSE_ONE_SIDED);
    ucs_rcache_pred_context_t context;
    ucs_status_t status;

    if ((domain->cache == NULL) || (may == UCT_PREDREG_MAY_KEEP) ||
        is_foreign(req, may) || is_of_device(req)) {
        return UCS_ERR_UNSUPPORTED;
    }

    ucs_rank_check(UCS_RANK_DOMAIN);
    if ((domain->answerer != NULL) &&
        is_answered(domain, req, UCT_PREDREG_MAY_REFUSE, memh_p)) {
        return UCS_OK;
    }

    uct_predreg_posted_get(req->address, &context);
    uct_predreg_quiet_begin();
    status = ucs_rcache_pred_begin(domain->cache, req->address, req->length,
                                   req->flags, &context, memh_p);
    uct_predreg_quiet_end();
    return status;
}

ucs_status_t uct_predreg_mem_reg(uct_predreg_domain_t *domain, void *address,
                                 size_t length, unsigned flags,
                                 uct_predreg_purpose_t purpose,
                                 uct_mem_h *memh_p)
{
    const request_t req = {
        .address = address,
        .length  = length,
        .flags   = flags,
        .purpose = purpose
    };

    return ucs_unlikely(purpose == UCT_PREDREG_PURPOSE_WHOLE) ?
           whole_begin(domain, &req, memh_p) : begin(domain, &req, memh_p);
}

ucs_status_t
uct_predreg_device_mem_reg(uct_predreg_domain_t *domain, void *address,
                           size_t length, const uct_md_mem_reg_params_t *params,
                           uct_predreg_purpose_t purpose, uct_mem_h *memh_p)
{
    uct_predreg_kept_t *kept = NULL;

    if ((purpose != UCT_PREDREG_PURPOSE_PINNED) &&
        (purpose != UCT_PREDREG_PURPOSE_POOL) && (length != 0) &&
        (address != NULL) && uct_predreg_compat_is_of_device(params)) {
        kept = uct_predreg_kept_need(domain);
    }

    return (kept == NULL) ?
           uct_predreg_pass_mem_reg_v2(domain, address, length, params,
                                       memh_p) :
           uct_predreg_kept_reg(kept, address, length, params->flags, params,
                                memh_p);
}
