/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "addon.h"
#include "events.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/debug/log_def.h>
#include <ucs/host/cgroup.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>


/* The size of slabs is chosen so that the bounds have room for at least MIN_SLABS of
 * them: then some slabs can be given back while others are in use, and memory outside of
 * the arena has a place, too */
#define MIN_SLABS 4

/* What rdma-core answers if fork() needs no care: IBV_FORK_UNNEEDED of its verbs.h, from
 * version 35 on */
#define FORK_UNNEEDED 2

/* glibc maps allocations above a threshold, and raises the threshold by itself up to this
 * length: DEFAULT_MMAP_THRESHOLD_MAX of its malloc.c, 2.3 and later, where a word has
 * 8 bytes */
#define MAX_THRESHOLD (32ul << 20)

#define VARIABLE "UCX_RCACHE_PRED_ARENA"


/* The arena of the process, and what the handlers of its events have to know. A forked
 * child, which has a single thread, forgets the arena */
static uct_predreg_arena_events_t events;

/* Whether this process has tried to make its arena, and whether the attempt succeeded.
 * Under core.lock */
static int is_tried;
static int is_made;

/* The hook that this add-on's alter() has replaced. Written when the core starts */
static int (*inner_alter)(const void *address, size_t length, int prot);


static ucs_status_t slab_reg(void *domain, void *address, size_t length,
                             unsigned flags, uct_mem_h *memh_p)
{
    return uct_predreg_try_mem_reg(domain, address, length, flags, memh_p);
}

static ucs_status_t slab_reserve(void *arg, size_t length)
{
    const uct_predreg_core_t *core = arg;

    return ucs_rcache_pred_reserve(core->pred,
                                   UCS_RCACHE_PRED_SUBSYSTEM_ARENA, length, 1);
}

static void slab_release(void *arg, size_t length)
{
    const uct_predreg_core_t *core = arg;

    (void)ucs_rcache_pred_release(core->pred, UCS_RCACHE_PRED_SUBSYSTEM_ARENA,
                                  length, 1);
}

/* The most that may be pinned, bytes, with the arena as a part. The control group counts,
 * too: the kernel ends a process that takes more memory than its group has */
static uint64_t get_bound(const uct_predreg_knobs_t *knobs)
{
    uint64_t pinned = ucs_min(uct_predreg_max_bytes(knobs),
                              knobs->node_max_pinned);
    uint64_t group  = ucs_rcache_pred_cgroup_limit("");

    return ucs_min(pinned, group);
}

/* The size of slabs: the largest one, up to UCT_PREDREG_SLAB, of which MIN_SLABS fit into
 * the bounds; 0: there is no such size */
static size_t get_slab_size(const uct_predreg_knobs_t *knobs)
{
    uint64_t room = get_bound(knobs) / MIN_SLABS;
    size_t size   = UCT_PREDREG_SLAB;

    room = ucs_min(room, knobs->arena);
    while ((size > room) && (size > UCT_PREDREG_MIN_SLAB)) {
        size /= 2;
    }
    return (size > room) ? 0 : size;
}

/* Whether the user has set a parameter of malloc(), by the variable or by the tunable of
 * glibc */
static int is_set_by_user(const char *variable, const char *tunable)
{
    const char *tunables = getenv("GLIBC_TUNABLES");

    return (getenv(variable) != NULL) ||
           ((tunables != NULL) && (strstr(tunables, tunable) != NULL));
}

/* Have malloc() map allocations from a length on; SIZE_MAX: use the heap for all. glibc
 * maps allocations above a threshold. It raises the threshold to the length of each
 * mapping that is freed, and later allocations of that length come from the heap.
 * mallopt(3) fixes the threshold, and also stops glibc from keeping M_TRIM_THRESHOLD at
 * twice the threshold: the library sets M_TRIM_THRESHOLD to the highest value that glibc
 * could have reached. If is_eager, the heap gives its free end back at once instead,
 * since free memory of the heap would serve allocations that are to be mapped. With
 * SIZE_MAX the heap keeps everything: its layout is new, and whether freed memory is at
 * its end is chance */
static void set_malloc_threshold(size_t length, int is_eager)
{
    size_t threshold = ucs_min(length, MAX_THRESHOLD);

    if (is_set_by_user("MALLOC_MMAP_THRESHOLD_",
                       "glibc.malloc.mmap_threshold") ||
        (mallopt(M_MMAP_THRESHOLD, threshold) != 1)) {
        return;
    }

    if (!is_set_by_user("MALLOC_TRIM_THRESHOLD_",
                        "glibc.malloc.trim_threshold")) {
        mallopt(M_TRIM_THRESHOLD, (length == SIZE_MAX) ? INT_MAX :
                                  is_eager             ? threshold :
                                                         2 * MAX_THRESHOLD);
    }
    if (is_eager) {
        (void)malloc_trim(threshold);
    }
    if (length == SIZE_MAX) {
        ucs_warn("UCX_RCACHE_PRED_ARENA has no room for what the program allocates: "
                 "malloc() uses its heap again. A larger one would help, or a larger "
                 "bound on pinned memory; the summary's arena_refused counts these");
    }
}

static void get_params(uct_predreg_core_t *core,
                       uct_predreg_arena_params_t *params)
{
    const uct_predreg_knobs_t *knobs = &core->knobs;
    unsigned local = UCT_MD_MEM_ACCESS_LOCAL_READ |
                     UCT_MD_MEM_ACCESS_LOCAL_WRITE;

    params->slab_size  = get_slab_size(knobs);
    params->first_slab = ucs_min(UCT_PREDREG_FIRST_SLAB, params->slab_size);
    params->size       = (params->slab_size == 0) ?
                                 0 :
                                 knobs->arena - (knobs->arena %
                                                 params->slab_size);
    params->min_length = knobs->arena_min;
    params->is_strict  = knobs->arena_strict;
    params->publish    = uct_predreg_publish;
    params->attract    = set_malloc_threshold;
    params->access     = (knobs->arena_keys == UCT_PREDREG_ARENA_KEYS_USE) ?
                                 local :
                                 (local | UCT_MD_MEM_ACCESS_RMA);
    params->flags      = params->access | UCT_MD_MEM_FLAG_HIDE_ERRORS;
    params->ops        = (uct_predreg_arena_reg_ops_t){
        .mem_reg   = slab_reg,
        .mem_dereg = uct_predreg_dereg_handle,
        .reserve   = slab_reserve,
        .release   = slab_release,
        .arg       = core
    };
}

/* Whether memory can stay registered while the process forks. With older kernels it
 * cannot: rdma-core withholds registered memory from children, which then miss it; or a
 * write of the parent goes to a new page, while the adapter keeps using the old page.
 * Kernels from 5.12 on copy pinned pages for the child */
static int is_safe_to_fork(const char *component)
{
    int (*get_status)(void);
    void *verbs;
    int is_safe;

    if (strcmp(component, "ib")) {
        return 1;
    }

    verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (verbs == NULL) {
        return 1;
    }

    get_status = (int (*)(void))dlsym(verbs, "ibv_is_fork_initialized");
    is_safe    = (get_status != NULL) && (get_status() == FORK_UNNEEDED);
    dlclose(verbs);
    return is_safe;
}

static void complain(const uct_predreg_knobs_t *knobs, const char *reason)
{
    char size[32];

    ucs_memunits_to_str(knobs->arena, size, sizeof(size));
    ucs_warn(VARIABLE "=%s: there is no arena: %s", size, reason);
}

/* Have UCM tell the arena of the program's calls. The handlers are set once in a process,
 * and its children inherit them */
static ucs_status_t start_events(const uct_predreg_core_t *core)
{
    static int are_started;
    ucs_status_t status;

    if (are_started) {
        return UCS_OK;
    }

    events.mremap_target_offset = core->compat->mremap_target_offset;
    status                      = uct_predreg_arena_events_start(&events);
    are_started                 = (status == UCS_OK);
    return status;
}

/* @return why the arena could not be made; NULL: it was made */
static const char *create(uct_predreg_core_t *core)
{
    uct_predreg_arena_params_t params;
    uct_predreg_arena_t *arena;
    ucs_status_t status;

    get_params(core, &params);
    if (params.size == 0) {
        return "it takes 4M that may be pinned, and less is allowed by "
               "UCX_RCACHE_PRED_MAX_PINNED, UCX_RCACHE_PRED_NODE_MAX_PINNED, "
               "the limit of locked memory (ulimit -l) or that of the control "
               "group";
    }

    if ((core->knobs.arena_keys == UCT_PREDREG_ARENA_KEYS_USE) &&
        !core->compat->tells_local) {
        return "UCX_RCACHE_PRED_ARENA_KEYS=use takes UCX 1.16 or later: of this "
               "one it would answer nothing";
    }

    status = uct_predreg_arena_create(&params, &arena);
    if (status != UCS_OK) {
        return (status == UCS_ERR_UNSUPPORTED) ?
                       "the kernel is too old (before 4.14)" :
                       "the system has no room for it";
    }

    status = start_events(core);
    if (status != UCS_OK) {
        uct_predreg_arena_destroy(arena);
        return "memory events of UCM are not available";
    }

    /* Release: see events.h */
    atomic_store_explicit(&events.arena, arena, memory_order_release);
    if (!uct_predreg_arena_events_arrive(&events)) {
        /* The arena is not destroyed: another thread's call may be under way in it */
        uct_predreg_arena_stop(arena, 0);
        return "calls of mmap() do not reach UCX's memory hooks, as when "
               "another library has replaced them";
    }

    return NULL;
}

/* @return the arena of this process; NULL: there is none */
static uct_predreg_arena_t *get_arena(void)
{
    /* Acquire: see events.h */
    return atomic_load_explicit(&events.arena, memory_order_acquire);
}

static const uct_predreg_answerer_t answerer;

static void domain_opened(uct_predreg_core_t *core, uct_predreg_domain_t *domain,
                          const char *component)
{
    uct_predreg_arena_t *arena;
    const char *reason;
    int number, is_safe;

    if ((core->knobs.arena == 0) || (domain->cache == NULL)) {
        return;
    }

    is_safe = is_safe_to_fork(component);
    if (!is_tried) {
        is_tried = 1;
        reason   = !is_safe ?
                   "children would lack its memory, as this kernel does not copy "
                   "registered memory for them" : create(core);
        is_made  = (reason == NULL);
        if (reason != NULL) {
            complain(&core->knobs, reason);
        }
    }

    if (!is_made || !is_safe) {
        return;
    }

    arena  = ucs_relaxed_load(&events.arena);
    number = uct_predreg_arena_add(arena, domain);
    if (number < 0) {
        ucs_debug("too many domains for the arena");
        return;
    }

    domain->answerer        = &answerer;
    domain->answerer_number = number;
    if (uct_predreg_arena_start(arena) != UCS_OK) {
        ucs_warn("the helper thread of the arena cannot start: it stays empty");
    }
}

static void domain_closing(uct_predreg_core_t *core, uct_predreg_domain_t *domain)
{
    if (domain->answerer == &answerer) {
        uct_predreg_arena_regs_remove(&get_arena()->regs, domain->answerer_number);
    }
}

/* Record an event of a use that the arena has answered; to be called only if there is a
 * trace. The address of the handle is the number of the region: the cache numbers its
 * regions from 1 on, and no handle has so low an address */
static void record(uct_predreg_domain_t *domain, ucs_rcache_pred_event_t *event,
                   uct_mem_h memh)
{
    const uct_predreg_observer_t *observer = domain->core->observer;

    event->time   = ucs_rcache_pred_thread_now(domain->core->thread);
    event->domain = domain->number;
    event->id     = (uintptr_t)memh;
    observer->super.event(observer->super.arg, event);
}

static int answer(uct_predreg_domain_t *domain, const void *address, size_t length,
                  unsigned flags, unsigned kind, uct_mem_h *memh_p)
{
    ucs_rcache_pred_event_t event = {
        .type    = UCS_RCACHE_PRED_EVENT_USE_BEGIN,
        .result  = UCS_RCACHE_PRED_RESULT_HIT | UCS_RCACHE_PRED_RESULT_KEPT,
        .kind    = kind,
        .flags   = flags,
        .address = (uintptr_t)address,
        .length  = length
    };

    if (!uct_predreg_arena_begin(get_arena(), domain->answerer_number, address, length,
                                 flags & UCT_MD_MEM_ACCESS_ALL, memh_p)) {
        return 0;
    }

    if (ucs_unlikely(domain->core->observer != NULL)) {
        uct_predreg_posted_get(address, &event.context);
        record(domain, &event, *memh_p);
    }
    return 1;
}

/* End a use, if the arena has answered the use. If UCP wants to end the peer's access,
 * the slab is deregistered when all uses in the slab have ended, since the peer has the
 * key of the whole slab */
static int
end_answered(uct_predreg_domain_t *domain, const uct_md_mem_dereg_params_t *params)
{
    ucs_rcache_pred_event_t event = {
        .type = UCS_RCACHE_PRED_EVENT_USE_END
    };

    if (!uct_predreg_arena_end(get_arena(), params->memh,
                               uct_predreg_is_invalidation(params))) {
        return 0;
    }

    if (ucs_unlikely(domain->core->observer != NULL)) {
        record(domain, &event, params->memh);
    }
    return 1;
}

static const uct_predreg_answerer_t answerer = {
    .begin = answer,
    .end   = end_answered
};

static int give_way(uct_predreg_core_t *core)
{
    uct_predreg_arena_t *arena = get_arena();

    return (arena != NULL) && uct_predreg_arena_give_way(arena);
}

static void stop(uct_predreg_core_t *core, uint64_t patience)
{
    uct_predreg_arena_t *arena = get_arena();

    if (arena != NULL) {
        uct_predreg_arena_stop(arena, patience);
    }
}

static void fork_calm(uct_predreg_core_t *core)
{
    uct_predreg_arena_t *arena = get_arena();

    if (arena != NULL) {
        ucs_arena_before_fork(arena->served.arena);
    }
}

static void fork_parent(uct_predreg_core_t *core)
{
    uct_predreg_arena_t *arena = get_arena();

    if (arena != NULL) {
        ucs_arena_after_fork(arena->served.arena);
    }
}

static void fork_child(uct_predreg_core_t *core)
{
    /* The arena's memory, addresses and locks stay as they were before the fork: the
     * child owns the memory, and may unmap it */
    atomic_init(&events.arena, NULL);
    is_tried = 0;
    is_made  = 0;
}

static void count(uct_predreg_core_t *core, ucs_rcache_pred_snapshot_t *snapshot)
{
    uct_predreg_arena_t *arena = get_arena();
    ucs_arena_stats_t stats;

    if (arena != NULL) {
        ucs_arena_stats_get(arena->served.arena, &stats);
        snapshot->arena_answered  = stats.answered;
        snapshot->arena_committed = stats.committed;
        snapshot->arena_live      = stats.live;
        snapshot->arena_refused   = stats.refused + stats.too_large;
        snapshot->arena_zero      = ucs_relaxed_load(&arena->zero_time);
    }
}

static int alter(const void *address, size_t length, int prot)
{
    int error = inner_alter(address, length, prot);

    return (error != 0) ? error :
                          uct_predreg_arena_events_alter(&events, address, length);
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t status)
{
    if (core->knobs.arena == 0) {
        return;
    }

    if (core->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        ucs_warn("there is no arena under the policy leave-pinned: " VARIABLE
                 " is ignored");
        return;
    }

    inner_alter  = hooks->alter;
    hooks->alter = alter;
}

const uct_predreg_addon_t uct_predreg_arena_addon = {
    .start          = start,
    .stop           = stop,
    .domain_opened  = domain_opened,
    .domain_closing = domain_closing,
    .give_way       = give_way,
    .fork_calm      = fork_calm,
    .fork_parent    = fork_parent,
    .fork_child     = fork_child,
    .count          = count
};
