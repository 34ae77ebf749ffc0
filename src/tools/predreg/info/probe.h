/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_PROBE_H_
#define PREDREG_INFO_PROBE_H_

#include <ucs/reuse/costs.h>

#include <limits.h>

BEGIN_C_DECLS

/** @file probe.h
 *
 * Asks the probe (src/tools/probe), a program of its own that loads a UCX and
 * may crash or hang, and reads what it says; say.h there describes that. info.c
 * calls this. */

/** How long one start of the probe may take, ms. UCX alone needs some seconds
 *  with many devices. */
#define PREDREG_PROBE_TIMEOUT 60000

#define PREDREG_PROBE_TEXT    1024 /* Longer ones are cut off */

/** What a registration costs, measured with a buffer of so many bytes. */
typedef struct {
    unsigned long bytes;
    double        reg;   /**< Median, microseconds */
    double        dereg; /**< Likewise, of the deregistration */
    unsigned      count; /**< How often it was measured */
} predreg_probe_cost_t;

/** A memory domain. */
typedef struct {
    char                 component[32];
    char                 name[64];
    int                  registers; /**< Whether it registers memory */
    int                  needs_handles; /**< Whether its transports need that */
    char                 failure[PREDREG_PROBE_TEXT]; /**< Why it is not open;
                                                           empty: it was */
    predreg_probe_cost_t small;   /**< count is 0: not measured */
    predreg_probe_cost_t large;
    char                 no_cost[PREDREG_PROBE_TEXT]; /**< Why it was not, if
                                                           that was tried */
    int                  has_small; /**< Whether the next is valid */
    ucs_reuse_costs_t    costs;     /**< What small sends cost with it */
} predreg_probe_domain_t;

/** Libraries of UCX: UCM, UCS, UCT, UCP */
#define PREDREG_PROBE_LIBRARIES 4

/** What the probe has said. Texts are empty if it said nothing of that. */
typedef struct {
    char     stage[PREDREG_PROBE_TEXT];  /**< What it was doing last */
    char     end[128];                   /**< How it ended, if not well */
    char     error[PREDREG_PROBE_TEXT];  /**< Why it could not go on */
    char     libraries[PREDREG_PROBE_LIBRARIES][PATH_MAX]; /**< Those loaded */
    int      has_version;
    unsigned major, minor, release;
    int      is_known;
    char     unknown[PREDREG_PROBE_TEXT]; /**< Why the version is not */
    char     events[PREDREG_PROBE_TEXT];  /**< PREDREG_PROBE_DELIVERED, or what
                                               is wrong with them */
    predreg_probe_domain_t *domains;
    unsigned num_domains;
    char     protocols[16];               /**< UCX_PROTO_ENABLE as UCP gets it */
    char     used[PREDREG_PROBE_TEXT];    /**< Names of the domains that UCP has
                                               kept open, a comma after each */
    long     pinned;   /**< Bytes; -1: not known */
    int      has_small; /**< Whether the next is valid */
    ucs_reuse_costs_t costs;            /**< What small sends cost with UCP */
    char     no_cost[PREDREG_PROBE_TEXT]; /**< Why that was not measured, if it
                                               was tried */
    char     *printed; /**< What UCX and the library have printed */
} predreg_probe_t;

#define PREDREG_PROBE_DELIVERED "delivered"


/**
 * Find the probe that belongs to a program of this installation or build.
 *
 * @param [in] folder  Folder of the program.
 * @return the path of the probe, to be freed, or NULL.
 */
char *predreg_probe_find(const char *folder);

/**
 * Have the probe look at a UCX.
 *
 * @param [in]  path        The probe's.
 * @param [in]  is_small    Whether to measure what small sends cost, and only
 *                          that.
 * @param [in]  libraries   What it is to load, up to a NULL.
 * @param [in]  components  Whose domains are measured: names, with a comma
 *                          after each.
 * @param [in]  preload     Value of LD_PRELOAD; NULL: none.
 * @param [out] probe       To be cleaned up by the caller.
 */
void predreg_probe_ask(const char *path, int is_small, char *const *libraries,
                       const char *components, const char *preload,
                       predreg_probe_t *probe);

/**
 * Have the probe start a UCX as a program does, with the library in preload. The
 * library prints a summary, as text. Nothing is recorded.
 *
 * @param [in] managed  NULL, or names of the memory domains that are managed, a
 *                      comma after each: then what small sends cost is measured.
 */
void predreg_probe_rehearse(const char *path, char *const *libraries,
                            const char *managed, const char *preload,
                            predreg_probe_t *probe);

/** Read lines that the probe has said; they are changed. Pure. */
void predreg_probe_read(char *lines, predreg_probe_t *probe);

void predreg_probe_cleanup(predreg_probe_t *probe);

END_C_DECLS

#endif
