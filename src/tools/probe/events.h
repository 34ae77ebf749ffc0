/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_EVENTS_H_
#define PREDREG_PROBE_EVENTS_H_

#include "ucx.h"

BEGIN_C_DECLS

/** @file events.h
 *
 * Whether UCX's memory hooks tell of unmapped memory in a process like this
 * one: without that a registration cache would not notice that a buffer is
 * gone. */

/** Ask UCM for these events as the library does, unmap memory, and say what
 *  came of it. */
void predreg_probe_events(const predreg_probe_ucx_t *ucx);

END_C_DECLS

#endif
