/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SCALE_NODE_H_
#define PREDREG_SCALE_NODE_H_

#include "model.h"

BEGIN_C_DECLS

/** @file node.h  What happens in a node of a larger job. Called by scale.c. */

/**
 * node_memory.c: add what the ranks of a node have registered.
 *
 * @param [in] first  First rank of the node.
 * @param [in] end    The one after its last.
 * @param [in] count  So many nodes of the job are like this one.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t scale_add_memory(scale_model_t *model, unsigned first,
                              unsigned end, unsigned count);

/** node_helpers.c: likewise, what the helpers of a node do on the cores that no
 *  rank has, of which there must be one. */
ucs_status_t scale_add_helpers(scale_model_t *model, unsigned first,
                               unsigned end, unsigned count);

END_C_DECLS

#endif
