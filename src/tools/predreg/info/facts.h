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

#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file facts.h
 *
 * All that info and calibrate find out, and what follows from it alone. judge.c and
 * output.c read it; info.c has it filled in.
 */

/** What the user asks for. */
typedef struct {
    int         json;
    const char  *library; /**< NULL: the one that 'run' would preload */
    char *const *command; /**< With its arguments, up to a NULL; if there is
                               none, this is only the NULL */
} predreg_info_opts_t;

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
    char                *library_errors; /**< Why */
    char                *probe_path;  /**< NULL: there is no probe */
    predreg_probe_t     probe;        /**< What UCX is, and does with the library */
} predreg_facts_t;


/** What the library has done with a process that started UCX. */
typedef enum {
    PREDREG_OUTCOME_UNKNOWN, /**< There was none, or it did not get so far */
    PREDREG_OUTCOME_ASIDE,   /**< It has stepped aside */
    PREDREG_OUTCOME_NOTHING, /**< There was nothing to manage */
    PREDREG_OUTCOME_LEFT,    /**< Memory was left to UCX, as the policy says */
    PREDREG_OUTCOME_MANAGED, /**< A memory domain was managed */
    PREDREG_OUTCOME_LAST
} predreg_outcome_t;


/**
 * Find out all but what the host is.
 *
 * @param [in]  folder  That ucx_predreg is in.
 * @param [in]  mode    What the probe is to do, if it may start UCX at all.
 * @param [out] facts   To be cleaned up.
 * @return 0, or the exit status if there is no such command, and the reason has been
 *         printed.
 */
int predreg_facts_find(const char *folder, const predreg_info_opts_t *opts,
                       predreg_probe_mode_t mode, predreg_facts_t *facts);

void predreg_facts_cleanup(predreg_facts_t *facts);

predreg_outcome_t predreg_facts_outcome(const predreg_facts_t *facts);

/** @return whether the library would manage a domain if UCP uses it. */
int predreg_facts_may_manage(const predreg_facts_t *facts,
                             const predreg_probe_domain_t *domain);

/** @return whether it manages the domain, or would as far as is known. */
int predreg_facts_manages(const predreg_facts_t *facts,
                          const predreg_probe_domain_t *domain);

/** @return the number of domains that the library would manage if UCP uses them. */
unsigned predreg_facts_num_managed(const predreg_facts_t *facts);

/** @return what becomes of a domain, as text. */
const char *predreg_facts_domain_text(const predreg_facts_t *facts,
                                      const predreg_probe_domain_t *domain);

/** @return whether the library has changed how UCP chooses its protocols. */
int predreg_facts_protocols_differ(const predreg_facts_t *facts);

/** @return how many processors would be idle if each process keeps one busy. */
unsigned predreg_facts_idle(const predreg_facts_t *facts);

/** What a call takes, and each page in addition, microseconds. */
typedef struct {
    double op;
    double page;
} predreg_facts_cost_t;

/** @return the line through what a small and a large buffer of a domain take. */
predreg_facts_cost_t predreg_facts_cost(double small, double large,
                                        const predreg_probe_domain_t *domain);

/** @return how many processes the options of a launcher ask for; 1 of others. */
unsigned predreg_facts_processes(char *const *command);

END_C_DECLS

#endif
