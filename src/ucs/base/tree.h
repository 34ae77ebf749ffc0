/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_TREE_H_
#define UCS_TREE_H_

#include <stddef.h>

/** @file tree.h
 *
 * A balanced tree of elements that bring their own links, so that an insertion
 * allocates nothing. Elements may carry a summary of all elements below them, such
 * as the greatest of their values, and the tree keeps the summaries up to date; a
 * search can then leave out whole branches. The table of regions and the queues of
 * the helper are such trees.
 *
 * The tree of Adelson-Velsky and Landis (D. Knuth, The Art of Computer Programming,
 * volume 3, section 6.2.3): the heights of the two branches of an element differ by
 * 1 at most, and no element is deeper than 1.44 log2(n). The trees of UCS (sglib)
 * and of libbsd keep no summaries.
 *
 * The functions take no lock and allocate nothing. Unless their comment says
 * otherwise they take O(log n) steps.
 */

/** The links of an element. */
typedef struct ucs_tree_node {
    struct ucs_tree_node *parent;
    struct ucs_tree_node *child[2]; /**< The branches before and after the
                                         element */
    unsigned             height;    /**< 1: the element has no children */
} ucs_tree_node_t;


/** @return whether @a node has to come before @a other. */
typedef int (*ucs_tree_before_t)(
        const ucs_tree_node_t *node,
        const ucs_tree_node_t *other);


/** Compute the summary of an element from its own value and from the summaries
 *  of its children. @return whether the summary has changed. */
typedef int (*ucs_tree_sum_t)(ucs_tree_node_t *node);


typedef struct ucs_tree {
    ucs_tree_node_t   *root; /**< NULL: the tree is empty */
    ucs_tree_before_t before;
    ucs_tree_sum_t    sum;
} ucs_tree_t;


/** Initialize an empty tree. */
static inline void
ucs_tree_init(ucs_tree_t *tree,
              ucs_tree_before_t before,
              ucs_tree_sum_t sum)
{
    tree->root   = NULL;
    tree->before = before;
    tree->sum    = sum;
}

/** Insert an element. Elements of which neither has to come before the other
 *  stay in the order of their insertion. */
void ucs_tree_insert(ucs_tree_t *tree,
                     ucs_tree_node_t *node);

void ucs_tree_remove(ucs_tree_t *tree,
                     ucs_tree_node_t *node);

/** Update the summaries after the value of an element has changed. Its place in
 *  the order must not have changed. */
void ucs_tree_update(ucs_tree_t *tree,
                     ucs_tree_node_t *node);

/** @return the first element of a branch, or NULL if there is no branch. */
ucs_tree_node_t *
ucs_tree_first(ucs_tree_node_t *branch);

/** @return the element after @a node, or NULL. */
ucs_tree_node_t *
ucs_tree_next(ucs_tree_node_t *node);

#endif
