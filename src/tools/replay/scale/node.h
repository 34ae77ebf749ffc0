/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SCALE_NODE_H_
#define PREDREG_SCALE_NODE_H_

#include "model.h"

BEGIN_C_DECLS

/** @file node.h Adds up what happens in a node of a larger job. scale.c calls
 *  these functions. */

/**
 * Add what the ranks of a node have registered. Defined in node_memory.c.
 *
 * @param [in] first  First rank of the node.
 * @param [in] end    The rank after the last one of the node.
 * @param [in] count  How many nodes of the job are like this one.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t scale_add_memory(scale_model_t *model, unsigned first,
                              unsigned end, unsigned count);

/** Add what the helpers of a node do on the cores that no rank runs on. There
 *  must be at least one such core. The parameters are those of
 *  scale_add_memory(). Defined in node_helpers.c. */
ucs_status_t scale_add_helpers(scale_model_t *model, unsigned first,
                               unsigned end, unsigned count);

END_C_DECLS

#endif
