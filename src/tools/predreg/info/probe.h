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
 * Starts the probe of this project, and reads what it tells. The probe loads the UCX of
 * another program, looks at it, starts it under the preloaded library, and asks the
 * library what becomes of it; src/tools/probe/say.h has the lines.
 */

/** How long the probe may take, ms: a UCX that hangs is told as such. */
#define PREDREG_PROBE_TIMEOUT 60000

#define PREDREG_PROBE_TEXT    1024 /* Longer ones are cut off */

/** What a registration of some length takes. */
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
    int                  is_managed;    /**< Whether the library says so of it, once UCX
                                             was started */
    char                 failure[PREDREG_PROBE_TEXT]; /**< Why it is not open;
                                                           empty: it was */
    predreg_probe_cost_t small;   /**< count is 0: not measured */
    predreg_probe_cost_t large;
    char                 no_cost[PREDREG_PROBE_TEXT]; /**< Why it was not, if
                                                           that was tried */
} predreg_probe_domain_t;

/** The libraries of UCX, from the bottom up. */
#define PREDREG_PROBE_LIBRARIES 4

/** What the probe has told. Texts are empty if it has not. */
typedef struct {
    char     stage[PREDREG_PROBE_TEXT];  /**< What it was doing last */
    char     end[128];                   /**< How it ended, if not well */
    char     error[PREDREG_PROBE_TEXT];  /**< Why it could not go on */
    char     libraries[PREDREG_PROBE_LIBRARIES][PATH_MAX]; /**< Those loaded */
    int      has_version;
    unsigned major, minor, release;
    int      is_known;                    /**< Whether the library knows the version */
    char     unknown[PREDREG_PROBE_TEXT]; /**< Why it does not */
    char     events[PREDREG_PROBE_TEXT];  /**< PREDREG_PROBE_DELIVERED, or what
                                               is wrong with them */
    predreg_probe_domain_t *domains;
    unsigned num_domains;
    char     protocols_alone[16]; /**< UCX_PROTO_ENABLE as UCP gets it without the
                                       library */

    /* Once it has begun to start UCX, with the library */
    int      is_started;
    char     protocols[16];
    long     pinned;   /**< Bytes; -1: not known */

    /* The library's answer when the probe asked it for its status (status/status.h) */
    int      has_status;
    char     aside[32];                   /**< Reason of stepping aside, */
    char     why[PREDREG_PROBE_TEXT];     /**< its message, */
    char     advice[PREDREG_PROBE_TEXT];  /**< and what to do */
    char     policy[32];                  /**< In force */
    char     settings[PREDREG_PROBE_TEXT]; /**< Taken over from UCX's caches */
    int      num_managed;                 /**< Domains that it manages */
    int      has_small;                   /**< Whether the next is valid */
    ucs_reuse_costs_t costs;              /**< What small sends cost with UCP */

    char     *printed; /**< What UCX and the library have printed */
} predreg_probe_t;

#define PREDREG_PROBE_DELIVERED "delivered"

/** What the probe is to do. */
typedef enum {
    PREDREG_PROBE_LOOK,  /**< Look at UCX */
    PREDREG_PROBE_START, /**< and start it, */
    PREDREG_PROBE_SMALL  /**< and wait until the library knows what small sends cost */
} predreg_probe_mode_t;


/** @return the path of the probe, for a ucx_predreg that is in this folder, to be
 *          freed; NULL: it was not found. */
char *predreg_probe_find(const char *folder);

/**
 * Start the probe and read what it tells.
 *
 * @param [in]  path        Of the probe.
 * @param [in]  libraries   What to load, up to a NULL.
 * @param [in]  components  Those whose domains are measured, a comma after each.
 * @param [in]  preload     Value of LD_PRELOAD; NULL: none.
 * @param [out] probe       To be cleaned up.
 */
void predreg_probe_run(const char *path, predreg_probe_mode_t mode,
                       char *const *libraries, const char *components,
                       const char *preload, predreg_probe_t *probe);

/** Read the lines of a probe; the text is changed. */
void predreg_probe_read(char *lines, predreg_probe_t *probe);

void predreg_probe_cleanup(predreg_probe_t *probe);

END_C_DECLS

#endif
