/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KNOBS_H_
#define UCT_PREDREG_KNOBS_H_

#include <ucs/rcache_pred/api/rcache_pred.h>
#include <uct/ib/predreg/compat/config_table.h>

#include <ucs/config/types.h>
#include <ucs/datastruct/string_buffer.h>

BEGIN_C_DECLS

/** @file knobs.h
 *
 * The knobs: the environment variables UCX_RCACHE_PRED_*. Tools with the same settings
 * share the file.
 */

/*
 * The type of a knob reads, prints, copies and frees values of the knob, for knobs.c and
 * for UCX, which gets the table of knobs from knobs.c. UCX's own functions for numbers
 * are not enough: they read up to the first character that is no digit, accept a sign,
 * and turn a number that does not fit into another number. knob_types.c logs a refused
 * value, sets is_refused of the knobs and tells UCX of success, since UCX's own message
 * would not have the whole name of the variable.
 */

/** The beginning of the names of all variables: the first prefix, then the second. */
#define UCT_PREDREG_ENV_PREFIX  "UCX_"
#define UCT_PREDREG_KNOB_PREFIX "RCACHE_PRED_"


/** A knob, and its accepted values. */
typedef struct uct_predreg_knob {
    uct_predreg_config_field_t field; /**< The first member, since UCX hands its address
                                           to the functions of the type. A line of the
                                           help that begins with a space and "VALUE - "
                                           tells the meaning of a value */
    size_t            size;          /**< Of its field in uct_predreg_knobs_t,
                                          bytes */
    const char *const *names;        /**< The names of the values, up to a NULL; NULL: the
                                          values are any text, or numbers, which the
                                          fields below describe */
    unsigned long     min;
    unsigned long     max;           /**< ULONG_MAX: there is no largest value, and "inf"
                                          is accepted */
    int               is_bytes;      /**< Whether a unit, such as K, may follow the
                                          number */
    int               is_zero_ok;    /**< Whether 0, which means none, is accepted although
                                          it is less than min; only for bytes with a max */
    int               is_power_of_2; /**< Whether the knob accepts powers of 2 only */
    int               is_percent;    /**< Whether the value is a percentage, stored as a
                                          double: decimals may follow the number, and
                                          "inf" is accepted */
    int               is_finite;     /**< Whether "inf" is refused although the value is a
                                          percentage */
    int               is_replayed;   /**< Whether the result of `ucx_predreg replay`
                                          depends on the knob: replay has one process, and
                                          the context windows of the recording */
} uct_predreg_knob_t;


/** Numbers: unsigned, unsigned long and size_t, read as by ucs_number_parse(). For a knob
 *  without a largest value, "inf" is read as ULONG_MAX. */
extern const uct_predreg_config_type_t uct_predreg_knob_number;

/** Percentages: double. Decimal digits, then perhaps a point and up to six more digits,
 *  in every locale. "inf" is read as INFINITY, unless the knob is finite. */
extern const uct_predreg_config_type_t uct_predreg_knob_percent;

/** Values with names: unsigned, the place of the name in the list. */
extern const uct_predreg_config_type_t uct_predreg_knob_name;

/** Yes or no: int. */
extern const uct_predreg_config_type_t uct_predreg_knob_bool;

/** Any text: char*. */
extern const uct_predreg_config_type_t uct_predreg_knob_string;

/** Texts separated by commas: ucs_config_names_array_t. */
extern const uct_predreg_config_type_t uct_predreg_knob_list;


/** Append a description of the values that a knob accepts; a message has the description
 *  after "accepted: ". @param [in] knob  Not of the types string and list, which accept
 *  any text. */
void uct_predreg_knob_accepted(const uct_predreg_knob_t *knob,
                               ucs_string_buffer_t *strb);


/* Least and largest values of knobs, where the headers of the cache do not define them */
#define UCT_PREDREG_MIN_WINDOW  0
#define UCT_PREDREG_MIN_HISTORY 1
#define UCT_PREDREG_MIN_ENTRIES 16       /* Of MAX_SITES and KNOWN_REGIONS, */
#define UCT_PREDREG_MAX_ENTRIES 16777216 /* whose tables are allocated whole */
#define UCT_PREDREG_MIN_DQ_SIZE 64
#define UCT_PREDREG_MAX_DQ_SIZE 1048576
#define UCT_PREDREG_MIN_REGIONS 4
#define UCT_PREDREG_MIN_FRACTION 1       /* Percent; 0 would register all buffers */

/* The same for knobs in bytes */
#define UCT_PREDREG_MAX_ARENA     (1ul << 40) /* An arena can have 2^32 pages less one */
#define UCT_PREDREG_MIN_SLAB      (1ul << 20) /* Shorter slabs would be more
                                                 registrations, and an adapter looks up
                                                 only few fast */

/* Bytes of the longest slab of an arena, unless the bounds have no room for several slabs
 * of this length, and of the first slab. A first slab of 16 MiB would cost a program with
 * little communication 17 MiB of memory */
#define UCT_PREDREG_SLAB          (64ul << 20)
#define UCT_PREDREG_FIRST_SLAB    (4ul << 20)

#define UCT_PREDREG_MIN_ARENA_MIN (1ul << 14)
#define UCT_PREDREG_MAX_ARENA_MIN (1ul << 30)


typedef enum {
    UCT_PREDREG_SUMMARY_NONE,
    UCT_PREDREG_SUMMARY_TEXT,
    UCT_PREDREG_SUMMARY_JSON,
    UCT_PREDREG_SUMMARY_LAST
} uct_predreg_summary_format_t;


typedef enum {
    UCT_PREDREG_ARENA_KEYS_SLAB,
    UCT_PREDREG_ARENA_KEYS_USE,
    UCT_PREDREG_ARENA_KEYS_LAST
} uct_predreg_arena_keys_t;


typedef enum {
    UCT_PREDREG_WINDOWS_PIN,
    UCT_PREDREG_WINDOWS_FIREHOSE,
    UCT_PREDREG_WINDOWS_LAST
} uct_predreg_windows_t;


typedef enum {
    UCT_PREDREG_POOLS_STOCK,
    UCT_PREDREG_POOLS_LEAN,
    UCT_PREDREG_POOLS_LAST
} uct_predreg_pools_t;


typedef struct uct_predreg_knobs {
    unsigned policy;        /**< @ref ucs_rcache_pred_policy_t */
    ucs_config_names_array_t components; /**< Components of UCX with managed memory
                                              domains */
    unsigned helper;        /**< @ref ucs_rcache_pred_helper_t */
    double   budget;        /**< Percent of the processor time within reach of the
                                 process; INFINITY: no bound */
    unsigned window;        /**< Length of the context window, in
                                 communications */
    int      unwind;        /**< Whether paths of calls tell contexts apart */
    unsigned history;       /**< How many recent intervals between the
                                 communications of one context are kept */
    unsigned max_sites;     /**< How many call sites are remembered at most */
    unsigned known_regions; /**< How many unregistered regions are remembered at most */
    unsigned dq_size;       /**< Entries of the helper's queue, a power of 2 */
    size_t   max_pinned;    /**< Bound of the process, bytes; SIZE_MAX: none */
    unsigned long max_regions;      /**< Bound of the process; ULONG_MAX: none */
    size_t        node_max_pinned;  /**< Bound of the node, as max_pinned */
    unsigned long node_max_regions; /**< Bound of the node, as max_regions */
    unsigned long keys;             /**< Keys of a device that the processes of the job on
                                         the node may have; 0: as many as refusals tell;
                                         ULONG_MAX: any number, and nothing is learned */
    int      pieces;        /**< Whether to register in pieces where pieces are faster */
    int      eager;         /**< Whether small sends from often reused buffers go out
                                 without the copy */
    double   eager_fraction; /**< After which part of the break-even number of sends a
                                  buffer is registered, percent */
    double   eager_adapt;   /**< While a smaller part of the counted buffers than this
                                 is registered, a crowded table takes no new ones,
                                 percent */
    size_t   arena;         /**< Memory of the arena, bytes at most; 0: none */
    size_t   arena_min;     /**< Shortest mapping from the arena, bytes */
    unsigned arena_keys;    /**< @ref uct_predreg_arena_keys_t */
    int      arena_strict;  /**< Whether freed memory of the arena is inaccessible at
                                 once */
    size_t   firehose_m;    /**< M of libucp_firehose.so, bytes. Firehose reads the
                                 variables of this knob and of the next one by itself: the
                                 core only checks and shows the values */
    size_t   firehose_max_victim; /**< MAXVICTIM, bytes */
    unsigned windows;       /**< @ref uct_predreg_windows_t */
    unsigned pools;         /**< @ref uct_predreg_pools_t */
    unsigned summary;       /**< @ref uct_predreg_summary_format_t */
    char     *summary_file; /**< Empty: standard error */
    char     *trace;        /**< Folder traces are written to; empty: none */
    int      is_refused;    /**< Whether a value was refused while reading; 0 when the
                                 functions below have returned */
} uct_predreg_knobs_t;


/** All knobs. A knob with the name NULL ends the table. */
extern const uct_predreg_knob_t uct_predreg_knob_table[];

/**
 * Read the knobs from the environment, and from UCX's configuration files, and check the
 * values. If a value is refused, the function logs the variable, the value as typed and
 * the accepted values, and sets all knobs to their defaults. The caller has to clean up
 * the knobs, even after an error.
 */
ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs);

/** Call a function for each knob, with the knob's name without its prefix and
 *  its value as text. */
void uct_predreg_knobs_for_each(const uct_predreg_knobs_t *knobs,
                                void (*cb)(void *arg, const char *name,
                                           const char *value), void *arg);

/** Call a function for each knob that is for users, and not for papers and tests. */
void uct_predreg_knobs_describe(void (*cb)(void *arg,
                                           const uct_predreg_knob_t *knob),
                                void *arg);

/** Set all knobs to their defaults, without the environment. The caller has to clean up the
 *  knobs afterwards. After an error, for lack of memory, the caller may do so, but need
 *  not. */
ucs_status_t uct_predreg_knobs_default(uct_predreg_knobs_t *knobs);

/** Change one knob, named without UCX_RCACHE_PRED_. For an unknown name or a refused
 *  value the function logs a message, and the knob stays unchanged. */
ucs_status_t uct_predreg_knobs_set(uct_predreg_knobs_t *knobs, const char *name,
                                   const char *value);

void uct_predreg_knobs_cleanup(uct_predreg_knobs_t *knobs);

/** Fill in the parameters of a cache that the knobs decide: all but ops, arg,
 *  sink and node. */
void uct_predreg_knobs_to_params(const uct_predreg_knobs_t *knobs,
                                 ucs_rcache_pred_params_t *params);

/** @return whether the user wants domains of the named component to be managed; domains
 *  that register no memory are never managed. */
int uct_predreg_is_managed_component(const uct_predreg_knobs_t *knobs,
                                     const char *name);

/** @return whether traces are asked for. */
static inline int uct_predreg_is_traced(const uct_predreg_knobs_t *knobs)
{
    return knobs->trace[0] != '\0';
}

END_C_DECLS

#endif
