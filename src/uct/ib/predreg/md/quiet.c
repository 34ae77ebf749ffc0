/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "quiet.h"

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <string.h>


/* The file of UCP that says of a registration that it has failed */
#define UCP_FILE "ucp_mm.c"

/* How many times this thread's messages are held back, within each other: above 0
 * they are */
static __thread unsigned quiet_depth;

/* Whether the next error that UCP logs in this thread is */
static __thread int is_quiet_once;


static int is_of_ucp(const char *file)
{
    const char *name = strrchr(file, '/');

    return !strcmp((name == NULL) ? file : name + 1, UCP_FILE);
}

/* UCX's log calls this before it writes a message */
static ucs_log_func_rc_t
handle_message(const char *file, unsigned line, const char *function,
               ucs_log_level_t level,
               const ucs_log_component_config_t *comp_conf, const char *message,
               va_list ap)
{
    if (ucs_unlikely(is_quiet_once) && (level == UCS_LOG_LEVEL_ERROR)) {
        is_quiet_once = 0;
        if (is_of_ucp(file)) {
            return UCS_LOG_FUNC_RC_STOP;
        }
    }

    return ((quiet_depth > 0) && (level <= UCS_LOG_LEVEL_WARN)) ?
           UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

void uct_predreg_quiet_install(void)
{
    ucs_log_push_handler(handle_message);
}

void uct_predreg_quiet_begin(void)
{
    ++quiet_depth;
}

void uct_predreg_quiet_once(void)
{
    is_quiet_once = 1;
}

void uct_predreg_quiet_end(void)
{
    --quiet_depth;
}
