/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bar.h"

#include <ucs/sys/math.h>


void predreg_bar_write(FILE *out, double part)
{
    fprintf(out, "<svg class=\"bar\" aria-hidden=\"true\"><rect "
                 "width=\"%.1f%%\" height=\"100%%\"/></svg>",
            100 * ucs_max(0, ucs_min(1, part)));
}
