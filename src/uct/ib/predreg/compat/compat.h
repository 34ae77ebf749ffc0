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
 * Every fact that depends on the version of UCX, in one table of facts and
 * operations. Each known range of versions is a column. The core chooses its
 * column once, when it is loaded, by the UCX that is in the process and not by
 * the one that it was compiled for; nothing else names a version. The columns
 * are in columns.c; declarations that distributions do not install are in
 * ucx_api.h, and the layouts of UCS are in config_table.h and rcache.h.
 *
 * Uses UCX's headers only. Everything is constant, so any thread may read it.
 */

BEGIN_C_DECLS

/** What memory is registered for. The function of UCP that the thread is in
 *  tells it. */
typedef enum {
    UCT_PREDREG_PURPOSE_UNKNOWN,   /**< UCP was called past this library, by an
                                        address of its function. It may be any
                                        of the following */
    UCT_PREDREG_PURPOSE_MESSAGE,   /**< Data of a message, which may move piece
                                        by piece */
    UCT_PREDREG_PURPOSE_SEND,      /**< Data of a send, which UCP can copy
                                        instead: it is registered in pieces only
                                        if there is no other way */
    UCT_PREDREG_PURPOSE_ONE_SIDED, /**< Local data of a put or get: all of it
                                        must be in the send queue before a fence
                                        that follows */
    UCT_PREDREG_PURPOSE_MAPPED,    /**< Peers access it at any time: all of it
                                        has to be registered */
    UCT_PREDREG_PURPOSE_POOL,      /**< A pool of UCX, which has allocated the
                                        memory for itself just before */
    UCT_PREDREG_PURPOSE_HOT,       /**< This library registers a small buffer
                                        that is sent again and again. It can do
                                        without */
    UCT_PREDREG_PURPOSE_WHOLE,     /**< Local data of a put or get that goes in
                                        parts, each of which UCP registers: all
                                        of it in place of one part. The part
                                        does as well */
    UCT_PREDREG_PURPOSE_FIREHOSE,  /**< As MAPPED, by libucp_firehose.so, which
                                        decides when it ends */
    UCT_PREDREG_PURPOSE_WINDOW     /**< As MAPPED, of memory that goes through
                                        Firehose: managed domains get a page of
                                        it. The core is told MAPPED */
} uct_predreg_purpose_t;


/** What may be done with a registration that UCP asks for. */
typedef enum {
    UCT_PREDREG_MAY_PASS,        /**< Pass it on to UCX: this library does not
                                      manage it */
    UCT_PREDREG_MAY_PASS_POOL,   /**< As PASS; the memory is a pool that UCX
                                      keeps for itself */
    UCT_PREDREG_MAY_KEEP,        /**< Register once, and keep it until it is
                                      freed: that pins nothing
                                      (UCX_REG_NONBLOCK_MEM_TYPES) */
    UCT_PREDREG_MAY_REFUSE,      /**< Register as a whole or refuse: UCP then
                                      goes another way by itself */
    UCT_PREDREG_MUST_WHOLE,      /**< Register as a whole: if it is refused the
                                      operation fails */
    UCT_PREDREG_MAY_PIECES,      /**< Register as a whole or in pieces */
    UCT_PREDREG_MAY_LAST_RESORT, /**< As PIECES, but in pieces only if the whole
                                      does not fit */
    UCT_PREDREG_MAY_KEYLESS,     /**< Register as a whole; if it does not fit, a
                                      key that leads nowhere has UCP go another
                                      way (packed_key.h), which a refusal does
                                      not */
    UCT_PREDREG_MAY_LAST
} uct_predreg_may_t;


/** A setting of UCX that this library reads or changes. */
typedef struct uct_predreg_setting {
    const char *name;          /**< Its name in a configuration; NULL: this
                                    version has no such setting */
    const char *default_value;
    const char *off;           /**< The value that switches it off */
    uct_predreg_aside_t kept;  /**< Why this library steps aside if it has any other
                                    value */
} uct_predreg_setting_t;


/** What the core needs to know of a memory domain. */
typedef struct uct_predreg_md_facts {
    char component[UCT_COMPONENT_NAME_MAX]; /**< Name of its component */
    int  can_register;      /**< Whether it registers memory, and its transports
                                 need the handles. Others may give all memory
                                 the same handle */
    int  has_devices;       /**< Whether it knows memory of devices besides that
                                 of the host */
} uct_predreg_md_facts_t;


typedef struct uct_predreg_compat {
    /* The versions that these facts are true of: major.first_minor to
     * major.last_minor */
    unsigned              major;
    unsigned              first_minor;
    unsigned              last_minor;

    /* UCX's own registration caches. The user's variable for a setting of UCP
     * is its name after UCX_; for a setting of a component, the component's name
     * in upper case and "_" are between the two. */
    uct_predreg_setting_t ucp_cache; /**< The cache of UCP */
    /** The caches of memory domains. The first of these settings that a
     *  component has is that of its cache: uct_config_get() of later ones may
     *  find a setting whose name only begins so. An entry whose name is NULL
     *  ends the list. */
    const uct_predreg_setting_t *md_caches;

    /** How often a domain registers memory again while the system says EAGAIN, if that is
     *  without end: "off" is a number. The name is NULL if there is an end. */
    uct_predreg_setting_t reg_retry;

    /** Whether UCP's cache, where it is on, answers uses without a call that
     *  this library sees */
    int                   ucp_cache_hides_uses;

    /** Components whose domains have no cache but UCP's, and whose registrations
     *  are dear: what they register is kept where UCP's cache is switched off,
     *  if they are not managed. NULL ends the list. */
    const char            *const *kept_components;

    /** The setting that has UCP choose its protocols by its cost model */
    uct_predreg_setting_t proto;

    /** Whether UCP may ask for ever for more of a pool than the limit of locked
     *  memory leaves, if it chooses its protocols by its cost model */
    int                   proto_starves_pools;

    /** Whether UCP waits in a deregistration for its invalidation: the
     *  completion is gone when the deregistration has returned */
    int                   waits_for_invalidation;

    /** Cost of a registration that UCX's own cache answers, seconds. This
     *  library reports the same cost for a hit in its cache, so that UCP
     *  chooses the same protocols as it does without this library. */
    double                hit_cost;

    /** Flag of a registration whose failure is not to be logged, because UCP
     *  can do without it. */
    unsigned              quiet_flag;

    /** Priority of a handler of memory events at UCM that is called after UCX's
     *  own. */
    int                   vm_event_priority;

    /** Where UCM's event of mremap() has the address that memory is to be moved
     *  to, bytes from its start; 0: it has not. */
    size_t                mremap_target_offset;

    /** Whether the flags of a registration tell that no peer needs access. */
    int                   tells_local;

    /** What may be done with a registration, given its flags. */
    uct_predreg_may_t     (*may)(unsigned flags, uct_predreg_purpose_t purpose);

    /** Ask a memory domain about itself. */
    ucs_status_t          (*md_facts)(const uct_predreg_real_t *real,
                                      uct_md_h md,
                                      uct_predreg_md_facts_t *facts);

    /** Register memory of the host with UCX. */
    ucs_status_t          (*mem_reg)(const uct_predreg_real_t *real,
                                     uct_md_h md, void *address, size_t length,
                                     unsigned flags, uct_mem_h *memh_p);

    /** Where uct_md_attr_v2_t has the cost of a registration, bytes from its
     *  start, and the bit of its mask that says whether that is asked for; 0:
     *  this version has no such structure. */
    size_t                reg_cost_offset;
    uint64_t              reg_cost_field;

    /**
     * What a failed registration means.
     *
     * @param [in] status  What UCX returned.
     * @param [in] error   errno, which was 0 before.
     * @return UCS_ERR_NO_MEMORY if there may be no room for it, else status.
     */
    ucs_status_t          (*reg_error)(ucs_status_t status, int error);
} uct_predreg_compat_t;


/** All columns, in the order of their versions; NULL ends them. */
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
 * @param [in]  real    Its functions; those that it lacks are NULL.
 * @param [out] reason  Filled with the reason if there is none, in words that
 *                      may follow "because".
 * @param [in]  max     Size of the reason, bytes.
 * @return NULL if the version is not known or cannot be told, which of versions
 *         later than 1.13 only UCP can.
 */
const uct_predreg_compat_t *
uct_predreg_compat_find(const uct_predreg_real_t *real, char *reason,
                        size_t max);

/**
 * Read what a registration through the second interface asks for.
 *
 * @param [out] flags_p  Filled with its flags, if it is of the host's memory.
 * @return whether it asks for nothing else than flags. The cache manages no other
 *         registrations, such as those of a dmabuf.
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
 * @return whether a registration of which the above returns 0 is one of memory of
 *         a device that UCP's cache would keep: it is of a dmabuf or names the type
 *         of the memory, and asks for access only.
 */
int uct_predreg_compat_is_of_device(const uct_md_mem_reg_params_t *params);

/** Copy what a registration asks for: the structure of UCX up to 1.21 ends before
 *  the last field. */
void uct_predreg_compat_copy_params(const uct_md_mem_reg_params_t *params,
                                    uct_md_mem_reg_params_t *copy);

/** Write a cost that does not depend on the length, seconds, into the attributes
 *  of a domain. */
void uct_predreg_compat_set_reg_cost(uct_md_attr_t *attr, double cost);

/** As uct_predreg_compat_set_reg_cost(), into those of the second interface, if
 *  the cost was asked for. */
void uct_predreg_compat_set_reg_cost_v2(const uct_predreg_compat_t *compat,
                                        uct_md_attr_v2_t *attr, double cost);


/* Settings of UCP, which has no function for reading one: UCP prints a configuration, and the
 * functions below search the text. */

/** @return the text of all settings, to be freed; NULL: there is no memory. */
char *uct_predreg_ucp_settings(const uct_predreg_real_t *real,
                               const ucp_config_t *config);

/**
 * @param [in]  text   That of all settings; NULL: there are none.
 * @param [in]  name   Name of the setting, without UCX_.
 * @param [out] value  Filled with the value as text.
 * @return whether the configuration has this setting.
 */
int uct_predreg_ucp_settings_find(const char *text, const char *name,
                                  char *value, size_t max);

/** Find one setting of a configuration, as above. */
int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max);

END_C_DECLS

#endif
