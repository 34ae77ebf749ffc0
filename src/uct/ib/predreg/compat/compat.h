/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMPAT_H_
#define UCT_PREDREG_COMPAT_H_

#include "ucx_api.h"

#include <uct/ib/predreg/status/aside.h>

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

/** @file compat.h
 *
 * Every fact that depends on the version of UCX, in one table of facts and operations.
 * Each known range of versions is a column. The core chooses its column once, when it is
 * loaded, by the UCX of the process and not by the UCX of the build; nothing else names
 * a version. The columns are in columns.c; declarations that distributions do not
 * install are in ucx_api.h, and the layouts of UCS are in config_table.h and rcache.h.
 *
 * Uses UCX's headers only. Everything is constant, so any thread may read all of it.
 */

BEGIN_C_DECLS

/** Purpose of a registration. The function of UCP around the registration tells the
 *  purpose. */
typedef enum {
    UCT_PREDREG_PURPOSE_UNKNOWN,   /**< The program called UCP by an address, past this
                                        library: the purpose may be any of those below */
    UCT_PREDREG_PURPOSE_MESSAGE,   /**< Data of a message, which may move piece
                                        by piece */
    UCT_PREDREG_PURPOSE_SEND,      /**< Data of a send. UCP can copy the data instead, so
                                        pieces are the last resort */
    UCT_PREDREG_PURPOSE_ONE_SIDED, /**< Local data of a put or get. Pieces are the last
                                        resort, since all data must be in the send queue
                                        before a fence that follows */
    UCT_PREDREG_PURPOSE_MAPPED,    /**< Peers access the memory at any time: all memory
                                        has to be registered */
    UCT_PREDREG_PURPOSE_POOL,      /**< A pool of UCX, which has allocated the
                                        memory for itself just before */
    UCT_PREDREG_PURPOSE_OPTIONAL,  /**< An add-on registers a buffer, and can do without
                                        the registration */
    UCT_PREDREG_PURPOSE_WHOLE,     /**< All local data of a put or get, of which UCP
                                        registers each part: the library registers all
                                        data in place of one part. If this is refused, the
                                        library registers the part alone */
    UCT_PREDREG_PURPOSE_PINNED,    /**< As MAPPED, but the caller, such as Firehose, decides
                                        how long the memory stays pinned */
    UCT_PREDREG_PURPOSE_WINDOW     /**< As MAPPED, but managed domains register only a
                                        page of the memory. The preloaded library tells
                                        the core MAPPED */
} uct_predreg_purpose_t;


/** Ways to treat a registration of UCP. */
typedef enum {
    UCT_PREDREG_MAY_PASS,        /**< Pass the registration on to UCX, unmanaged */
    UCT_PREDREG_MAY_PASS_POOL,   /**< As MAY_PASS; the memory is a pool that UCX
                                      keeps for itself */
    UCT_PREDREG_MAY_KEEP,        /**< Register once, and keep the registration until the
                                      memory is freed: nothing is pinned
                                      (UCX_REG_NONBLOCK_MEM_TYPES) */
    UCT_PREDREG_MAY_REFUSE,      /**< Register as a whole or refuse: UCP then
                                      goes another way by itself */
    UCT_PREDREG_MUST_WHOLE,      /**< Register as a whole: if the library refuses, UCP's
                                      operation fails */
    UCT_PREDREG_MAY_PIECES,      /**< Register as a whole or in pieces */
    UCT_PREDREG_MAY_LAST_RESORT, /**< As MAY_PIECES, but in pieces only if the whole
                                      does not fit */
    UCT_PREDREG_MAY_KEYLESS,     /**< Register as a whole. If the memory does not fit,
                                      give UCP a key that leads nowhere (packed_key.h),
                                      with which UCP goes another way; a refusal would
                                      make UCP's operation fail */
    UCT_PREDREG_MAY_LAST
} uct_predreg_may_t;


/** A setting of UCX for this library to read or change. The user's variable for a setting of
 *  UCP is UCX_ and the name of the setting. For a setting of a component, the component's
 *  name in upper case and "_" stand between UCX_ and the name. */
typedef struct uct_predreg_setting {
    const char *name;          /**< Its name in a configuration; NULL: this
                                    version has no such setting */
    const char *default_value;
    const char *off;           /**< The value that switches the setting off */
    uct_predreg_aside_t kept;  /**< Why this library steps aside if the user has set
                                    another value than off */
} uct_predreg_setting_t;


/** What the core needs to know of a memory domain. */
typedef struct uct_predreg_md_facts {
    char component[UCT_COMPONENT_NAME_MAX]; /**< Name of its component */
    int  can_register;      /**< Whether the domain registers memory, and its transports
                                 need the handles. Other domains may give all memory
                                 the same handle */
    int  has_devices;       /**< Whether the domain knows memory of devices besides
                                 memory of the host */
} uct_predreg_md_facts_t;


typedef struct uct_predreg_compat {
    /* The versions of these facts: 1.first_minor to 1.last_minor */
    unsigned              first_minor;
    unsigned              last_minor;

    /** The caches of memory domains. The first setting of the list that a component has
     *  is the setting of its cache: uct_config_get() of later ones may find another setting
     *  whose name begins with the wanted name. An entry with the name NULL ends the
     *  list. */
    const uct_predreg_setting_t *md_caches;

    /** The setting for how often a domain repeats a registration that fails with EAGAIN,
     *  in versions that repeat it without end by default: the value "off" is a finite
     *  number. The name is NULL in versions whose default is finite. */
    uct_predreg_setting_t reg_retry;

    /** Whether UCP's own cache, while it is switched on, answers uses without calling this
     *  library */
    int                   ucp_cache_hides_uses;

    /** Components whose registrations are expensive, and whose domains have no cache but
     *  UCP's. If UCP's cache is switched off, and a domain of such a component is not
     *  managed, the library keeps its registrations. NULL ends the list. */
    const char            *const *kept_components;

    /** The setting by which UCP chooses its protocols by its cost model, or does not */
    uct_predreg_setting_t proto;

    /** Whether UCP, if it chooses its protocols by its cost model, may try for ever to
     *  let a pool grow although the limit of locked memory leaves no room */
    int                   proto_starves_pools;

    /** Whether UCP's completion of an invalidation must be called before the
     *  deregistration returns: the completion is on the stack of UCP's calling
     *  function */
    int                   waits_for_invalidation;

    /** Cost of a registration that UCX's own cache answers, seconds. This library reports
     *  the same cost for a hit in its cache, so that UCP chooses the same protocols as
     *  without this library. */
    double                hit_cost;

    /** Where UCM's event of mremap() has the target address of the move, bytes from the
     *  start of the event; 0: nowhere. */
    size_t                mremap_target_offset;

    /** Whether the flags of a registration show if no peer needs access. */
    int                   tells_local;

    /** What may be done with a registration, given its flags and its purpose. */
    uct_predreg_may_t     (*may)(unsigned flags, uct_predreg_purpose_t purpose);

    /** Register memory of the host with UCX. */
    ucs_status_t          (*mem_reg)(const uct_predreg_real_t *real,
                                     uct_md_h md, void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

    /** Where uct_md_attr_v2_t has the cost of a registration, bytes from its start; and
     *  the bit of its mask that asks for the cost, 0 in versions without the
     *  structure. */
    size_t                reg_cost_offset;
    uint64_t              reg_cost_field;
} uct_predreg_compat_t;


/*
 * Facts that are the same in all versions that are known here.
 */

/** Priority at UCM with which a handler of memory events is called after UCX's own
 *  handlers, which have 1000 or less. */
#define UCT_PREDREG_VM_EVENT_PRIORITY 1500

/** The setting of UCP's cache. */
extern const uct_predreg_setting_t uct_predreg_ucp_cache;

/** Ask a memory domain about itself. */
ucs_status_t uct_predreg_compat_md_facts(const uct_predreg_real_t *real, uct_md_h md,
                                         uct_predreg_md_facts_t *facts);

/**
 * The meaning of a failed registration.
 *
 * @param [in] status  UCX's status.
 * @param [in] error   errno, set to 0 before.
 * @return UCS_ERR_NO_MEMORY if there may be no room for the registration, else status.
 */
ucs_status_t uct_predreg_compat_reg_error(ucs_status_t status, int error);


/** All columns, in the order of their versions; NULL ends the list. */
extern const uct_predreg_compat_t *const uct_predreg_compat_columns[];

/**
 * Find the column of a version.
 *
 * @return NULL if the version is not known.
 */
const uct_predreg_compat_t *uct_predreg_compat_select(unsigned major,
                                                      unsigned minor);

/**
 * Find the column of the UCX in this process.
 *
 * @param [in]  real    The functions of the UCX; NULL for each function that it lacks.
 * @param [out] reason  If there is no column, filled with the reason, in words that may
 *                      follow "because".
 * @param [in]  max     Size of the reason, bytes.
 * @return NULL if the version is not known or cannot be told: of versions later than
 *         1.13, only UCP can tell.
 */
const uct_predreg_compat_t *
uct_predreg_compat_find(const uct_predreg_real_t *real, char *reason,
                        size_t max);

/**
 * Read a request for a registration through the second interface.
 *
 * @param [out] flags_p  Filled with the flags of a registration of the host's memory.
 * @return whether the request has flags and nothing else. The cache manages no other
 *         registrations, such as registrations of a dmabuf.
 */
static UCS_F_ALWAYS_INLINE int
uct_predreg_compat_read_params(const uct_md_mem_reg_params_t *params,
                               unsigned *flags_p)
{
    uint64_t mask = params->field_mask;

    if (ucs_unlikely(mask & ~(uint64_t)(UCT_MD_MEM_REG_FIELD_FLAGS |
                                        UCT_MD_MEM_REG_FIELD_MEM_TYPE))) {
        return 0;
    }

    if (ucs_unlikely((mask & UCT_MD_MEM_REG_FIELD_MEM_TYPE) &&
                     (params->mem_type != UCS_MEMORY_TYPE_HOST))) {
        return 0;
    }

    *flags_p = (mask & UCT_MD_MEM_REG_FIELD_FLAGS) ? params->flags : 0;
    return !(mask & UCT_MD_MEM_REG_FIELD_FLAGS) ||
           (params->flags == *flags_p);
}

/**
 * @return whether a request that uct_predreg_compat_read_params() does not accept is for
 *         memory of a device, which stays registered (md/kept.c) as in UCP's own cache: the
 *         request has a dmabuf or names the type of the memory, and its flags ask for
 *         access only.
 */
int uct_predreg_compat_is_of_device(const uct_md_mem_reg_params_t *params);

/** Copy the request for a registration. Fields that the caller's version of UCX lacks are
 *  not read: up to 1.21 the structure ends before the last field. */
void uct_predreg_compat_copy_params(const uct_md_mem_reg_params_t *params,
                                    uct_md_mem_reg_params_t *copy);

/** Write a cost that does not depend on the length, seconds, into the attributes
 *  of a domain. */
void uct_predreg_compat_set_reg_cost(uct_md_attr_t *attr, double cost);

/** As uct_predreg_compat_set_reg_cost(), into the attributes of the second interface, if
 *  the caller of the query has asked for the cost. */
void uct_predreg_compat_set_reg_cost_v2(const uct_predreg_compat_t *compat,
                                        uct_md_attr_v2_t *attr, double cost);


/* Settings of UCP, which has no function for reading one: UCP prints a configuration, and the
 * functions below search the text. */

/** @return the text of all settings, to be freed; NULL: there is no memory. */
char *uct_predreg_ucp_settings(const uct_predreg_real_t *real,
                               const ucp_config_t *config);

/**
 * @param [in]  text   The text of all settings; NULL: there are none.
 * @param [in]  name   Name of the setting, without UCX_.
 * @param [out] value  Filled with the value as text.
 * @return whether the configuration has this setting.
 */
int uct_predreg_ucp_settings_find(const char *text, const char *name,
                                  char *value, size_t max);

/** Find one setting of a configuration, as uct_predreg_ucp_settings_find(). */
int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max);

END_C_DECLS

#endif
