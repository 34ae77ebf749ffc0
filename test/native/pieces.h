/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_PIECES_H_
#define TEST_NATIVE_PIECES_H_

#include <stddef.h>
#include <stdint.h>

/** @file pieces.h
 *
 * In how many pieces an adapter is told the pages of some memory, see NATIVE_PIECES in
 * README.md.
 */

/** Get ready, once in each process. If the kernel does not tell huge pages, this says so
 *  and ends the process. */
void pieces_start(void);

/** @return how many pieces the memory has: a huge page is one piece, whatever part of it
 *          the memory has, and each other page is a piece. Without NATIVE_PIECES, or before
 *          pieces_start(), the number of pages of 4 KiB.
 *  @param [in] start, end  Multiples of 4 KiB. */
size_t pieces_count(uintptr_t start, uintptr_t end);

#endif
