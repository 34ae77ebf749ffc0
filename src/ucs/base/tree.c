/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tree.h"

/*
 * A change of the tree goes on to the parents until one of them has neither another
 * height nor another summary than before: parents above have not changed then
 * either.
 */

typedef ucs_tree_t      tree_t;
typedef ucs_tree_node_t node_t;


static unsigned height(const node_t *node)
{
    return (node == NULL) ? 0 : node->height;
}

/* Compute height and summary of an element. @return whether one has changed. */
static int refresh(tree_t *tree, node_t *node)
{
    unsigned left  = height(node->child[0]);
    unsigned right = height(node->child[1]);
    unsigned old   = node->height;

    node->height = 1 + ((left > right) ? left : right);
    return tree->sum(node) | (node->height != old);
}

/* Put an element in the place that a node has under its parent, or at the root.
 * NULL leaves that place empty. */
static void replace(tree_t *tree, node_t *node, node_t *other)
{
    node_t *parent = node->parent;

    if (parent == NULL) {
        tree->root = other;
    } else {
        parent->child[parent->child[1] == node] = other;
    }

    if (other != NULL) {
        other->parent = parent;
    }
}

static void set_child(node_t *node, int side, node_t *child)
{
    node->child[side] = child;
    if (child != NULL) {
        child->parent = node;
    }
}

/* Let the child on one side take the place of its parent, and the parent become
 * the child of that child, on the other side. @return the new parent. */
static node_t *rotate(tree_t *tree, node_t *node, int side)
{
    node_t *child = node->child[side];

    replace(tree, node, child);
    set_child(node, side, child->child[!side]);
    set_child(child, !side, node);
    refresh(tree, node);
    refresh(tree, child);
    return child;
}

/* Balance the branch of an element whose children are balanced. @return the
 * element at the top of the branch. */
static node_t *balance(tree_t *tree, node_t *node)
{
    unsigned left  = height(node->child[0]);
    unsigned right = height(node->child[1]);
    node_t *child;
    int side;

    if ((left <= right + 1) && (right <= left + 1)) {
        return node;
    }

    side  = (right > left);
    child = node->child[side];
    if (height(child->child[!side]) > height(child->child[side])) {
        rotate(tree, child, !side);
    }
    return rotate(tree, node, side);
}

/* Bring an element and its parents up to date, and balance them. If @a moved is
 * not NULL, that element has got a new place, where another element or none was
 * before: the climb goes on at least to its parent. */
static void climb(tree_t *tree, node_t *node, const node_t *moved)
{
    node_t *top;
    int changed;

    for (; node != NULL; node = top->parent) {
        changed = refresh(tree, node) || (moved != NULL);
        if (node == moved) {
            moved = NULL;
        }

        top = balance(tree, node);
        if (!changed && (top == node)) {
            break;
        }
    }
}

void ucs_tree_insert(ucs_tree_t *tree,
                     ucs_tree_node_t *node)
{
    node_t **link  = &tree->root;
    node_t *parent = NULL;

    while (*link != NULL) {
        parent = *link;
        link   = &parent->child[!tree->before(node, parent)];
    }

    *link          = node;
    node->parent   = parent;
    node->child[0] = NULL;
    node->child[1] = NULL;
    node->height   = 0;
    climb(tree, node, node);
}

void ucs_tree_remove(ucs_tree_t *tree,
                     ucs_tree_node_t *node)
{
    node_t *next, *lowest;

    if ((node->child[0] == NULL) || (node->child[1] == NULL)) {
        replace(tree, node, node->child[node->child[0] == NULL]);
        climb(tree, node->parent, NULL);
        return;
    }

    /* The element after the removed one takes its place. That element has no
     * child on the side of earlier elements */
    next   = ucs_tree_first(node->child[1]);
    lowest = (next->parent == node) ? next : next->parent;
    replace(tree, next, next->child[1]);
    set_child(next, 0, node->child[0]);
    set_child(next, 1, node->child[1]);
    replace(tree, node, next);
    climb(tree, lowest, next);
}

void ucs_tree_update(ucs_tree_t *tree,
                     ucs_tree_node_t *node)
{
    climb(tree, node, NULL);
}

ucs_tree_node_t *
ucs_tree_first(ucs_tree_node_t *branch)
{
    if (branch == NULL) {
        return NULL;
    }

    while (branch->child[0] != NULL) {
        branch = branch->child[0];
    }
    return branch;
}

ucs_tree_node_t *
ucs_tree_next(ucs_tree_node_t *node)
{
    if (node->child[1] != NULL) {
        return ucs_tree_first(node->child[1]);
    }

    while ((node->parent != NULL) && (node == node->parent->child[1])) {
        node = node->parent;
    }
    return node->parent;
}
