/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <random>
#include <set>
#include <vector>


class test_buckets : public ::testing::Test {
protected:
    struct elem_t {
        ucs_hlist_link_t link;
        uint64_t         key;
    };

    test_buckets()
    {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_buckets_init(&m_buckets, 2, key));
    }

    ~test_buckets() { ucs_rcache_pred_buckets_cleanup(&m_buckets); }

    static uint64_t key(const ucs_hlist_link_t *link)
    {
        return ((const elem_t*)link)->key;
    }

    unsigned capacity()
    {
        return ucs_rcache_pred_buckets_capacity(&m_buckets);
    }

    ucs_hlist_head_t *bucket(uint64_t key)
    {
        return ucs_rcache_pred_bucket(&m_buckets, key);
    }

    void grow()
    {
        unsigned old = capacity();
        free(ucs_rcache_pred_buckets_grow(&m_buckets,
                                          ucs_rcache_pred_buckets_alloc(old),
                                          old));
    }

    /* As a table does it: grow when there are as many elements as buckets */
    void add(elem_t *elem)
    {
        if (m_count == capacity()) {
            grow();
        }

        ucs_rcache_pred_buckets_move(&m_buckets);
        ucs_hlist_add_head(bucket(elem->key), &elem->link);
        ++m_count;
    }

    void remove(elem_t *elem)
    {
        ucs_hlist_del(bucket(elem->key), &elem->link);
        --m_count;
    }

    /* How many elements are looked at to find each one, on average */
    double steps(std::vector<elem_t> &elems)
    {
        size_t count = 0;

        for (elem_t &elem : elems) {
            elem_t *other;
            ucs_hlist_for_each(other, bucket(elem.key), link) {
                ++count;
                if (other == &elem) {
                    break;
                }
            }
        }
        return (double)count / elems.size();
    }

    std::vector<elem_t*> find(uint64_t key)
    {
        std::vector<elem_t*> found;
        elem_t *elem;

        ucs_hlist_for_each(elem, bucket(key), link) {
            if (elem->key == key) {
                found.push_back(elem);
            }
        }
        return found;
    }

    ucs_rcache_pred_buckets_t m_buckets;
    unsigned                  m_count = 0;
};

TEST_F(test_buckets, as_many_as_elements)
{
    std::vector<elem_t> elems(10000);

    for (unsigned i = 0; i < elems.size(); ++i) {
        elems[i].key = i * 4096;
        add(&elems[i]);
        ASSERT_LE(m_count, capacity());
        ASSERT_LE(capacity(), std::max(4u, 2 * m_count));
    }
}

TEST_F(test_buckets, elements_of_one_key_keep_their_order)
{
    std::vector<elem_t> elems(100);
    std::vector<elem_t*> newest_first;

    for (elem_t &elem : elems) {
        elem.key = 7;
        add(&elem);
        newest_first.insert(newest_first.begin(), &elem);
        ASSERT_EQ(newest_first, find(7));
    }
}

TEST_F(test_buckets, found_while_they_move)
{
    std::mt19937 random(1);
    std::vector<elem_t> elems(2000);
    std::set<elem_t*> in;

    for (unsigned i = 0; i < 3 * elems.size(); ++i) {
        elem_t *elem = &elems[random() % elems.size()];
        if (in.insert(elem).second) {
            elem->key = (elem - elems.data()) * 0x40 + 0x7f0000000000;
            add(elem);
        } else {
            in.erase(elem);
            remove(elem);
        }

        if (i % 16 == 0) {
            for (elem_t &other : elems) {
                ASSERT_EQ(in.count(&other), find(other.key).size());
            }
        }
    }
}

/* Buffers and handles often have the same distance from one to the next. With 3
 * elements to 4 buckets that were chosen at random, 1.375 elements are looked
 * at. */
TEST_F(test_buckets, strides)
{
    for (unsigned shift = 3; shift <= 26; ++shift) {
        for (uint64_t factor = 1; factor <= 7; factor += 2) {
            uint64_t stride = factor << shift;
            std::vector<elem_t> elems(3 * 4096);

            for (unsigned i = 0; i < elems.size(); ++i) {
                elems[i].key = 0x7f0000000040 + i * stride;
                add(&elems[i]);
            }
            while (m_buckets.old != NULL) {
                ucs_rcache_pred_buckets_move(&m_buckets);
            }

            EXPECT_EQ(4u * 4096, capacity());
            EXPECT_LT(steps(elems), 1.5) << "stride " << stride;
            for (elem_t &elem : elems) {
                remove(&elem);
            }
        }
    }
}

/* Another thread may have made room while this one allocated it */
TEST_F(test_buckets, grow_once_for_two_who_want_it)
{
    ucs_hlist_head_t *first  = ucs_rcache_pred_buckets_alloc(4);
    ucs_hlist_head_t *second = ucs_rcache_pred_buckets_alloc(4);

    EXPECT_EQ(NULL, ucs_rcache_pred_buckets_grow(&m_buckets, first, 4));
    EXPECT_EQ(8u, capacity());
    EXPECT_EQ(second, ucs_rcache_pred_buckets_grow(&m_buckets, second, 4));
    EXPECT_EQ(8u, capacity());

    /* Nothing is lost if they shall grow again before all have moved */
    EXPECT_EQ(second, ucs_rcache_pred_buckets_grow(&m_buckets, second, 8));
    free(second);
}

TEST_F(test_buckets, no_memory)
{
    ucs_rcache_pred_buckets_t buckets;

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY,
              ucs_rcache_pred_buckets_init(&buckets, 2, key));
    test_alloc_fail_nth(0);
    EXPECT_EQ(NULL, ucs_rcache_pred_buckets_grow(&m_buckets, NULL, 4));
    EXPECT_EQ(4u, capacity());
}
