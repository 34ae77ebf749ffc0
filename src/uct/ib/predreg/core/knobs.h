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
 * A knob and its type: reading, printing, copying and freeing of values, for knobs.c and
 * for UCX, which gets the table from knobs.c. UCX's own functions for numbers are not
 * enough: these read up to the first character that is no digit, accept a sign, and let a
 * number that does not fit become another number. knob_types.c logs a refused value and
 * marks the knobs as refused; the caller is told of success, since UCX's own message
 * would not have the whole name of the variable.
 */

/** The beginning of the names of all variables: the first prefix, then the second. */
#define UCT_PREDREG_ENV_PREFIX  "UCX_"
#define UCT_PREDREG_KNOB_PREFIX "RCACHE_PRED_"


/** A knob, and its accepted values. */
typedef struct uct_predreg_knob {
    uct_predreg_config_field_t field; /**< First, as UCX gets the knob. The help has lines
                                           of text, and lines with one space and "VALUE -
                                           " for the meaning of a value */
    size_t            size;          /**< Of its field in uct_predreg_knobs_t,
                                          bytes */
    const char *const *names;        /**< The values, up to a NULL; NULL: the values are any
                                          text, or numbers, which the fields below
                                          describe */
    unsigned long     min;
    unsigned long     max;           /**< ULONG_MAX: none, and "inf" is
                                          accepted */
    int               is_bytes;      /**< Whether a unit, such as K, may follow the
                                          number */
    int               is_zero_ok;    /**< Whether 0, which means none, is accepted although
                                          it is less than min; only for bytes with a max */
    int               is_power_of_2; /**< Whether other numbers are refused */
    int               is_percent;    /**< Whether decimals may follow, and "inf"
                                          is accepted; the field is a double */
    int               is_finite;     /**< Whether "inf" is refused although the value is a
                                          percentage */
    int               is_replayed;   /**< Whether `ucx_predreg replay` depends on the
                                          knob: it replays one process, with the context
                                          windows of the recording */
} uct_predreg_knob_t;


/** Numbers: unsigned, unsigned long and size_t, read as by ucs_number_parse(). "inf" may
 *  stand for no bound: ULONG_MAX. */
extern const uct_predreg_config_type_t uct_predreg_knob_number;

/** Percentages: double. Decimal digits, with a point and up to six more whatever the
 *  locale; "inf" is INFINITY, where it is accepted. */
extern const uct_predreg_config_type_t uct_predreg_knob_percent;

/** Values with names: unsigned, the place of the name in the list. */
extern const uct_predreg_config_type_t uct_predreg_knob_name;

/** Yes or no: int. */
extern const uct_predreg_config_type_t uct_predreg_knob_bool;

/** Any text: char*. */
extern const uct_predreg_config_type_t uct_predreg_knob_string;

/** Texts separated by commas: ucs_config_names_array_t. */
extern const uct_predreg_config_type_t uct_predreg_knob_list;


/** Append the accepted values, in words for after "accepted: ". @param [in] knob No
 *  string and no list. */
void uct_predreg_knob_accepted(const uct_predreg_knob_t *knob,
                               ucs_string_buffer_t *strb);


/* Ranges of knobs outside of the cache's parameters */
#define UCT_PREDREG_MIN_WINDOW  0
#define UCT_PREDREG_MIN_HISTORY 1
#define UCT_PREDREG_MIN_ENTRIES 16       /* Of MAX_SITES and KNOWN_REGIONS, */
#define UCT_PREDREG_MAX_ENTRIES 16777216 /* allocated at once */
#define UCT_PREDREG_MIN_DQ_SIZE 64
#define UCT_PREDREG_MAX_DQ_SIZE 1048576
#define UCT_PREDREG_MIN_REGIONS 4
#define UCT_PREDREG_MIN_FRACTION 1       /* Percent; 0 would register at once */

/* Ranges of knobs in bytes, outside of the cache's parameters */
#define UCT_PREDREG_MAX_ARENA     (1ul << 40) /* An arena can have 2^32 pages less one */
#define UCT_PREDREG_MIN_SLAB      (1ul << 20) /* An adapter looks up few registrations
                                                 fast */

/* The longest slab of an arena, if the bounds have room for several slabs so long, and the
 * first slab, bytes. A first slab of 16 MiB would cost a program with little communication
 * 17 MiB of memory */
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
    unsigned max_sites;     /**< How many call sites are kept */
    unsigned known_regions; /**< Number of unregistered regions to remember */
    unsigned dq_size;       /**< Entries of the helper's queue, a power of 2 */
    size_t   max_pinned;    /**< Bound of the process, bytes; SIZE_MAX: none */
    unsigned long max_regions;      /**< Bound of the process; ULONG_MAX: none */
    size_t        node_max_pinned;  /**< Bound of the node, as max_pinned */
    unsigned long node_max_regions; /**< Bound of the node, as max_regions */
    int      pieces;        /**< Whether to register in pieces where pieces are faster */
    int      eager;         /**< Whether small sends from often reused buffers go out
                                 without the copy */
    double   eager_fraction; /**< The part of the break-even number of sends before a
                                  buffer is registered, percent */
    double   eager_adapt;   /**< If fewer of the counted buffers become registered, the
                                 counting of new ones stops, percent */
    size_t   arena;         /**< Memory of the arena, bytes at most; 0: none */
    size_t   arena_min;     /**< Shortest mapping from the arena, bytes */
    unsigned arena_keys;    /**< @ref uct_predreg_arena_keys_t */
    int      arena_strict;  /**< Whether freed memory of the arena is inaccessible at
                                 once */
    size_t   firehose_m;    /**< M of libucp_firehose.so, bytes. Firehose reads the
                                 variables of the two knobs by itself: here the values are
                                 checked and told */
    size_t   firehose_max_victim; /**< MAXVICTIM, bytes */
    unsigned windows;       /**< @ref uct_predreg_windows_t */
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
 * values. For each refused value the function logs the variable, the value as typed and
 * the accepted values; then all knobs get their defaults. In either case the knobs are to
 * be cleaned up.
 */
ucs_status_t uct_predreg_knobs_read(uct_predreg_knobs_t *knobs);

/** Call a function for each knob, with the knob's name without its prefix and
 *  its value as text. */
void uct_predreg_knobs_for_each(const uct_predreg_knobs_t *knobs,
                                void (*cb)(void *arg, const char *name,
                                           const char *value), void *arg);

/** Call a function for each knob for users: none of the knobs for papers and tests. */
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

/** @return whether domains of the named component are managed, if they register
 *  memory. */
int uct_predreg_is_managed_component(const uct_predreg_knobs_t *knobs,
                                     const char *name);

/** @return whether traces are asked for. */
static inline int uct_predreg_is_traced(const uct_predreg_knobs_t *knobs)
{
    return knobs->trace[0] != '\0';
}

END_C_DECLS

#endif
