/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "config_table.h"

#include <ucs/base/relaxed.h>

#include <ucs/config/parser.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>
#include <uct/api/version.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>


/* The oldest version of libucs with each function. The functions of 1.15 and 1.17 came
 * together with the change of the parser, in the same file (config/parser.c); the change
 * of the operations of caches came with no function, so its row has another new function
 * of the same version (datastruct/string_buffer.c). */
static const struct {
    unsigned   minor;
    const char *function;
} changes[] = {
    {UCT_PREDREG_UCS_RCACHE_MERGE, "ucs_string_buffer_append_saddr"},
    {UCT_PREDREG_UCS_CONFIG_DOC, "ucs_config_doc_nop"},
    {UCT_PREDREG_UCS_CONFIG_ENTRY, "ucs_config_sscanf_uint_enum"}
};


/* @return the libucs that this library uses, since a process may have several. The caller
 *         closes it. NULL: the libucs was not found, and the caller searches where the
 *         program looks for functions (RTLD_DEFAULT). */
static void *open_libucs(void)
{
    Dl_info info;

    return (dladdr((void*)ucs_status_string, &info) == 0) ?
           NULL : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static unsigned find_minor(void)
{
    void *libucs   = open_libucs();
    unsigned minor = UCT_PREDREG_UCS_OLDEST;
    size_t i;

    for (i = 0; i < sizeof(changes) / sizeof(changes[0]); ++i) {
        if (dlsym((libucs == NULL) ? RTLD_DEFAULT : libucs,
                  changes[i].function) != NULL) {
            minor = changes[i].minor;
            break;
        }
    }

    if (libucs != NULL) {
        dlclose(libucs);
    }
    return minor;
}

unsigned uct_predreg_ucs_minor(void)
{
    static _Atomic(unsigned) found;
    unsigned minor;

    /* Relaxed: threads that come here at the same time find the same version */
    minor = ucs_relaxed_load(&found);
    if (minor == 0) {
        minor = find_minor();
        ucs_relaxed_store(&found, minor);
    }
    return minor;
}


/* The places of the parts of a setting in UCX's description, in words (ucs_config_field_t
 * in config/parser.h, compared from 1.13 to 1.23). A setting without a name ends the
 * table */
enum {
    WORD_NAME,
    WORD_DEFAULT,
    WORD_DOC,
    WORD_OFFSET,
    WORD_READ,
    WORD_WRITE,
    WORD_CLONE,
    WORD_RELEASE,
    WORD_HELP,
    WORD_1_13_ARG,
    WORDS_1_13,
    WORD_1_17_DOC = WORD_1_13_ARG,
    WORD_1_17_ARG,
    WORDS_1_17
};

/* The entry of a table in UCX's list. Up to 1.14 UCX's entry ends before the flags, and
 * UCX does not touch them. */
typedef struct list_entry {
    const char         *name;
    const char         *prefix;
    ucs_config_field_t *table;
    size_t             size;
    ucs_list_link_t    list;
    uint8_t            flags;
} list_entry_t;

/* Check that the layouts above are those of the UCX of the build */
#if UCT_API >= UCT_VERSION(1, 17)
#  define WORDS WORDS_1_17
#  define ARG   WORD_1_17_ARG
#else
#  define WORDS WORDS_1_13
#  define ARG   WORD_1_13_ARG
#endif
#define ASSERT_WORD(_word, _member) \
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_config_field_t, _member) == \
                      (_word) * sizeof(void*))
#define ASSERT_ENTRY(_member) \
    UCS_STATIC_ASSERT(ucs_offsetof(list_entry_t, _member) == \
                      ucs_offsetof(ucs_config_global_list_entry_t, _member))

static void assert_layouts(void)
{
    UCS_STATIC_ASSERT(sizeof(ucs_config_field_t) == WORDS * sizeof(void*));
    ASSERT_WORD(WORD_NAME, name);
    ASSERT_WORD(WORD_DEFAULT, dfl_value);
    ASSERT_WORD(WORD_DOC, doc);
    ASSERT_WORD(WORD_OFFSET, offset);
    ASSERT_WORD(WORD_READ, parser.read);
    ASSERT_WORD(WORD_WRITE, parser.write);
    ASSERT_WORD(WORD_CLONE, parser.clone);
    ASSERT_WORD(WORD_RELEASE, parser.release);
    ASSERT_WORD(WORD_HELP, parser.help);
    ASSERT_WORD(ARG, parser.arg);
    ASSERT_ENTRY(name);
    ASSERT_ENTRY(prefix);
    ASSERT_ENTRY(table);
    ASSERT_ENTRY(size);
    ASSERT_ENTRY(list);
    UCS_STATIC_ASSERT(sizeof(list_entry_t) >=
                      sizeof(ucs_config_global_list_entry_t));
}

/* The function of UCX that reads a table, by version */
static const union {
    void         (*any)(void);
    ucs_status_t (*from_1_13)(void *values, void *table, const char *env_prefix,
                              const char *table_prefix, int ignore_errors);
    ucs_status_t (*from_1_15)(void *values, list_entry_t *entry,
                              const char *env_prefix, int ignore_errors);
} fill_opts = {(void (*)(void))ucs_config_parser_fill_opts};

/* The entered table, in the form for listing, which lacks the hidden settings, and in the
 * form for reading */
static void *listed_words[(UCT_PREDREG_CONFIG_MAX + 1) * WORDS_1_17];
static void *read_words[(UCT_PREDREG_CONFIG_MAX + 1) * WORDS_1_17];
static list_entry_t listed, all;


/* UCX's function for further text about a setting: there is none */
static void doc_nop(void *strb, const void *arg)
{
}

/* Make a row of UCX's table. The function that copies a value is left out: UCX calls it only for
 * the owner of a table who asks UCX to copy all values, and this library does not ask. */
static void make_field(const uct_predreg_config_field_t *field, unsigned minor,
                       void **words)
{
    words[WORD_NAME]    = (void*)field->name;
    words[WORD_DEFAULT] = (void*)field->dfl_value;
    words[WORD_DOC]     = (void*)field->doc;
    words[WORD_OFFSET]  = (void*)(uintptr_t)field->offset;
    words[WORD_READ]    = (void*)field->type->read;
    words[WORD_WRITE]   = (void*)field->type->write;
    words[WORD_CLONE]   = NULL; /* Nobody copies the values, see above */
    words[WORD_RELEASE] = (void*)field->type->release;
    words[WORD_HELP]    = (void*)field->type->help;

    if (minor >= UCT_PREDREG_UCS_CONFIG_DOC) {
        words[WORD_1_17_DOC] = (void*)doc_nop;
        words[WORD_1_17_ARG] = (void*)field;
    } else {
        words[WORD_1_13_ARG] = (void*)field;
    }
}

size_t uct_predreg_config_make(const uct_predreg_config_table_t *table,
                               int hidden, unsigned minor, void **words,
                               size_t max)
{
    const size_t step = (minor >= UCT_PREDREG_UCS_CONFIG_DOC) ? WORDS_1_17 :
                                                                WORDS_1_13;
    const uct_predreg_config_field_t *field;
    size_t used = 0;

    for (field = table->fields;
         (field->name != NULL) && (used + (2 * step) <= max);
         field = UCS_PTR_BYTE_OFFSET(field, table->stride)) {
        if (hidden || !field->is_hidden) {
            make_field(field, minor, &words[used]);
            used += step;
        }
    }

    memset(&words[used], 0, step * sizeof(*words));
    return used;
}

static void make_entry(const uct_predreg_config_table_t *table, int hidden,
                       void **words, size_t max, list_entry_t *entry)
{
    uct_predreg_config_make(table, hidden, uct_predreg_ucs_minor(), words, max);
    *entry = (list_entry_t){
        .name   = table->title,
        .prefix = table->prefix,
        .table  = (ucs_config_field_t*)words,
        .size   = table->size
    };
}

void uct_predreg_config_register(const uct_predreg_config_table_t *table)
{
    assert_layouts();
    make_entry(table, 1, read_words, ucs_static_array_size(read_words), &all);
    make_entry(table, 0, listed_words, ucs_static_array_size(listed_words),
               &listed);
    ucs_list_add_tail(&ucs_config_global_list, &listed.list);
}

void uct_predreg_config_unregister(void)
{
    ucs_list_del(&listed.list);
}

ucs_status_t uct_predreg_config_read(const char *env_prefix, void *values)
{
    return (uct_predreg_ucs_minor() >= UCT_PREDREG_UCS_CONFIG_ENTRY) ?
           fill_opts.from_1_15(values, &all, env_prefix, 0) :
           fill_opts.from_1_13(values, all.table, env_prefix, all.prefix, 0);
}
