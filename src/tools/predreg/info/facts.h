/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_FACTS_H_
#define PREDREG_INFO_FACTS_H_

#include "host.h"
#include "probe.h"
#include "target.h"

#include <uct/ib/predreg/compat/compat.h>
#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file facts.h
 *
 * All that the sub-command info has found out. info.c fills it in; judge.c,
 * text.c and json.c read it. */

typedef struct {
    const char          *command;     /**< As the user gave it; NULL: none */
    unsigned            processes;    /**< Of the command, on this node: what a
                                           launcher was told, else 1 */
    int                 chooses_pml;  /**< Whether its options choose how Open
                                           MPI communicates */
    predreg_target_t    target;
    predreg_host_t      host;
    uct_predreg_knobs_t knobs;        /**< Their defaults if one is not
                                           accepted */
    char                *knob_errors; /**< What is wrong with knobs, one a line;
                                           empty: nothing */
    char                *library;     /**< Path of the library; NULL: it was not
                                           found */
    char                *library_errors; /**< Why, one reason a line */
    char                *probe_path;  /**< NULL: there is no probe */
    predreg_probe_t     asked;        /**< What UCX is */
    int                 is_rehearsed; /**< Whether the next is valid */
    predreg_probe_t     rehearsal;    /**< What it does with the library */
} predreg_facts_t;


/** What the library has done in the rehearsal. */
typedef enum {
    PREDREG_OUTCOME_UNKNOWN, /**< There was none, or it did not get so far */
    PREDREG_OUTCOME_ASIDE,   /**< It has stepped aside */
    PREDREG_OUTCOME_NOTHING, /**< There was nothing to manage */
    PREDREG_OUTCOME_LEFT,    /**< A memory domain was left to UCX, as the policy
                                  says */
    PREDREG_OUTCOME_MANAGED, /**< A memory domain was managed */
    PREDREG_OUTCOME_LAST
} predreg_outcome_t;

/** @return what the library has done, by what it has printed. */
predreg_outcome_t predreg_facts_outcome(const predreg_facts_t *facts);

/** @return whether the library would manage this domain by its knobs. */
int predreg_facts_is_managed(const predreg_facts_t *facts,
                             const predreg_probe_domain_t *domain);

/** @return whether UCP has kept this domain open in the rehearsal; also if that
 *  is not known. */
int predreg_facts_is_used(const predreg_facts_t *facts,
                          const predreg_probe_domain_t *domain);

/** @return how many domains it would manage so. */
unsigned predreg_facts_num_managed(const predreg_facts_t *facts);

/** @return the facts about the version of UCX, or NULL. */
const uct_predreg_compat_t *
predreg_facts_compat(const predreg_facts_t *facts);

/** @return whether the library has UCP choose other protocols than it would by
 *  itself, which it does where little memory may be locked. */
int predreg_facts_protocols_differ(const predreg_facts_t *facts);

/** Find the settings of UCX's own caches that the library has taken over, as it
 *  says in the rehearsal. @param text  Filled with them; empty: none. */
void predreg_facts_ucx_settings(const predreg_facts_t *facts, char *text,
                                size_t max);

/** @return processors that are idle if each process keeps one busy. Nobody knows
 *          beforehand what threads a program has: the library measures what is idle. */
unsigned predreg_facts_idle(const predreg_facts_t *facts);

/** A cost as a line: op + page * pages, in microseconds. */
typedef struct {
    double op;
    double page;
} predreg_facts_cost_t;

/**
 * Draw the line through two measured costs.
 *
 * @param [in] small   Cost of the small length of a domain, us.
 * @param [in] large   Cost of the large length, us.
 * @param [in] domain  Has these lengths.
 */
predreg_facts_cost_t predreg_facts_cost(double small, double large,
                                        const predreg_probe_domain_t *domain);

END_C_DECLS

#endif
