/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "compat.h"
#include "columns.h"

#include <ucs/sys/preprocessor.h>
#include <uct/api/version.h>


const uct_predreg_compat_t *const uct_predreg_compat_columns[] = {
    &uct_predreg_compat_1_13,
    NULL
};


const uct_predreg_compat_t *uct_predreg_compat_select(unsigned major,
                                                      unsigned minor)
{
    const uct_predreg_compat_t *const *column;

    if ((major != UCT_VERNO_MAJOR) || (minor != UCT_VERNO_MINOR)) {
        return NULL;
    }

    for (column = uct_predreg_compat_columns; *column != NULL; ++column) {
        if ((major == (*column)->major) && (minor >= (*column)->first_minor) &&
            (minor <= (*column)->last_minor)) {
            return *column;
        }
    }

    return NULL;
}

const char *uct_predreg_compat_accepted(void)
{
    return UCS_PP_MAKE_STRING(UCT_VERNO_MAJOR) "."
           UCS_PP_MAKE_STRING(UCT_VERNO_MINOR);
}

const uct_predreg_compat_t *uct_predreg_compat_built_for(void)
{
    return uct_predreg_compat_select(UCT_VERNO_MAJOR, UCT_VERNO_MINOR);
}
