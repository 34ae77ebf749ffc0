/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/type/status.h>
#include <uct/ib/predreg/preload/ucx.h>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <string>


/* What the loader has bound in the program of the tests, which is linked with libucs */
class test_loader_bound : public ::testing::Test {
protected:
    test_loader_bound()
    {
        /* It is bound now, also where that is done at the first call */
        m_ucs = map_of(dlsym(RTLD_DEFAULT, ucs_status_string(UCS_OK) ?
                                           "ucs_status_string" : ""));
    }

    static const struct link_map *map_of(const void *address)
    {
        struct link_map *map;
        Dl_info info;

        return dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP) ? map :
                                                                        nullptr;
    }

    static predreg_bound_t find(const char *prefix, const struct link_map *except)
    {
        return predreg_find_bound(map_of((const void*)&find), prefix, except);
    }

    const struct link_map *m_ucs;
};

TEST_F(test_loader_bound, a_function_of_that_library)
{
    predreg_bound_t bound = find("ucs_nothing_is_called_so", nullptr);

    ASSERT_NE(nullptr, bound.name);
    EXPECT_EQ(0u, std::string(bound.name).find("ucs_"));
    EXPECT_EQ(dlsym(RTLD_DEFAULT, bound.name), bound.function);
    EXPECT_EQ(m_ucs, bound.library);
}

TEST_F(test_loader_bound, not_of_the_excepted_library)
{
    EXPECT_EQ(nullptr, find("ucs_", m_ucs).name);
}

TEST_F(test_loader_bound, none_of_that_name)
{
    EXPECT_EQ(nullptr, find("ucx_", nullptr).name);
}

TEST_F(test_loader_bound, libraries_that_call_nothing_of_ucx)
{
    const struct link_map *map = map_of(dlsym(RTLD_DEFAULT, "cos"));

    ASSERT_NE(nullptr, map);
    for (; map->l_next != nullptr; map = map->l_next) {
        predreg_bound_t bound = predreg_find_bound(map, "abc_", nullptr);

        EXPECT_EQ(nullptr, bound.name) << map->l_name;
    }
}
