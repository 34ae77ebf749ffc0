/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCP_SETTING_H_
#define UCT_PREDREG_UCP_SETTING_H_

#include "real.h"

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file ucp_setting.h
 *
 * Reads a setting of UCP, which has no function for that.
 */

/**
 * @param [in]  name   Name of the setting, without UCX_.
 * @param [out] value  Filled with the value as text.
 * @return whether the configuration has this setting.
 */
int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max);

END_C_DECLS

#endif
