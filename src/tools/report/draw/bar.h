/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_BAR_H_
#define PREDREG_BAR_H_

#include <ucs/sys/compiler_def.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file bar.h
 *
 *  Draws a number of a table as a bar. The sections of the page call this. */

/** Write a bar that fills this part of its cell, from 0 to 1; a part beyond
 *  that range is drawn as the nearest end of it. The cell beside it has to say
 *  the number, since screen readers are told to skip the bar. */
void predreg_bar_write(FILE *out, double part);

END_C_DECLS

#endif
