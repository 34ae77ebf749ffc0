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
        EXPECT_EQ(UCS_OK, ucs_buckets_init(&m_buckets, 2, key));
    }

    ~test_buckets() { ucs_buckets_cleanup(&m_buckets); }

    static uint64_t key(const ucs_hlist_link_t *link)
    {
        return ((const elem_t*)link)->key;
    }

    unsigned capacity()
    {
        return ucs_buckets_capacity(&m_buckets);
    }

    virtual ucs_hlist_head_t *bucket(uint64_t key)
    {
        return ucs_bucket(&m_buckets, key);
    }

    virtual bool wants_growth() { return m_count == capacity(); }

    virtual void insert(elem_t *elem)
    {
        ucs_buckets_move(&m_buckets);
        ucs_hlist_add_head(bucket(elem->key), &elem->link);
    }

    void grow()
    {
        unsigned old = capacity();
        free(ucs_buckets_grow(&m_buckets,
                                          ucs_buckets_alloc(old),
                                          old));
    }

    /* As a table does it: grow when there are as many elements as buckets */
    void add(elem_t *elem)
    {
        if (wants_growth()) {
            grow();
        }

        insert(elem);
        ++m_count;
    }

    virtual void take(elem_t *elem)
    {
        ucs_hlist_del(bucket(elem->key), &elem->link);
    }

    void remove(elem_t *elem)
    {
        take(elem);
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

    /* Add and remove elements that have this distance at random, and look for all
     * of them meanwhile */
    void test_found_while_they_move(uint64_t stride)
    {
        std::mt19937 random(1);
        std::vector<elem_t> elems(2000);
        std::set<elem_t*> in;

        for (unsigned i = 0; i < 3 * elems.size(); ++i) {
            elem_t *elem = &elems[random() % elems.size()];
            if (in.insert(elem).second) {
                elem->key = (elem - elems.data()) * stride + 0x7f0000000000;
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

    ucs_buckets_t m_buckets;
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
    test_found_while_they_move(0x40);
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
                ucs_buckets_move(&m_buckets);
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
    ucs_hlist_head_t *first  = ucs_buckets_alloc(4);
    ucs_hlist_head_t *second = ucs_buckets_alloc(4);

    EXPECT_EQ(NULL, ucs_buckets_grow(&m_buckets, first, 4));
    EXPECT_EQ(8u, capacity());
    EXPECT_EQ(second, ucs_buckets_grow(&m_buckets, second, 4));
    EXPECT_EQ(8u, capacity());

    /* Nothing is lost if they shall grow again before all have moved */
    EXPECT_EQ(second, ucs_buckets_grow(&m_buckets, second, 8));
    free(second);
}

TEST_F(test_buckets, no_memory)
{
    ucs_buckets_t buckets;

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY,
              ucs_buckets_init(&buckets, 2, key));
    test_alloc_fail_nth(0);
    EXPECT_EQ(NULL, ucs_buckets_grow(&m_buckets, NULL, 4));
    EXPECT_EQ(4u, capacity());
}


/* Ordered buckets, to which elements are added by a function */
class test_ordered_buckets : public test_buckets {
protected:
    test_ordered_buckets()
    {
        init(2);
    }

    void init(unsigned bits)
    {
        ucs_buckets_cleanup(&m_buckets);
        m_count = 0;
        ASSERT_EQ(UCS_OK,
                  ucs_buckets_init_ordered(&m_buckets, bits, key));
    }

    ucs_hlist_head_t *bucket(uint64_t key) override
    {
        return ucs_ordered_bucket(&m_buckets, key);
    }

    bool wants_growth() override
    {
        return test_buckets::wants_growth() ||
               ucs_ordered_is_crowded(&m_buckets);
    }

    void insert(elem_t *elem) override
    {
        ucs_buckets_move(&m_buckets);
        ucs_ordered_add(&m_buckets, &elem->link);
    }

    void take(elem_t *elem) override
    {
        ucs_ordered_remove(&m_buckets, &elem->link);
    }

    /* Fill the buckets anew with elements that have this distance from one to the
     * next, in arrays of which each starts so far from the last one. @return how
     * many are looked at to find one, on average */
    double fill(std::vector<elem_t> &elems, uint64_t stride,
                size_t array_length = SIZE_MAX, uint64_t array_stride = 0)
    {
        init(m_bits);
        for (size_t i = 0; i < elems.size(); ++i) {
            elems[i].key = 0x7f0000000040 + ((i % array_length) * stride) +
                           ((i / array_length) * array_stride);
            add(&elems[i]);
        }
        while (m_buckets.old != NULL) {
            ucs_buckets_move(&m_buckets);
        }
        return steps(elems);
    }

    unsigned m_bits = 12;
};

TEST_F(test_ordered_buckets, found_while_they_move)
{
    test_found_while_they_move(0x5000);
}

/* The order changes since many begin in the same page */
TEST_F(test_ordered_buckets, found_while_grains_become_smaller)
{
    test_found_while_they_move(0x40);
    EXPECT_LT(m_buckets.order.grain, 12u);
}

/* The bucket after that of a buffer is that of the next page, but where a window
 * or the buckets end */
TEST_F(test_ordered_buckets, in_the_order_of_addresses)
{
    std::vector<elem_t> elems(10000);
    unsigned jumps = 0;

    fill(elems, 3 * 4096);
    for (size_t i = 1; i < elems.size(); ++i) {
        jumps += (bucket(elems[i].key) - bucket(elems[i - 1].key) != 3);
    }
    EXPECT_LE(jumps, 4u);
}

/* The buffers of one array hardly meet each other. If they are far apart, all of
 * them fit into many windows, of which some meet */
TEST_F(test_ordered_buckets, strides)
{
    for (unsigned shift = 12; shift <= 20; ++shift) {
        for (uint64_t factor = 1; factor <= 11; factor += 2) {
            std::vector<elem_t> elems(3 * 4096);
            uint64_t stride = factor << shift;
            EXPECT_LT(fill(elems, stride), (stride <= 0x20000) ? 1.1 : 1.75)
                    << "stride " << stride;
        }
    }
}

/* Those of many arrays do not meet more often than if they were spread at random,
 * wherever each begins */
TEST_F(test_ordered_buckets, arrays)
{
    for (unsigned shift = 21; shift <= 36; ++shift) {
        std::vector<elem_t> elems(3 * 4096);
        EXPECT_LT(fill(elems, 0x5000, 64, 1ul << shift), 1.5)
                << "arrays " << (1ul << shift) << " apart";
    }
}

/* Some begin in the same page, or in the same cache line */
TEST_F(test_ordered_buckets, small_strides)
{
    for (uint64_t stride = 16; stride < 4096; stride = (stride * 3 / 2) & ~7ul) {
        std::vector<elem_t> elems(3 * 4096);
        EXPECT_LT(fill(elems, stride), 2) << "stride " << stride;
    }
}

/* Many of the same key, as one buffer in many domains, do not make it worse for all
 * others */
TEST_F(test_ordered_buckets, same_key)
{
    std::vector<elem_t> elems(3 * 4096);

    fill(elems, 0);
    EXPECT_EQ(12u, m_buckets.order.grain);
    EXPECT_EQ(4u * 4096, capacity());
}

/* Some always meet others. That does not add up as elements come and go */
TEST_F(test_ordered_buckets, come_and_go)
{
    std::vector<elem_t> elems(3 * 1024);
    std::mt19937 random(1);

    fill(elems, 0x5000, 1, (1ul << 32) + (7 << 12));
    for (unsigned i = 0; i < 100000; ++i) {
        elem_t *elem = &elems[random() % elems.size()];
        remove(elem);
        elem->key = (random() % (1u << 20)) << 12;
        add(elem);
    }
    EXPECT_EQ(4096u, capacity());
    EXPECT_LT(m_buckets.met, 1024u);
}

/* Nor does it if some of them have the same key */
TEST_F(test_ordered_buckets, come_and_go_with_the_same_key)
{
    elem_t elems[] = {{{}, 0x10000}, {{}, 0x10040}, {{}, 0x10000}};

    for (unsigned i = 0; i < 1000; ++i) {
        for (elem_t &elem : elems) {
            add(&elem);
        }
        EXPECT_EQ(2u, m_buckets.met);
        for (unsigned j : {1, 2, 0}) {
            remove(&elems[j]);
        }
        EXPECT_EQ(0u, m_buckets.met);
    }
    EXPECT_EQ(4u, capacity());
}

/* Few elements that begin in the same pages do not wait for as many more as there are
 * buckets */
TEST_F(test_ordered_buckets, few_with_small_strides)
{
    for (unsigned num : {1000, 3000, 10000, 16000}) {
        for (uint64_t stride = 16; stride <= 1024; stride *= 2) {
            std::vector<elem_t> elems(num);
            m_bits = 14;
            EXPECT_LT(fill(elems, stride), 2) << num << ", stride " << stride;
        }
    }
}

TEST_F(test_ordered_buckets, no_memory)
{
    ucs_buckets_t buckets;

    test_alloc_fail_nth(1);
    EXPECT_EQ(UCS_ERR_NO_MEMORY,
              ucs_buckets_init_ordered(&buckets, 2, key));
    test_alloc_fail_nth(0);
}
