/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_H_
#define PREDREG_INFO_H_

#include <ucs/reuse/costs.h>
#include <ucs/stat/stats.h>
#include <uct/ib/predreg/core/knobs.h>

#include <limits.h>
#include <sys/types.h>

BEGIN_C_DECLS

/** @file info.h
 *
 * The sub-commands `info` and `calibrate`: which UCX a command would load, what the
 * machine is (target.c), what the library does with that UCX (probe.c), what follows
 * (facts.c, judge.c), and the output (output.c, calibrate.c). This program loads no UCX.
 */

/** UCM, UCS, UCT, UCP: the libraries of UCX, from the bottom up. */
#define PREDREG_NUM_LIBRARIES 4

extern const char *const predreg_ucx_libraries[PREDREG_NUM_LIBRARIES];


/** Where a command gets its UCX from. */
typedef enum {
    PREDREG_TARGET_NONE,     /**< No command was given */
    PREDREG_TARGET_LAUNCHER, /**< A launcher, such as mpirun, whose ranks may load any
                                  UCX */
    PREDREG_TARGET_LINKED,   /**< A program that is linked with UCX, or with a library
                                  linked with UCX */
    PREDREG_TARGET_PLUGIN,   /**< A program that is not linked with UCX; the program
                                  may load UCX when it runs */
    PREDREG_TARGET_SCRIPT,   /**< A script, or a program of another kind of machine */
    PREDREG_TARGET_STATIC    /**< A program without a dynamic loader */
} predreg_target_kind_t;

typedef struct {
    predreg_target_kind_t kind;
    char *path;          /**< The command's file; NULL: no command */
    int  is_privileged;  /**< Whether the program gets rights that its user does not have */
    char *missing;       /**< A library of UCX that the program is linked with, and
                              that was not found; NULL: all were found */
    char *libraries[PREDREG_NUM_LIBRARIES + 1]; /**< Libraries that the probe loads, in
                                                     this order, to have the UCX of the
                                                     command; up to a NULL */
} predreg_target_t;

/**
 * Look at a command, without running it.
 *
 * @param [in]  name    Name of the command, as execvp() takes it; NULL: no command was
 *                      given.
 * @param [out] target  To be cleaned up.
 * @return 0, or -1 if the command does not exist.
 */
int predreg_target_find(const char *name, predreg_target_t *target);

/**
 * Take the libraries of UCX from the list that the dynamic loader prints for a program
 * (ld.so --list). Pure.
 *
 * @param [in] list  One library a line; it is changed.
 */
void predreg_target_read_list(char *list, predreg_target_t *target);

void predreg_target_cleanup(predreg_target_t *target);


#define PREDREG_HOST_TEXT 256

/** This machine, and its limits for a process: all facts apart from UCX. */
typedef struct {
    char     kernel[PREDREG_HOST_TEXT];
    char     distribution[PREDREG_HOST_TEXT];
    char     launcher[PREDREG_HOST_TEXT]; /**< Path of MPI's launcher; empty: no
                                               launcher was found */
    char     mpi[PREDREG_HOST_TEXT];      /**< Version of MPI, as the launcher prints it */
    char     devices[PREDREG_HOST_TEXT];  /**< RDMA devices of the kernel, separated by
                                               spaces */
    uint64_t memlock;                     /**< Limit of locked memory, bytes, or
                                               UINT64_MAX */
    int      is_unlimited; /**< Whether CAP_IPC_LOCK lifts the limit */
    unsigned processors;   /**< Processors that a thread of a process here may use */
    unsigned managed;      /**< How many running processes of this user have the library */
    unsigned long mappings; /**< The most mappings of one of these processes; 0: there
                                 are no such processes */
    unsigned long max_mappings; /**< vm.max_map_count; 0: not known */
    unsigned long max_objects; /**< Registrations, queues and others of an RDMA device
                                    that a control group may have together; 0: there is
                                    no limit */
    int      no_swap;      /**< Whether memory that is not registered has nowhere to
                                go: there is no room in a swap device, or a control
                                group lets this process have none */
    int      no_pressure;  /**< Whether the kernel does not tell how long processes wait
                                for memory */
} predreg_host_t;

/**
 * Look at this machine.
 *
 * @param [in] launcher  Launcher whose version is asked for; NULL: mpirun, if
 *                       there is one.
 */
void predreg_host_find(const char *launcher, predreg_host_t *host);

/** Find the limits on mappings, objects of RDMA, and memory of this process.
 *  @param [in] root  Folder with proc and sys: "" is the system's. */
void predreg_host_find_limits(const char *root, predreg_host_t *host);

/** @return the number of mappings of a process; 0: not known. */
unsigned long predreg_host_mappings(const char *root, pid_t pid);

/** Take the version from the output of a launcher: the first line with a digit. If the
 * first line of the output has no digit, the version begins with it. Pure.
 *
 * @param [in]  text     It is changed.
 * @param [out] version  Empty if there is none.
 */
void predreg_host_read_version(char *text, char *version, unsigned max);


/** Time limit of the probe, ms. If the probe takes longer, UCX hangs in it. */
#define PREDREG_PROBE_TIMEOUT   60000

/** Room for a text that the probe reports, bytes. The end of a longer text is cut off. */
#define PREDREG_PROBE_TEXT      1024

#define PREDREG_PROBE_DELIVERED "delivered"

/** Times of registrations of some length. */
typedef struct {
    unsigned long bytes;
    double        reg;   /**< Median time of a registration, microseconds */
    double        dereg; /**< Median time of a deregistration, microseconds */
    unsigned      count; /**< Number of measurements; 0: not measured */
} predreg_probe_cost_t;

/** A memory domain. */
typedef struct {
    char                 component[32];
    char                 name[64];
    int                  registers; /**< Whether the domain registers memory */
    int                  needs_handles; /**< Whether the domain's transports need
                                             registrations */
    int                  is_managed;    /**< Whether the library manages the domain,
                                             once UCX was started */
    char                 failure[PREDREG_PROBE_TEXT]; /**< Why the domain cannot be
                                                           opened; empty: it can be
                                                           opened */
    unsigned long        max_mr;    /**< The most registrations of the device, as it
                                         says; 0: not known */
    predreg_probe_cost_t small;
    predreg_probe_cost_t large;
    char                 no_cost[PREDREG_PROBE_TEXT]; /**< Why a registration failed;
                                                           empty: no registration
                                                           failed */
} predreg_probe_domain_t;

/** The findings of the probe, of which src/tools/probe/probe.h has a list. A text that the
 *  probe has not sent is empty. */
typedef struct {
    char     stage[PREDREG_PROBE_TEXT];  /**< The last action of the probe */
    char     end[128];                   /**< How the probe ended badly; empty: it
                                              ended well */
    char     error[PREDREG_PROBE_TEXT];  /**< Why the probe could not go on */
    char     libraries[PREDREG_NUM_LIBRARIES][PATH_MAX]; /**< Paths of the loaded
                                                              libraries */
    int      has_version;
    unsigned major, minor, release;
    int      is_known;                    /**< Whether the library knows the version */
    char     unknown[PREDREG_PROBE_TEXT]; /**< Why the library does not know the
                                               version */
    char     events[PREDREG_PROBE_TEXT];  /**< PREDREG_PROBE_DELIVERED, or an error */
    predreg_probe_domain_t *domains;
    unsigned num_domains;
    char     fork[16];            /**< Whether libibverbs protects memory at forks: "on",
                                       "off"; empty: not known */
    char     protocols_alone[16]; /**< UCX_PROTO_ENABLE as UCP gets it without the
                                       library */

    /* Known once the probe has begun to start UCX with the library */
    int      is_started;
    char     protocols[16];
    long     pinned;   /**< Bytes that are pinned after UCX has started; -1: not
                            known */

    /* The status of the library (status/aside.h) */
    int      has_status;
    char     aside[32];                   /**< The reason why the library steps aside, that
                                               is, leaves all memory to UCX */
    char     why[PREDREG_PROBE_TEXT];     /**< The message of the reason */
    char     advice[PREDREG_PROBE_TEXT];  /**< A remedy */
    char     policy[32];                  /**< The policy in force */
    char     settings[PREDREG_PROBE_TEXT]; /**< Settings of UCX's caches that the library
                                                has taken over */
    char     lean[PREDREG_PROBE_TEXT];    /**< Processes on the node, and what became of
                                               the settings for UCX's own pools */
    uint64_t pools[UCS_RCACHE_PRED_POOL_LAST]; /**< Bytes of UCX's own pools by kind */
    int      num_managed;                 /**< Managed domains */
    int      has_small;                   /**< Whether costs is set */
    ucs_reuse_costs_t costs;              /**< Costs of small sends with UCP */

    char     *printed; /**< Output of UCX and the library */
} predreg_probe_t;

/** Tasks of the probe. */
typedef enum {
    PREDREG_PROBE_LOOK,  /**< Look at UCX */
    PREDREG_PROBE_START, /**< Look at UCX, and start UCX with the library */
    PREDREG_PROBE_SMALL  /**< Look at UCX, start UCX with the library, and wait until
                              the library knows the costs of small sends */
} predreg_probe_mode_t;

/** @return the path of the probe for a ucx_predreg in this folder, to be freed; NULL: it
 *          was not found. */
char *predreg_probe_find(const char *folder);

/**
 * Run the probe: a program that loads the UCX of another program, looks at this UCX,
 * starts it under the preloaded library, and asks the library for its status.
 * src/tools/probe/probe.h has the lines that the probe says.
 *
 * @param [in]  path        Path of the probe.
 * @param [in]  libraries   Libraries that the probe loads, up to a NULL.
 * @param [in]  components  Names of the components whose domains are measured, a comma
 *                          after each.
 * @param [in]  preload     Value of LD_PRELOAD; NULL: none.
 * @param [in]  processes   Processes of the command on this node: the probe is told so, as
 *                          by a launcher; 1: it is told nothing.
 * @param [out] probe       To be cleaned up.
 */
void predreg_probe_run(const char *path, predreg_probe_mode_t mode,
                       char *const *libraries, const char *components,
                       const char *preload, unsigned processes,
                       predreg_probe_t *probe);

/** Read the lines of a probe; the text is changed. */
void predreg_probe_read(char *lines, predreg_probe_t *probe);

void predreg_probe_cleanup(predreg_probe_t *probe);


/** The options. */
typedef struct {
    int         json;
    const char  *library; /**< NULL: the library that 'run' would preload */
    char *const *command; /**< The command with its arguments, up to a NULL; if the
                               user gives no command, only the NULL */
} predreg_info_opts_t;

/** All facts. */
typedef struct {
    const char          *command;     /**< The command as the user gave it; NULL: no
                                           command was given */
    unsigned            processes;    /**< Processes of the command on this node, by
                                           the options of a launcher; 1 without a
                                           launcher */
    int                 chooses_pml;  /**< Whether the options of the command choose
                                           how Open MPI communicates */
    predreg_target_t    target;
    predreg_host_t      host;
    uct_predreg_knobs_t knobs;        /**< The knobs in the environment; the defaults
                                           of all knobs if a value is not accepted */
    char                *knob_errors; /**< Wrong knobs, one a line; empty: none */
    char                *library;     /**< Path of the library; NULL: it was not
                                           found */
    char                *library_errors; /**< Why the library was not found */
    char                *probe_path;  /**< NULL: there is no probe */
    predreg_probe_t     probe;
} predreg_facts_t;

/** The library's decision in a process that started UCX. */
typedef enum {
    PREDREG_OUTCOME_UNKNOWN, /**< There was no decision, since UCX was not started, or
                                  failed */
    PREDREG_OUTCOME_ASIDE,   /**< The library has stepped aside */
    PREDREG_OUTCOME_NOTHING, /**< UCP had no memory domain for the library to manage */
    PREDREG_OUTCOME_LEFT,    /**< The policy leave-pinned left all memory to UCX */
    PREDREG_OUTCOME_MANAGED, /**< A memory domain was managed */
    PREDREG_OUTCOME_LAST
} predreg_outcome_t;

/** Cost of a call, and of each page in addition, microseconds. */
typedef struct {
    double op;
    double page;
} predreg_facts_cost_t;

/**
 * Find all facts but those of the machine.
 *
 * @param [in]  folder  Folder of ucx_predreg; NULL: the folder of this program.
 * @param [in]  mode    Task of the probe, if the probe may start UCX at all.
 * @param [out] facts   To be cleaned up.
 * @return 0, or the exit status if there is no such command, and the reason has been
 *         printed.
 */
int predreg_facts_find(const char *folder, const predreg_info_opts_t *opts,
                       predreg_probe_mode_t mode, predreg_facts_t *facts);

void predreg_facts_cleanup(predreg_facts_t *facts);

predreg_outcome_t predreg_facts_outcome(const predreg_facts_t *facts);

/** @return whether the library manages the domain. If the library has stepped aside, or
 *          its decision is not known: whether the library would manage the domain, by the
 *          component of the domain and the knobs. */
int predreg_facts_manages(const predreg_facts_t *facts,
                          const predreg_probe_domain_t *domain);

/** @return the number of domains that the library would manage if UCP used all domains. */
unsigned predreg_facts_num_managed(const predreg_facts_t *facts);

/** @return a domain's component and name. The text lasts until the next call. */
const char *predreg_facts_domain_name(const predreg_probe_domain_t *domain);

/** @return whether a domain is managed, and if not, why, as text. */
const char *predreg_facts_domain_text(const predreg_facts_t *facts,
                                      const predreg_probe_domain_t *domain);

/** @return whether the library has changed how UCP chooses its protocols. */
int predreg_facts_protocols_differ(const predreg_facts_t *facts);

/** @return how many processors would be idle if each process keeps one busy. */
unsigned predreg_facts_idle(const predreg_facts_t *facts);

/** @return whether the costs of both a small and a large buffer of a domain were
 *          measured. */
int predreg_facts_is_measured(const predreg_probe_domain_t *domain);

/** @return the costs of a call and of a page, by the times for a small and a large buffer
 *  of a domain. */
predreg_facts_cost_t predreg_facts_cost(double small, double large,
                                        const predreg_probe_domain_t *domain);

/** @return how many processes a launcher has to start on this node: as its options say of a
 *  node, or else all that they ask for; 1 for other commands. */
unsigned predreg_facts_processes(char *const *command);


/** An obstacle, or a note. */
typedef struct {
    char *what;
    char *advice; /**< The remedy */
    int  stops;   /**< Whether this problem keeps the library from managing memory */
} predreg_problem_t;

typedef struct {
    predreg_problem_t *list; /**< First the problems that stop the library */
    unsigned          count;
    unsigned          num_stops; /**< Number of problems that stop the library; 0: the
                                      library would manage memory */
} predreg_problems_t;

/** Find the problems in the facts. The function is pure, except that it reads Open MPI's
 *  setting from the environment.
 *  @param [out] problems  Empty at first; to be cleaned up. */
void predreg_judge(const predreg_facts_t *facts, predreg_problems_t *problems);

void predreg_problems_cleanup(predreg_problems_t *problems);


/** Print all facts for people. */
void predreg_info_print_text(const predreg_facts_t *facts,
                             const predreg_problems_t *problems);

/** Print all facts as one JSON object on a line. */
void predreg_info_print_json(const predreg_facts_t *facts,
                             const predreg_problems_t *problems);

/**
 * Read the options of info, or of another sub-command with the same options. Knobs that
 * are set get into the environment.
 *
 * @param [in] command  Name of the sub-command; @a intro and @a end are parts of its help.
 * @return 0, or the exit status, and the reason has been printed.
 */
int predreg_info_parse(const char *command, const char *intro, const char *end, int argc,
                       char **argv, predreg_info_opts_t *opts);

/** As predreg_info(), for a ucx_predreg in another folder. */
int predreg_info_from(const char *folder, int argc, char **argv);


/** As predreg_calibrate(), for a ucx_predreg in another folder. */
int predreg_calibrate_from(const char *folder, int argc, char **argv);

/** Print for people from how many sends on it pays to register a small buffer instead
 *  of copying it: Table 2 of Rashti and Afsahi. First come the memory handles of UCP,
 *  which small sends take, then each memory domain by itself. In the paper, two-sided
 *  and one-sided communication differ; in UCX either has one copy at the sender, so the
 *  inequality is the same. */
void predreg_calibrate_print_text(const predreg_facts_t *facts);

/** Print the numbers of predreg_calibrate_print_text() as one JSON object on a line. */
void predreg_calibrate_print_json(const predreg_facts_t *facts);

/** @return the least length for which registering pays, bytes; 0: there is none. */
size_t predreg_calibrate_pays_from(const ucs_reuse_costs_t *costs);

END_C_DECLS

#endif
