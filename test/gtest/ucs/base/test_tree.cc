/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>


/* Elements ordered by a key, with two summaries: one that usually stays the
 * same when an element changes, and one that never does */
class test_tree : public ::testing::Test {
protected:
    typedef ucs_tree_node_t node_t;

    struct elem_t {
        node_t   node;
        unsigned key;
        unsigned value;
        unsigned max;   /* Of all values of the branch */
        unsigned total; /* Sum of all values of the branch */
    };

    test_tree() { ucs_tree_init(&m_tree, before, sum); }

    static elem_t *elem(const node_t *node) { return (elem_t*)node; }

    static int before(const node_t *a, const node_t *b)
    {
        return elem(a)->key < elem(b)->key;
    }

    static unsigned max(const node_t *node)
    {
        return (node == NULL) ? 0 : elem(node)->max;
    }

    static unsigned total(const node_t *node)
    {
        return (node == NULL) ? 0 : elem(node)->total;
    }

    static int sum(node_t *node)
    {
        elem_t old = *elem(node);
        elem(node)->max   = std::max({old.value, max(node->child[0]),
                                      max(node->child[1])});
        elem(node)->total = old.value + total(node->child[0]) +
                            total(node->child[1]);
        return (elem(node)->max != old.max) || (elem(node)->total != old.total);
    }

    /* All that the tree promises of a branch. Returns its height */
    static unsigned check(const node_t *node, const node_t *parent)
    {
        if (node == NULL) {
            return 0;
        }

        unsigned left  = check(node->child[0], node);
        unsigned right = check(node->child[1], node);
        EXPECT_EQ(parent, node->parent);
        EXPECT_LE(std::max(left, right) - std::min(left, right), 1u);
        EXPECT_EQ(1 + std::max(left, right), node->height);
        EXPECT_EQ(elem(node)->max, std::max({elem(node)->value,
                                             max(node->child[0]),
                                             max(node->child[1])}));
        EXPECT_EQ(elem(node)->total, elem(node)->value +
                  total(node->child[0]) + total(node->child[1]));
        return node->height;
    }

    std::vector<elem_t*> order()
    {
        std::vector<elem_t*> elems;

        for (node_t *node = ucs_tree_first(m_tree.root);
             node != NULL; node = ucs_tree_next(node)) {
            elems.push_back(elem(node));
        }
        return elems;
    }

    void insert(elem_t *elem)
    {
        ucs_tree_insert(&m_tree, &elem->node);
    }

    void remove(elem_t *elem)
    {
        ucs_tree_remove(&m_tree, &elem->node);
    }

    ucs_tree_t m_tree;
};

TEST_F(test_tree, empty)
{
    EXPECT_EQ(NULL, ucs_tree_first(m_tree.root));
}

TEST_F(test_tree, equal_ones_keep_their_order)
{
    std::vector<elem_t> elems(100, elem_t{{}, 7, 1});
    std::vector<elem_t*> expected;

    for (elem_t &elem : elems) {
        insert(&elem);
        expected.push_back(&elem);
    }
    EXPECT_EQ(expected, order());
}

TEST_F(test_tree, low_in_whatever_order_elements_come)
{
    std::mt19937 random(1);

    for (int way = 0; way < 3; ++way) {
        std::vector<elem_t> elems(10000);
        for (unsigned i = 0; i < elems.size(); ++i) {
            elems[i].key = (way == 0) ? i : (way == 1) ? -i : random();
            insert(&elems[i]);
        }
        EXPECT_LE(check(m_tree.root, NULL), 1.4405 * log2(elems.size() + 2));
        for (elem_t &elem : elems) {
            remove(&elem);
        }
        EXPECT_EQ(NULL, m_tree.root);
    }
}

TEST_F(test_tree, right_after_each_of_many_changes)
{
    std::mt19937 random(1);
    std::vector<elem_t> elems(60);
    std::vector<elem_t*> in, out;

    for (elem_t &elem : elems) {
        out.push_back(&elem);
    }

    for (unsigned i = 0; i < 10000; ++i) {
        /* Grows to all elements and shrinks to none in turns */
        bool grow    = (i / 250) % 2 ? (random() % 3 > 0) : (random() % 3 == 0);
        auto &from   = grow ? out : in;
        auto &to     = grow ? in : out;
        if (!from.empty()) {
            std::swap(from[random() % from.size()], from.back());
            to.push_back(from.back());
            from.pop_back();
            if (grow) {
                to.back()->key   = random() % 40;
                to.back()->value = random() % 100;
                to.back()->max   = random() % 100; /* What it was once */
                to.back()->total = random() % 100;
                insert(to.back());
            } else {
                remove(to.back());
            }
        }

        if (!in.empty() && (random() % 2)) {
            elem_t *changed = in[random() % in.size()];
            changed->value  = random() % 100;
            ucs_tree_update(&m_tree, &changed->node);
        }

        check(m_tree.root, NULL);
        std::vector<elem_t*> present = order();
        ASSERT_TRUE(std::is_sorted(present.begin(), present.end(),
                                   [](elem_t *a, elem_t *b) {
                                       return a->key < b->key;
                                   }));
        ASSERT_TRUE(std::is_permutation(present.begin(), present.end(),
                                        in.begin(), in.end()));
        ASSERT_FALSE(HasFailure()) << "after " << i << " changes";
    }
}
