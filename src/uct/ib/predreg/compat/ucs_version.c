/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucs_version.h"

#include <ucs/type/status.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>


/* Functions that libucs has since these versions. Those of 1.15 and 1.17 came
 * together with the change of the parser, in the same file (config/parser.c);
 * for the operations of caches there is none, so that this is another new
 * function of that version (datastruct/string_buffer.c). */
static const struct {
    unsigned   minor;
    const char *function;
} changes[] = {
    {UCT_PREDREG_UCS_RCACHE_MERGE, "ucs_string_buffer_append_saddr"},
    {UCT_PREDREG_UCS_CONFIG_DOC, "ucs_config_doc_nop"},
    {UCT_PREDREG_UCS_CONFIG_ENTRY, "ucs_config_sscanf_uint_enum"}
};


/* @return the libucs that this library is linked with: a process may have
 * another one. To be closed unless it is NULL, which means where the program
 * looks for functions. */
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

    /* Relaxed: threads that come here at the same time find the same */
    minor = atomic_load_explicit(&found, memory_order_relaxed);
    if (minor == 0) {
        minor = find_minor();
        atomic_store_explicit(&found, minor, memory_order_relaxed);
    }
    return minor;
}
