/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_DEBUGINFO_H_
#define PREDREG_DEBUGINFO_H_

#include "symbols.h"

/** @file debuginfo.h Reads symbols and debug information of one file with
 *  libdw. */

typedef struct predreg_debuginfo predreg_debuginfo_t;

/**
 * @param [in] build_id  Build ID that the file must have; length 0: any.
 * @return UCS_ERR_NO_ELEM if the file cannot be read, UCS_ERR_REJECTED if it
 *         has another build ID, UCS_ERR_UNSUPPORTED if this was built without
 *         libdw, or UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_debuginfo_open(const char *path, const uint8_t *build_id,
                                unsigned length, predreg_debuginfo_t **info_p);
void predreg_debuginfo_close(predreg_debuginfo_t *info);

/**
 * Find the frames of an address in the file, as @ref predreg_symbols_find does.
 * The address must be that of the call instruction, or inside of it. Only the
 * fields function, file and line of the frames are set.
 *
 * @return the number of frames; 0 if nothing is known.
 */
unsigned predreg_debuginfo_find(predreg_debuginfo_t *info, uint64_t address,
                            predreg_frame_t *frames, unsigned max);

#endif
