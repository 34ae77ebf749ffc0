/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <ucs/callpath/callpath.h>
}

#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

/* A thread's stack of words, on which return addresses are at places that the
 * test chooses. The unwinder is told these places */
class test_callpath : public ::testing::Test {
protected:
    /* By word */
    typedef std::map<unsigned, uintptr_t> path_t;

    struct fake_t {
        uintptr_t words[512];
        path_t    path;
        unsigned  unwinds;
        unsigned  stacks;
        bool      is_known; /* The bounds of the stack */
    };

    test_callpath()
    {
        fake          = {};
        fake.is_known = true;
        EXPECT_EQ(UCS_OK, ucs_callpath_table_create(&m_ops, &m_table));
    }

    ~test_callpath() { ucs_callpath_table_destroy(m_table); }

    static ucs_callpath_stack_t stack()
    {
        ++fake.stacks;
        return fake.is_known ?
               ucs_callpath_stack_t{(uintptr_t)fake.words,
                                    (uintptr_t)(fake.words + 512)} :
               ucs_callpath_stack_t{0, 0};
    }

    static unsigned unwind(const void *caller, ucs_callpath_frame_t *frames,
                           unsigned max)
    {
        unsigned count = 0;

        ++fake.unwinds;
        for (auto &entry : fake.path) {
            if (count < max) {
                frames[count++] = {entry.second,
                                   (uintptr_t)&fake.words[entry.first]};
            }
        }
        return count;
    }

    /* The thread is on that path now; other words stay as they were */
    static void enter(const path_t &path)
    {
        fake.path = path;
        for (auto &entry : path) {
            fake.words[entry.first] = entry.second;
        }
    }

    uint64_t find(int depth = 10, uintptr_t caller = 0x1000)
    {
        return ucs_callpath_find(m_table, &m_thread, (const void*)caller,
                                 (const void*)place(depth));
    }

    uint64_t find(const path_t &path, int depth = 10)
    {
        enter(path);
        return find(depth);
    }

    static uint64_t place(int depth = 10)
    {
        return (uintptr_t)fake.words + depth * sizeof(uintptr_t);
    }

    static thread_local fake_t       fake;
    static const ucs_callpath_ops_t  m_ops;

    ucs_callpath_table_t             *m_table = NULL;
    ucs_callpath_thread_t            m_thread = {};
};

thread_local test_callpath::fake_t test_callpath::fake;
const ucs_callpath_ops_t test_callpath::m_ops = {test_callpath::stack,
                                                 test_callpath::unwind};

TEST_F(test_callpath, a_path_is_unwound_once) {
    uint64_t path = find({{20, 0x2000}, {30, 0x3000}});

    EXPECT_NE(place(), path);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(path, find());
    }
    EXPECT_EQ(1u, fake.unwinds);
    EXPECT_EQ(1u, fake.stacks);
}

TEST_F(test_callpath, paths_with_other_addresses_in_the_same_slots) {
    std::set<uint64_t> paths;

    for (unsigned round = 0; round < 2; ++round) {
        for (uintptr_t i = 0; i < 8; ++i) {
            for (uintptr_t j = 0; j < 4; ++j) {
                paths.insert(find({{20, 0x2000 + i * 5},
                                   {30, 0x3000 + j * 5}}));
            }
        }
        EXPECT_EQ(32u, paths.size());
    }
    EXPECT_EQ(32u, fake.unwinds);
}

TEST_F(test_callpath, the_order_of_addresses_counts) {
    EXPECT_NE(find({{20, 0x2000}, {30, 0x3000}}),
              find({{20, 0x3000}, {30, 0x2000}}));
}

TEST_F(test_callpath, caller_and_depth_count) {
    path_t path = {{20, 0x2000}};

    enter(path);
    std::set<uint64_t> paths = {find(10, 0x1000), find(10, 0x1001),
                                find(11, 0x1000)};
    EXPECT_EQ(3u, paths.size());
    EXPECT_EQ(3u, fake.unwinds);
}

/* Two functions make the calls from frames of different sizes: the depth is the
 * same, the slots are not */
TEST_F(test_callpath, slots_that_move_are_found_again) {
    path_t a = {{20, 0x2000}, {30, 0x3000}, {40, 0x4000}};
    path_t b = {{20, 0x2000}, {33, 0x3500}, {40, 0x4000}};
    uint64_t path_a, path_b;

    path_a           = find(a);
    fake.words[30]   = 12345; /* It belongs to another frame now */
    path_b           = find(b);
    EXPECT_NE(path_a, path_b);
    EXPECT_EQ(2u, fake.unwinds);
    for (unsigned i = 0; i < 50; ++i) {
        EXPECT_EQ(path_a, find(a));
        fake.words[30] = i;
        EXPECT_EQ(path_b, find(b));
    }
    EXPECT_EQ(2u, fake.unwinds) << "both layouts are remembered";
}

TEST_F(test_callpath, an_overwritten_slot_is_noticed) {
    path_t path  = {{20, 0x2000}, {30, 0x3000}};
    uint64_t was = find(path);

    /* What is there now is no address that an unwinding has found there */
    fake.words[30] = 0xdeadbeef;
    fake.path      = {{20, 0x2000}, {31, 0x3000}};
    fake.words[31] = 0x3000;
    uint64_t is    = find();
    EXPECT_EQ(2u, fake.unwinds);
    EXPECT_EQ(was, is) << "the same addresses are the same path";
}

/* Slots at random: the thread must not unwind at each call */
TEST_F(test_callpath, it_gives_up_where_slots_always_move) {
    for (unsigned i = 0; i < 1000; ++i) {
        memset(fake.words, 0, sizeof(fake.words));
        find({{20, 0x2000}, {21 + i % 300, 0x3000 + i}});
    }
    fake.words[21] = 1;
    EXPECT_EQ((unsigned)UCS_CALLPATH_MAX_UNWINDS, fake.unwinds);
    EXPECT_EQ(place(), find()) << "only the depth is known";

    /* Others go on */
    EXPECT_NE(place(11), find({{20, 0x2000}, {30, 0x3000}}, 11));
}

TEST_F(test_callpath, paths_known_by_then_stay_known) {
    path_t known = {{20, 0x2000}, {30, 0x3000}};
    uint64_t path = find(known);

    for (unsigned i = 0; i < 1000; ++i) {
        find({{20, 0x2000}, {30, 0x5000 + i}});
    }
    EXPECT_EQ((unsigned)UCS_CALLPATH_MAX_UNWINDS, fake.unwinds);
    EXPECT_EQ(path, find(known));
}

/* No depth comes again, as after alloca() with a random size */
TEST_F(test_callpath, a_thread_has_credit) {
    unsigned num_calls = 0;

    enter({{400, 0x2000}});
    for (unsigned caller = 0; caller < 10; ++caller) {
        for (unsigned depth = 0; depth < 400; ++depth) {
            find(depth, 0x1000 + caller);
            ++num_calls;
        }
    }
    EXPECT_EQ(UCS_CALLPATH_MAX_CREDIT +
              num_calls / UCS_CALLPATH_CREDIT_PERIOD, fake.unwinds);

    /* It has used it up, and gets more for calls */
    unsigned unwinds = fake.unwinds;
    EXPECT_EQ(place(401), find(401));
    for (unsigned i = 0; i < UCS_CALLPATH_CREDIT_PERIOD + 1; ++i) {
        find(0, 0x1000);
    }
    EXPECT_NE(place(401), find(401));
    EXPECT_EQ(unwinds + 1, fake.unwinds);
}

TEST_F(test_callpath, credit_is_not_hoarded) {
    for (unsigned i = 0; i < 20 * UCS_CALLPATH_CREDIT_PERIOD; ++i) {
        find({{400, 0x2000}});
    }
    EXPECT_EQ(1u, fake.unwinds);
    EXPECT_EQ((unsigned)UCS_CALLPATH_MAX_CREDIT, m_thread.credit);
}

TEST_F(test_callpath, off_the_threads_stack_only_the_depth_is_known) {
    uintptr_t fiber[4] = {};

    enter({{20, 0x2000}});
    EXPECT_EQ((uintptr_t)&fiber[1],
              ucs_callpath_find(m_table, &m_thread, (const void*)0x1000,
                                &fiber[1]));
    EXPECT_EQ(place(512), find(512));
    EXPECT_EQ(place(-1), find(-1));
    EXPECT_EQ(0u, fake.unwinds);
}

TEST_F(test_callpath, where_the_stack_is_not_known_neither) {
    fake.is_known = false;
    EXPECT_EQ(place(), find({{20, 0x2000}}));
    EXPECT_EQ(place(), find());
    EXPECT_EQ(0u, fake.unwinds);
    EXPECT_EQ(1u, fake.stacks) << "it is asked once";
}

/* The table is shared: the layout is that of a thread with a longer stack */
TEST_F(test_callpath, nothing_is_read_beyond_the_stack) {
    find({{20, 0x2000}, {500, 0x3000}});
    EXPECT_EQ(1u, fake.unwinds);

    m_thread.stack.high = (uintptr_t)&fake.words[500];
    enter({{20, 0x2000}});
    fake.words[500] = 0x3000;
    EXPECT_NE(place(), find());
    EXPECT_EQ(2u, fake.unwinds) << "the slot at 500 was not believed";
}

TEST_F(test_callpath, frames_beyond_the_stack_are_left_away) {
    ucs_callpath_stack_t bounds = {(uintptr_t)fake.words,
                                   (uintptr_t)&fake.words[25]};
    find({{20, 0x2000}});
    m_thread.stack = bounds;
    uint64_t path  = find({{20, 0x2001}, {25, 0x3000}});
    EXPECT_EQ(path, find({{20, 0x2001}, {25, 0x3001}}));
}

TEST_F(test_callpath, what_cannot_be_unwound_is_asked_once) {
    uint64_t path = find(path_t{});

    fake.words[20] = 5;
    EXPECT_EQ(path, find());
    EXPECT_EQ(1u, fake.unwinds);
    EXPECT_NE(path, find(11)) << "depths are still told apart";
}

TEST_F(test_callpath, only_the_innermost_addresses_count) {
    path_t path;

    for (unsigned i = 0; i < UCS_CALLPATH_MAX_SLOTS; ++i) {
        path[20 + i] = 0x2000 + i;
    }
    uint64_t first = find(path);
    path[20 + UCS_CALLPATH_MAX_SLOTS] = 0x5000;
    EXPECT_EQ(first, find(path));
    path[19 + UCS_CALLPATH_MAX_SLOTS] = 0x5000;
    EXPECT_NE(first, find(path));
}

/* More layouts than are remembered of one caller and depth: the first ones are
 * told apart, and of others the depth is known */
TEST_F(test_callpath, many_layouts) {
    std::map<unsigned, uint64_t> paths;
    std::set<uint64_t> known;

    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned i = 0; i < 2 * UCS_CALLPATH_MAX_WAYS; ++i) {
            memset(fake.words, 0, sizeof(fake.words));
            uint64_t path = find({{20, 0x2000}, {30 + i, 0x3000 + i}});
            auto ret      = paths.insert({i, path});

            EXPECT_EQ(ret.first->second, path) << i;
            EXPECT_EQ(i >= UCS_CALLPATH_MAX_WAYS, path == place()) << i;
            known.insert(path);
        }
    }
    EXPECT_EQ(UCS_CALLPATH_MAX_WAYS + 1u, known.size());
    EXPECT_EQ((unsigned)UCS_CALLPATH_MAX_UNWINDS, fake.unwinds);
}

/* More callers and depths than there is room for. Each is found again, or not
 * known better than by its depth, and never taken for another one */
TEST_F(test_callpath, many_sites) {
    std::map<uint64_t, std::pair<unsigned, unsigned>> sites;
    unsigned num_depths = 0;

    enter({{400, 0x2000}});
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned depth = 0; depth < 300; ++depth) {
            for (unsigned caller = 0; caller < 20; ++caller) {
                uint64_t path;

                m_thread.credit = 1; /* As many as it wants */
                path            = find(depth, 0x1000 + 16 * caller);

                if (path == place(depth)) {
                    ++num_depths;
                    continue;
                }
                auto ret = sites.insert({path, {depth, caller}});
                EXPECT_EQ(depth, ret.first->second.first);
                EXPECT_EQ(caller, ret.first->second.second);
            }
        }
    }
    EXPECT_GT(num_depths, 0u);
    EXPECT_GT(sites.size(), 3500u) << "most of the table is used";
    EXPECT_LE(sites.size(), 4096u);
}

/* All threads are on the same stack here, as they may be one after the other,
 * so that they add the same layouts and paths at a time. Each gets what the
 * others get */
TEST_F(test_callpath, threads) {
    static constexpr unsigned NUM_DEPTHS = 300, NUM_THREADS = 4;
    static uintptr_t words[NUM_DEPTHS + 20];
    static const ucs_callpath_ops_t ops = {
        [] {
            return ucs_callpath_stack_t{(uintptr_t)words,
                                        (uintptr_t)(words + NUM_DEPTHS + 20)};
        },
        [](const void *caller, ucs_callpath_frame_t *frames, unsigned max) {
            uintptr_t *slot = &words[(uintptr_t)caller % NUM_DEPTHS + 10];

            frames[0] = {*slot, (uintptr_t)slot};
            return 1u;
        }
    };
    std::vector<std::vector<uint64_t>> paths(NUM_THREADS);
    std::vector<std::thread> threads;
    std::atomic<unsigned> num_ready(0);
    ucs_callpath_table_t *table;

    for (unsigned i = 0; i < NUM_DEPTHS + 20; ++i) {
        words[i] = 0x2000 + i;
    }
    ASSERT_EQ(UCS_OK, ucs_callpath_table_create(&ops, &table));
    for (unsigned t = 0; t < NUM_THREADS; ++t) {
        threads.emplace_back([t, table, &paths, &num_ready] {
            ucs_callpath_thread_t thread = {};

            for (++num_ready; num_ready < NUM_THREADS;);
            for (unsigned i = 0; i < 2 * NUM_DEPTHS; ++i) {
                uintptr_t depth = i % NUM_DEPTHS;

                paths[t].push_back(
                        ucs_callpath_find(table, &thread,
                                          (const void*)(NUM_DEPTHS + depth),
                                          &words[depth]));
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }

    for (unsigned t = 0; t < NUM_THREADS; ++t) {
        EXPECT_EQ(paths[0], paths[t]);
        EXPECT_EQ(NUM_DEPTHS, std::set<uint64_t>(paths[t].begin(),
                                                 paths[t].end()).size());
    }
    for (unsigned i = 0; i < NUM_DEPTHS; ++i) {
        EXPECT_NE((uintptr_t)&words[i], paths[0][i]);
    }
    ucs_callpath_table_destroy(table);
}
