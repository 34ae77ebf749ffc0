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
 * Reads settings of UCP, which has no function for that: a configuration is
 * printed, and settings are searched for in the text.
 */

/** @return the text of all settings, to be freed; NULL: there is no memory. */
char *uct_predreg_ucp_settings(const uct_predreg_real_t *real,
                               const ucp_config_t *config);

/**
 * @param [in]  text   That of all settings; NULL: there are none.
 * @param [in]  name   Name of the setting, without UCX_.
 * @param [out] value  Filled with the value as text.
 * @return whether the configuration has this setting.
 */
int uct_predreg_ucp_settings_find(const char *text, const char *name,
                                  char *value, size_t max);

/** Find one setting of a configuration, as above. */
int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max);

END_C_DECLS

#endif
