/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_CONFIG_PARSER_H_
#define UCT_PREDREG_CONFIG_PARSER_H_

#include <ucs/config/parser.h>
#include <ucs/sys/preprocessor.h>
#include <uct/api/version.h>

/** @file config_parser.h
 *
 * The functions of UCS that read a table of settings, with which the knobs are
 * read. UCX 1.15 changed their parameters, which this header hides. They are
 * not thread safe.
 *
 * The functions take the name of a table that UCS_CONFIG_REGISTER_TABLE()
 * registered, since 1.15 wants what that macro made of it.
 */

#if UCT_API >= UCT_VERSION(1, 15)

#define uct_predreg_config_fill(_opts, _table, _env_prefix, _prefix) \
    ucs_config_parser_fill_opts(_opts, \
                                &UCS_PP_TOKENPASTE(_table, _config_entry), \
                                _env_prefix, 0)

#define uct_predreg_config_set(_opts, _table, _prefix, _name, _value) \
    ucs_config_parser_set_value(_opts, _table, _prefix, _name, _value)

#else

/** Read settings from the environment. */
#define uct_predreg_config_fill(_opts, _table, _env_prefix, _prefix) \
    ucs_config_parser_fill_opts(_opts, _table, _env_prefix, _prefix, 0)

/** Change one setting. */
#define uct_predreg_config_set(_opts, _table, _prefix, _name, _value) \
    ucs_config_parser_set_value(_opts, _table, _name, _value)

#endif

/* The functions by which the value of a setting is read from text, printed,
 * copied and described, and the last argument of each. Versions that want
 * another one of them get it from here. */
#if UCT_API >= UCT_VERSION(1, 17)

#define UCT_PREDREG_CONFIG_TYPE(_read, _write, _clone, _help, _arg) \
    {_read, _write, _clone, ucs_config_release_nop, _help, ucs_config_doc_nop, \
     _arg}

#else

#define UCT_PREDREG_CONFIG_TYPE(_read, _write, _clone, _help, _arg) \
    {_read, _write, _clone, ucs_config_release_nop, _help, _arg}

#endif

#endif
