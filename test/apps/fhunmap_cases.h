/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Each way to unmap exposed memory once, step by step: what its owner does,
 * and what a peer does that has firehoses on it.
 */

#ifndef TEST_APPS_FHUNMAP_CASES_H_
#define TEST_APPS_FHUNMAP_CASES_H_

#include "fhjob.h"


/* Run all cases. Both processes call it: the first one owns the memory. They
 * use two words of fhjob_shared_t::extra. */
void fhunmap_cases(fhjob_t *job);

#endif
