/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_DEBUGINFO_H_
#define PREDREG_DEBUGINFO_H_

#include "symbols.h"

/** @file debuginfo.h  Symbols and debug information of one file, by libdw. */

typedef struct predreg_debuginfo predreg_debuginfo_t;

/**
 * @param [in] build_id  It must have; length 0: any.
 * @return UCS_ERR_NO_ELEM if it cannot be read, UCS_ERR_REJECTED if it is
 *         another one, UCS_ERR_UNSUPPORTED without libdw, UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_debuginfo_open(const char *path, const uint8_t *build_id,
                                unsigned length, predreg_debuginfo_t **info_p);
void predreg_debuginfo_close(predreg_debuginfo_t *info);

/**
 * As @ref predreg_symbols_find, of an address in the file, within the call.
 * Sets function, file and line only.
 *
 * @return number of frames, 0 if nothing is known.
 */
unsigned predreg_debuginfo_find(predreg_debuginfo_t *info, uint64_t address,
                            predreg_frame_t *frames, unsigned max);

#endif
