/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucx.h"

#include <ucs/host/own_fd.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/status/aside.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#define CORE_LIBRARY "libuct_predreg_core.so"


static pthread_once_t start_once = PTHREAD_ONCE_INIT;

/* The UCX and the caller of the call that starts the core: pthread_once() gives
 * start_core() no argument. started_hooks: the hooks that start_core() got from the
 * core */
static __thread __attribute__((tls_model("initial-exec"))) struct {
    unsigned   ucx;
    const void *caller;
} starting;
static const uct_predreg_hooks_t *started_hooks;

static uct_predreg_real_t real;

/* The path of the core; empty: not found. Written by the constructor of this library, or
 * before, if the constructor of another library uses UCX: early, since the path of this
 * library may be relative to the working folder, and the program may change the
 * folder. */
static char core_path[PATH_MAX];

/* Why nothing of this process, or of one UCX in the process, is managed, and the message
 * about it. The thread that finds the reason writes both; a tool may ask for them
 * (aside.h) */
static uct_predreg_aside_t aside;
static char why_aside[UCT_PREDREG_ASIDE_MAX];

/* The core's function for tools; NULL: the core is not loaded. Written together with
 * core_init */
static uct_predreg_status_func_t core_status;

/* The core's function that starts the core; NULL: the core is not loaded. Written with
 * core_was_tried, by the constructor or by start_core(). */
static uct_predreg_core_init_func_t core_init;
static int core_was_tried;

/* Whether nothing of a UCX is managed because the core works with another UCX. Relaxed:
 * nothing is read through the flag, and threads that ask at the same time come to the
 * same answer */
static _Atomic(int) is_aside_for[PREDREG_MAX_UCX];

static void find_core_path(void)
{
    char library[PATH_MAX];
    char *slash;

    if ((core_path[0] != '\0') ||
        (realpath(predreg_library_name(core_path), library) == NULL)) {
        return;
    }

    slash = strrchr(library, '/');
    if (slash - library + sizeof("/" CORE_LIBRARY) <= sizeof(core_path)) {
        snprintf(core_path, sizeof(core_path), "%.*s/" CORE_LIBRARY,
                 (int)(slash - library), library);
    }
}

/* Find a function of the caller's UCX; NULL: this UCX lacks the function */
#define FIND(_name) found._name = predreg_lookup(caller, #_name);

/* Have nothing managed, and say why */
static void step_aside(uct_predreg_aside_t reason, const char *detail)
{
    aside = reason;
    uct_predreg_aside_print(reason, detail, why_aside);
    PREDREG_COMPLAIN("stepping aside: %s", why_aside);
}

/* @return whether the core can work beside the version of a caller's UCX, or the caller has
 * no UCX yet. If not, this library has stepped aside. */
static int is_known_version(const void *caller)
{
    char reason[128];
    uct_predreg_real_t found;

    if ((predreg_lookup(caller, PREDREG_UCX_FUNCTION) == NULL) &&
        (predreg_lookup(caller, "ucp_get_version") == NULL)) {
        return 1;
    }

    memset(&found, 0, sizeof(found));
    found.ucp_get_version = predreg_lookup(caller, "ucp_get_version");
    UCT_PREDREG_REAL_UCT_SOME(FIND)
    if (uct_predreg_compat_find(&found, reason, sizeof(reason)) == NULL) {
        step_aside(UCT_PREDREG_ASIDE_VERSION, reason);
        return 0;
    }

    return 1;
}

/* @return an overriding function of another copy of the library, if the other copy comes
 * before the present one and so sees the calls of UCX; else NULL */
static const void *find_first_copy(void)
{
    const void *first = dlsym(RTLD_DEFAULT, PREDREG_UCX_FUNCTION);

    return ((first != NULL) && predreg_is_other_copy(first)) ? first : NULL;
}

/* @return whether the process can be managed at all, with any version of UCX. Else this
 * library has stepped aside. */
static int may_manage(void)
{
    const void *first = find_first_copy();
    char detail[UCT_PREDREG_ASIDE_MAX];

    /* The program has more rights than its user. The user has set the environment, and
     * its variables name files for the core to write */
    if (getauxval(AT_SECURE)) {
        step_aside(UCT_PREDREG_ASIDE_RIGHTS, NULL);
    } else if (first != NULL) {
        snprintf(detail, sizeof(detail), "%s was preloaded before %s",
                 predreg_library_name(first), predreg_library_name(core_path));
        step_aside(UCT_PREDREG_ASIDE_OTHER_COPY, detail);
    } else if (!predreg_is_bound_to(PREDREG_UCS_LIBRARY, PREDREG_UCS_FUNCTION)) {
        step_aside(UCT_PREDREG_ASIDE_OTHER_UCX, NULL);
    } else if (core_path[0] == '\0') {
        step_aside(UCT_PREDREG_ASIDE_NO_FOLDER, NULL);
    } else {
        return 1;
    }

    return 0;
}

/* Load the core, at the first call, into a process with a UCX that the core may work
 * with. The first call comes from the constructor of this library, or else from
 * start_core(), which only one thread runs: so there is no lock. */
static void load_core(const void *caller)
{
    char detail[2 * PATH_MAX];
    void *handle;

    if (core_was_tried) {
        return;
    }
    core_was_tried = 1;

    find_core_path();
    if (!may_manage() || !is_known_version(caller)) {
        return;
    }

    handle = dlopen(core_path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(detail, sizeof(detail), "%s: %s", core_path, dlerror());
        step_aside(UCT_PREDREG_ASIDE_NO_CORE, detail);
        return;
    }

    core_init   = (uct_predreg_core_init_func_t)dlsym(handle, UCT_PREDREG_CORE_INIT);
    core_status = (uct_predreg_status_func_t)dlsym(handle, UCT_PREDREG_CORE_STATUS);
    if (core_init == NULL) {
        step_aside(UCT_PREDREG_ASIDE_OTHER_CORE, CORE_LIBRARY);
        return;
    }
    ucs_relaxed_store(&predreg_core, (const void*)core_init);
}

PREDREG_EXPORT void predreg_status(uct_predreg_tell_t tell, void *arg)
{
    uct_predreg_aside_tell(aside, why_aside, tell, arg);
    if (core_status != NULL) {
        core_status(tell, arg);
    }
}

/* Find out where in memory UCP is, if it is loaded by now */
static void find_ucp(const void *caller)
{
    const void *function = predreg_lookup(caller, "ucp_get_version");
    predreg_range_t range;

    if (function == NULL) {
        return;
    }

    range = predreg_library_range(function);
    ucs_relaxed_store(&predreg_ucp_start, range.start);
    atomic_store_explicit(&predreg_ucp_end, range.end, memory_order_release);
}

#define RESOLVE(_name) \
    real._name = predreg_resolve(ucx, caller, #_name, &ignored);
#define RESOLVE_SOME(_name) \
    if (predreg_lookup(caller, #_name) != NULL) { \
        RESOLVE(_name) \
    }

const uct_predreg_real_t *predreg_real_ucp(unsigned ucx, const void *caller)
{
    _Atomic(void*) ignored;

    /* Threads that come here at the same time write the same addresses */
    UCT_PREDREG_REAL_UCP(RESOLVE)
    return &real;
}

static void start_core(void)
{
    const void *caller = starting.caller;
    unsigned ucx       = starting.ucx;
    _Atomic(void*) ignored;

    load_core(caller);
    if (core_init == NULL) {
        return;
    }

    UCT_PREDREG_REAL_UCT(RESOLVE)
    UCT_PREDREG_REAL_UCT_SOME(RESOLVE_SOME)
    if (predreg_lookup(caller, "ucp_get_version") != NULL) {
        predreg_real_ucp(ucx, caller);
    }
    started_hooks = core_init(&real);
    if (started_hooks != NULL) {
        atomic_store_explicit(&predreg_alter, started_hooks->alter,
                              memory_order_release);
    }
}

/* Manage nothing of a UCX, and say so once */
static void step_aside_for(unsigned ucx, const void *caller)
{
    const void *function;

    /* Relaxed: see is_aside_for */
    if (!atomic_exchange_explicit(&is_aside_for[ucx], 1, memory_order_relaxed)) {
        function = predreg_lookup(caller, PREDREG_UCX_FUNCTION);
        step_aside(UCT_PREDREG_ASIDE_FOREIGN,
                   predreg_library_name((function == NULL) ? caller : function));
    }
}

const uct_predreg_hooks_t *predreg_load(unsigned ucx, const void *caller)
{
    if (ucx == PREDREG_UCX_REST) {
        step_aside_for(ucx, caller);
        return NULL;
    }

    if (ucs_relaxed_load(&is_aside_for[ucx])) {
        return NULL;
    }

    if (predreg_hooks(ucx) == NULL) {
        if (!predreg_is_cores_ucx(caller)) {
            step_aside_for(ucx, caller);
            return NULL;
        }

        starting.ucx    = ucx;
        starting.caller = caller;
        pthread_once(&start_once, start_core);
        atomic_store_explicit(&predreg_hooks_of[ucx], started_hooks,
                              memory_order_release);
    }

    /* Relaxed: find_ucp() looks again */
    if (ucs_relaxed_load(&predreg_ucp_end) == NULL) {
        find_ucp(caller);
    }
    return predreg_hooks(ucx);
}


/* Have Open MPI leave UCX's memory hooks in place, for the arena and for a trace, which
 * need to know of mapped memory: Open MPI may replace the hooks by its own, which tell
 * UCX of unmapped memory only (opal/mca/common/ucx of Open MPI 4 and 5). A setting of the
 * user stays. Open MPI's hooks stay if the user has told UCX to have no hooks, since
 * nothing else would tell of unmapped memory; and if the user has told UCX to put its
 * hooks into the tables of libraries (reloc): without Open MPI's hooks, Open MPI 4.1
 * hangs in its start with UCX 1.13, which allocates memory in a hook */
static void keep_ucx_hooks(void)
{
    const char *arena = getenv("UCX_RCACHE_PRED_ARENA");
    const char *trace = getenv("UCX_RCACHE_PRED_TRACE");
    const char *mode  = getenv("UCX_MEM_MMAP_HOOK_MODE");
    int is_needed     = ((arena != NULL) && strcmp(arena, "0")) ||
                        ((trace != NULL) && (trace[0] != '\0'));

    if (is_needed && ((mode == NULL) || !strcasecmp(mode, "bistro"))) {
        setenv("OMPI_MCA_opal_common_ucx_opal_mem_hooks", "0", 0);
    }
}

/* If the program was linked with UCX, load the core at once, so that ucx_info
 * -c lists the knobs together with UCX's own settings */
UCS_F_CTOR static void predreg_constructor(void)
{
    find_core_path();
    keep_ucx_hooks();
    if (predreg_is_cores_ucx(NULL)) {
        load_core(NULL);
    }
}


/*
 * Says at exit that MPI has not used UCX, if a summary or a trace was asked for: a user
 * who finds neither would look for the reason. The core, which was not started, cannot
 * say it. Debian's Open MPI uses UCX only where the user tells it to.
 */


/* The process into which the library was loaded. A forked child says nothing at its
 * exit. */
static pid_t loaded_by;

/* Standard error at the time of loading: at exit the same descriptor may be a file of the
 * program, where the message must not go */
static ucs_rcache_pred_own_fd_t first_stderr;


/* @return whether a variable of the environment is set, and neither empty nor "none" */
static int is_set(const char *name)
{
    const char *value = getenv(name);

    return (value != NULL) && (value[0] != '\0') && strcmp(value, "none");
}

/* @return whether MPI was started in this process. MPI answers at any time, also after
 *         its end, and each MPI has the same function for the answer */
static int is_mpi_started(void)
{
    int (*initialized)(int*) = (int (*)(int*))dlsym(RTLD_DEFAULT,
                                                    "PMPI_Initialized");
    int flag                 = 0;

    return (initialized != NULL) && (initialized(&flag) == 0) && flag;
}

UCS_F_CTOR static void predreg_unused_constructor(void)
{
    loaded_by = getpid();
    (void)ucs_rcache_pred_own_fd_init(&first_stderr, STDERR_FILENO);
}

UCS_F_DTOR static void predreg_unused_destructor(void)
{
    /* In a job only the first rank prints the message */
    if ((atomic_load(&predreg_num_ucx) > 0) || (getpid() != loaded_by) ||
        (uct_predreg_job_rank() > 0) ||
        (!is_set("UCX_RCACHE_PRED_SUMMARY") &&
         !is_set("UCX_RCACHE_PRED_TRACE")) ||
        !ucs_rcache_pred_own_fd_is_ours(&first_stderr) || (find_first_copy() != NULL) ||
        !is_mpi_started()) {
        return;
    }

    PREDREG_COMPLAIN("nothing to manage: MPI has not used UCX (Open MPI: "
                     "mpirun --mca pml ucx, or OMPI_MCA_pml=ucx, insists on it)");
}
