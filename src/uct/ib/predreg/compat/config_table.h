/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_CONFIG_TABLE_H_
#define UCT_PREDREG_CONFIG_TABLE_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file config_table.h
 *
 * A table of settings: UCX reads the settings from the environment and from UCX's
 * configuration files, lists them (ucx_info -c), and knows their variables, of which it
 * would otherwise warn as unused. UCX's own description of a table differs between
 * versions: 1.15 changed the function for reading, 1.17 added a function to the type of a
 * setting. So this library has its own description, and makes from it the description of
 * the UCX of this process.
 *
 * core/knobs.c is the caller. There is one table in a process. Nothing here is thread
 * safe, as in UCX.
 */

/** The most settings that a table may have. */
#define UCT_PREDREG_CONFIG_MAX 40

struct uct_predreg_config_field;

/** The functions for values of one type. Each gets the setting as its last argument. */
typedef struct uct_predreg_config_type {
    /** Read a text. @return whether reading was possible. */
    int  (*read)(const char *text, void *dest, const void *field);
    /** Print a value. @return whether printing was possible. */
    int  (*write)(char *buf, size_t max, const void *src, const void *field);
    void (*release)(void *value, const void *field);
    /** Print which values are accepted. */
    void (*help)(char *buf, size_t max, const void *field);
} uct_predreg_config_type_t;


/** A setting. */
typedef struct uct_predreg_config_field {
    const char                      *name;      /**< Without any prefix */
    const char                      *dfl_value; /**< Default, as text */
    const char                      *doc;
    size_t                          offset;     /**< Of its value in the structure of
                                                     all values, bytes */
    const uct_predreg_config_type_t *type;
    int                             is_hidden;  /**< Whether UCX reads the setting, but does
                                                     not list it */
} uct_predreg_config_field_t;


/** A table of settings. */
typedef struct uct_predreg_config_table {
    const char                       *title;  /**< What ucx_info prints above the
                                                   settings */
    const char                       *prefix; /**< The variable of a setting is UCX_, then
                                                   this prefix, then the setting's name */
    const uct_predreg_config_field_t *fields; /**< The settings; one with the name NULL ends
                                                   the array */
    size_t                           stride;  /**< From one setting to the next, bytes */
    size_t                           size;    /**< Of the structure of all
                                                   values, bytes */
} uct_predreg_config_table_t;


/** Enter a table into UCX's list. Until the table is removed, UCX lists its visible
 *  settings, and calls the functions of their types. */
void uct_predreg_config_register(const uct_predreg_config_table_t *table);

/** Remove the table that was entered. */
void uct_predreg_config_unregister(void);

/**
 * Have UCX read the values of the entered table.
 *
 * @param [in] env_prefix  Begin of the names of variables: "UCX_".
 * @param [out] values     Filled, unless the function fails.
 */
ucs_status_t uct_predreg_config_read(const char *env_prefix, void *values);

/**
 * Make UCX's description of a table.
 *
 * @param [in] hidden   Whether hidden settings are included.
 * @param [in] minor    Minor version of UCX 1, see @ref uct_predreg_ucs_minor.
 * @param [out] words   Filled with the array, and an empty element at its end.
 * @param [in] max      Size of words, in words. Settings beyond are left out.
 * @return the size of the array without the empty element, in words.
 */
size_t uct_predreg_config_make(const uct_predreg_config_table_t *table,
                               int hidden, unsigned minor, void **words,
                               size_t max);


/*
 * The layouts of the libucs of this process. No function of libucs tells its version, and a
 * program may use libucs without UCP and UCT, so the symbols of libucs have to tell.
 */

/** The minor versions of UCX 1 with a changed layout of UCS. */
enum {
    UCT_PREDREG_UCS_OLDEST       = 13, /**< The oldest supported version */
    UCT_PREDREG_UCS_CONFIG_ENTRY = 15, /**< The function that reads settings takes
                                            the entry of their table */
    UCT_PREDREG_UCS_CONFIG_DOC   = 17, /**< A type of settings has one function
                                            more */
    UCT_PREDREG_UCS_RCACHE_ALIGN = 17, /**< The alignment in a cache is an
                                            argument of the lookup */
    UCT_PREDREG_UCS_RCACHE_MERGE = 18  /**< The operations of a cache have one
                                            function more */
};

/** @return the latest of the versions above that is not later than the libucs of this
 *  process. */
unsigned uct_predreg_ucs_minor(void);

END_C_DECLS

#endif
