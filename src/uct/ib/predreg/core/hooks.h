/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_HOOKS_H_
#define UCT_PREDREG_HOOKS_H_

#include "comm.h"
#include "types.h"

#include <ucs/rcache_pred/api/event.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/compat/compat.h>

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file hooks.h
 *
 * The interface between the two libraries of the interposition:
 *
 * libuct_predreg.so is preloaded into every process of a job. The library defines the
 * overridden functions and needs no library of UCX: a process without UCX gets none, and
 * a process with UCX keeps its own.
 *
 * libuct_predreg_core.so does the work. The first call of an overridden function loads
 * the core next to UCX.
 */

/** The core's function for its start. The number at the end is raised when a structure
 *  that both libraries use changes: if one library does not find the other with its own
 *  number, the library says so, and steps aside. */
#define UCT_PREDREG_CORE_INIT "uct_predreg_core_init_16"

/** The core's function for tools, see status/aside.h. */
#define UCT_PREDREG_CORE_STATUS "uct_predreg_core_status"

/** The entry points do not tell the core of communications shorter than this, bytes: no
 *  protocol of UCP registers memory for a shorter one, and telling the core would make
 *  small messages slower. */
#define UCT_PREDREG_MIN_LENGTH 4096

/** Shortest and longest message that may go without a copy although its protocol
 *  is an eager one, bytes. Adapters take shorter ones into their send queue with
 *  the processor (rc_mlx5 up to some 220 bytes), where no copy is to be saved;
 *  longer ones go by rendezvous. A unit test compares the second number with
 *  UCS_REUSE_MAX_LENGTH. */
#define UCT_PREDREG_SEND_MIN 256
#define UCT_PREDREG_SEND_MAX 8192


struct predreg_windows;     /* See ucp/windows/preload.h, as the next one */
struct predreg_windows_env;

/** Facts about a context of UCP in the making. */
typedef struct uct_predreg_making {
    size_t min_length;   /**< Shortest message to look at, bytes; 0: the context is left
                              alone */
    size_t max_length;   /**< Longest message to look at, bytes */
    int    is_changed;   /**< Whether the configuration was changed */
    int    flag_decides; /**< Whether UCP chooses between the copy and zero-copy of
                              a send by tag by UCP_OP_ATTR_FLAG_FAST_CMPL, not by
                              its cost model */
    int    has_rma;      /**< Whether the context is for puts and gets as well, which are to
                              go as without the change of the configuration */
} uct_predreg_making_t;


/** The actions of the core in place of, or in addition to, overridden functions. */
typedef struct uct_predreg_hooks {
    /** A configuration of UCP was read, or is about to be used for a context. The
     *  functions of UCP in @a real are resolved. */
    void         (*ucp_config)(const uct_predreg_real_t *real,
                               ucp_config_t *config);

    /** A configuration of the memory domains of a component was read. */
    void         (*md_config)(uct_component_h component,
                              uct_md_config_t *config);

    /** A configuration of a transport was read. NULL if nobody changes it. */
    void         (*iface_config)(const char *transport,
                                 uct_iface_config_t *config);

    /** UCX has allocated memory in this thread, and may register it next. @a name: what
     *  UCX calls the memory's owner, such as a pool. */
    void         (*allocated)(const void *address, const char *name);

    /** A memory domain was opened. @a count: the number of domains opened by UCP for the
     *  same context so far, the present one included; 0: unknown. */
    void         (*md_opened)(uct_md_h md, const char *name, unsigned count);

    /** A memory domain is about to be closed. */
    void         (*md_closing)(uct_md_h md);

    /** A memory domain was queried. */
    void         (*md_query)(uct_md_h md, uct_md_attr_t *attr);

    /** A memory domain was queried through UCT's second interface. */
    void         (*md_query_v2)(uct_md_h md, uct_md_attr_v2_t *attr);

    /** A transport interface was opened on a memory domain. */
    void         (*iface_opened)(uct_md_h md, uct_worker_h worker,
                                 uct_iface_h iface);

    ucs_status_t (*mem_reg)(uct_md_h md, void *address, size_t length,
                            unsigned flags, uct_predreg_purpose_t purpose,
                            uct_mem_h *memh_p);

    /** Memory is to be registered, and the request has more than flags, such as a
     *  dmabuf. */
    ucs_status_t (*device_mem_reg)(uct_md_h md, void *address, size_t length,
                                   const uct_md_mem_reg_params_t *params,
                                   uct_predreg_purpose_t purpose,
                                   uct_mem_h *memh_p);

    ucs_status_t (*mem_dereg)(uct_md_h md,
                              const uct_md_mem_dereg_params_t *params);

    /** A key is about to be packed for the peer. @return UCS_OK: the caller packs the
     *  key, and calls md_leave afterwards; an error: the caller packs no key, and the
     *  core has logged the reason. */
    ucs_status_t (*mkey_begin)(uct_md_h md, uct_mem_h memh);

    /** Pack a key, or a domain's part of one, through UCT's second interface.
     *  @a args: the four arguments that follow the handle. @a is_ucp: whether
     *  UCP packs the key into a message or buffer for a peer. */
    ucs_status_t (*mkey_pack_v2)(uct_md_h md, uct_mem_h memh,
                                 const uintptr_t *args, int is_ucp);

    /** Called before a function of a domain that must not run beside registrations; the
     *  caller calls md_leave after the function. A thread may enter again what it has
     *  entered. */
    void         (*md_enter)(uct_md_h md);

    /** The caller of md_enter or mkey_begin is done: the domain's function has
     *  returned. */
    void         (*md_leave)(uct_md_h md);

    /** Before UCP destroys a worker, together with all its registrations. */
    void         (*closing)(ucp_worker_h worker);

    /** @return whether the program may sleep until UCX's next event; 0: ucp_worker_arm()
     *  returns UCS_ERR_BUSY, so the program calls the progress function again. */
    int          (*may_sleep)(void);

    /** The progress function of UCP found nothing to do, so the program waits. @a
     *  sender_p: as in send(). @a idle belongs to the thread, and says of how many of the
     *  thread's next waits the core need not be told. */
    void         (*idle)(uct_predreg_sender_t **sender_p,
                         ucs_rcache_pred_idle_t *idle, ucp_worker_h worker);

    /** Before the program changes the rights to memory, or locks memory, by a call
     *  without an event of UCM. In memory hooks. NULL if nobody needs to know. @a prot:
     *  the new rights, as of mprotect(); -1: the present ones. @return an error of the
     *  system for the call to fail with; 0: none. */
    int          (*alter)(const void *address, size_t length, int prot);

    /** Before the thread issues a communication. */
    void         (*comm)(uct_predreg_issuer_t *issuer,
                         const uct_predreg_comm_t *comm);

    /** @return the functions of libucp_windows.so, which the first call loads, if memory
     *  windows are to go through Firehose (UCX_RCACHE_PRED_WINDOWS), because the library
     *  decides how long memory stays pinned; else NULL. @a env is the same in each call. This
     *  hook and the two hooks of Firehose below are NULL if the library was built without
     *  Firehose. */
    const struct predreg_windows *
                 (*windows)(const struct predreg_windows_env *env);

    /** @return whether the library decides how long a domain pins the memory: the domain
     *  is managed, and the memory is no device's. @a address: NULL asks about the domain
     *  alone. */
    int          (*is_managed)(uct_md_h md, const void *address, size_t length);

    /** @return how much Firehose may ever pin in a context with @a domains managed domains,
     *          bytes; see firehose/preload/firehose.h. 0: that is not known. */
    uint64_t     (*firehose_room)(unsigned domains);

    /** Count further requests to Firehose, and the hits among them; see
     *  firehose/preload/firehose.h. */
    void         (*firehose_count)(uint64_t requests, uint64_t hits);

    /* The hooks from here on are called only if send is not NULL: then small sends are
     * looked at (UCX_RCACHE_PRED_EAGER) */

    /**
     * Before the thread sends a message of bytes in a row, UCT_PREDREG_SEND_MIN to
     * UCT_PREDREG_SEND_MAX bytes long, by a call with request parameters.
     *
     * @param [inout] sender_p  What the thread remembers of its sends; NULL at first.
     * @param [inout] send  The changes.
     *
     * @return the kinds of changes, UCT_PREDREG_SEND_*; 0: UCP gets the call unchanged.
     */
    unsigned     (*send)(uct_predreg_sender_t **sender_p, ucp_ep_h ep,
                         const void *buffer, size_t length,
                         const ucp_request_param_t *param,
                         uct_predreg_send_t *send);

    /** UCP has returned from a send with UCT_PREDREG_SEND_HOT. This hook, cleaning,
     *  worker_making and iface_query are NULL if small sends are only counted. */
    void         (*sent)(uct_predreg_sender_t *sender,
                         const uct_predreg_send_t *send, size_t length,
                         ucs_status_ptr_t result);

    /** The program frees a request that is not complete. NULL if small sends are only
     *  counted. @return whether the caller has to release the request instead of freeing
     *  it: at the end of the send UCP then still calls the core's callback, and the core
     *  does not call the program's. */
    int          (*freeing)(void *request);

    /** A context of UCP is about to be made. The hook may change the
     *  configuration. The functions of UCP in @a real are resolved. */
    void         (*making)(const uct_predreg_real_t *real,
                           const ucp_params_t *params, ucp_config_t *config,
                           uct_predreg_making_t *making);

    /** UCP has made the context, or has failed: @a context is NULL. The hook undoes its
     *  change of the configuration. */
    void         (*made)(const uct_predreg_real_t *real,
                         const uct_predreg_making_t *making,
                         ucp_config_t *config, ucp_context_h context);

    /** A context is about to be cleaned up. */
    void         (*cleaning)(ucp_context_h context);

    /** Before the thread makes a worker. */
    void         (*worker_making)(ucp_context_h context);

    /** UCP has made the worker, or has failed: @a worker is NULL. */
    void         (*worker_made)(ucp_context_h context, ucp_worker_h worker);

    /** The attributes of an interface were queried. The hook may change them. */
    void         (*iface_query)(uct_iface_attr_t *attr);
} uct_predreg_hooks_t;


/**
 * @return the hooks; NULL if the core does not work beside the UCX of this process: the
 *         core has logged why.
 */
typedef const uct_predreg_hooks_t*
(*uct_predreg_core_init_func_t)(const uct_predreg_real_t *real);

END_C_DECLS

#endif
