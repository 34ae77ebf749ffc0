/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

/* What a thread is doing, for overriding functions that it comes through meanwhile. About
 * initial-exec, see preload.h */


__thread __attribute__((tls_model("initial-exec")))
uct_predreg_purpose_t predreg_purpose;

__thread __attribute__((tls_model("initial-exec")))
unsigned predreg_window_pages;

__thread __attribute__((tls_model("initial-exec")))
predreg_packing_t *predreg_packing;

__thread __attribute__((tls_model("initial-exec")))
unsigned predreg_in_progress;

__thread __attribute__((tls_model("initial-exec")))
const void *predreg_dynamic_keys;

__thread __attribute__((tls_model("initial-exec")))
predreg_whole_t predreg_whole;
