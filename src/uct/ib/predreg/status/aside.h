/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ASIDE_H_
#define UCT_PREDREG_ASIDE_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file aside.h
 *
 * Why the library steps aside, i.e. leaves UCX to work as without the library: each
 * reason with its message in the log and an advice for the user. The preloaded library
 * and the core use this table, also for the answer to a tool in their process.
 */

#define UCT_PREDREG_ASIDE_ONE_UCX \
    "let the program use one UCX: look for a second libucs.so.0 in LD_LIBRARY_PATH"

/** Expands _f(NAME, message, advice) for each reason. The message has at most one %s, in
 *  place of which the library puts details of the case. */
#define UCT_PREDREG_ASIDE_REASONS(_f) \
    _f(RIGHTS, "this program has rights that its user lacks", \
       "run a copy of it without set-user-ID, set-group-ID and capabilities") \
    _f(OTHER_COPY, "%s", "take the other copy out of LD_PRELOAD") \
    _f(OTHER_UCX, "another UCX than that of libucs.so.0 was loaded for all to use", \
       UCT_PREDREG_ASIDE_ONE_UCX) \
    _f(FOREIGN, "%s does not belong to the UCX of libucs.so.0, which this library works " \
       "with", UCT_PREDREG_ASIDE_ONE_UCX) \
    _f(NO_FOLDER, "its folder was not found", \
       "install both libraries again, into one folder") \
    _f(NO_CORE, "cannot load %s", "install both libraries again, into one folder") \
    _f(OTHER_CORE, "%s belongs to another version", \
       "install both libraries again; they belong together") \
    _f(VERSION, "%s", "use another UCX, or a later ucx-predreg") \
    _f(KNOB, "a variable UCX_RCACHE_PRED_* has the value that was complained about above", \
       "correct the variable, or unset it") \
    _f(FORK, "cannot install fork handlers", \
       "look for what uses up the memory of this machine") \
    _f(EVENTS, "memory events of UCM are not available (%s); without them a buffer that " \
       "was unmapped would not be noticed", \
       "unset UCX_MEM_EVENTS and UCX_MEM_MMAP_HOOK_MODE, here and in ucx.conf") \
    _f(CACHE, "the cache cannot be set up: out of memory, or what was complained about " \
       "above", "see what else it complains about: other processes may have taken all of " \
       "a bound of the node") \
    _f(CACHE_ON, "%s keeps UCX's own cache on", \
       "unset the variable, here and in ucx.conf, or set it to n") \
    _f(NOT_DIRECT, "%s chooses other than direct registration", \
       "unset the variable, here and in ucx.conf, or set it to direct")

#define UCT_PREDREG_ASIDE_VALUE(_name, _message, _advice) UCT_PREDREG_ASIDE_##_name,

typedef enum {
    UCT_PREDREG_ASIDE_NONE, /**< The library does not step aside */
    UCT_PREDREG_ASIDE_REASONS(UCT_PREDREG_ASIDE_VALUE)
    UCT_PREDREG_ASIDE_LAST
} uct_predreg_aside_t;

/** Bytes of the longest message, with the zero at its end; longer messages are cut
 *  off. */
#define UCT_PREDREG_ASIDE_MAX 1024

/** Print the message of a reason.
 *  @param [in] detail  What stands in place of %s; NULL if there is none. */
void uct_predreg_aside_print(uct_predreg_aside_t reason, const char *detail,
                             char text[UCT_PREDREG_ASIDE_MAX]);

/** Called once for each fact. @a what: a word for the kind of the fact, such as "aside";
 *  @a value: the text of the fact. */
typedef void (*uct_predreg_tell_t)(void *arg, const char *what, const char *value);

/** Call @a tell for the name of a reason ("aside"), its message ("why") and the advice
 *  ("advice"); not at all for UCT_PREDREG_ASIDE_NONE. */
void uct_predreg_aside_tell(uct_predreg_aside_t reason, const char *message,
                            uct_predreg_tell_t tell, void *arg);


/*
 * What the preloaded library says of itself to a tool in its process, as the probe of
 * `ucx_predreg info` is. Such a tool finds the function by its name.
 */

/** Name of the function. */
#define UCT_PREDREG_STATUS "predreg_status"

/**
 * Tell what becomes of the UCX of this process:
 *
 *   aside REASON, why TEXT, advice TEXT   the library has stepped aside (aside.h)
 *   policy NAME       the core was started, with this policy in force
 *   managed DOMAIN    a memory domain that is open and managed, or watched under
 *                     leave-pinned; once for each
 *   settings TEXT     what was taken over from UCX's own caches
 *   lean TEXT         the processes on the node, and what became of the settings for
 *                     UCX's own pools
 *   pool KIND BYTES   the most that UCX's own pools of a kind (ucs_rcache_pred_pool_t)
 *                     had registered at a time
 *   pools NUMBER      the most registrations of UCX's own pools at a time
 *   small COSTS       what small sends cost (ucs/reuse/costs.h), under EAGER; once
 *                     for each context of UCP
 *
 * To be called while no other thread uses UCX.
 */
void predreg_status(uct_predreg_tell_t tell, void *arg);

typedef void (*uct_predreg_status_func_t)(uct_predreg_tell_t tell, void *arg);

END_C_DECLS

#endif
