/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "debuginfo.h"


ucs_status_t predreg_debuginfo_open(const char *path, const uint8_t *build_id,
                                unsigned length, predreg_debuginfo_t **info_p)
{
    return UCS_ERR_UNSUPPORTED;
}

void predreg_debuginfo_close(predreg_debuginfo_t *info)
{
}

unsigned predreg_debuginfo_find(predreg_debuginfo_t *info, uint64_t address,
                            predreg_frame_t *frames, unsigned max)
{
    return 0;
}
