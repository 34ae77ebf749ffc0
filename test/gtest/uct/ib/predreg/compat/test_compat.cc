/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/compat/compat.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

/* The tests of a column say which one, those of all columns go through the
 * list. */

class test_compat : public ::testing::Test {
protected:
    template<typename F> static void for_each_column(F check)
    {
        for (auto column = uct_predreg_compat_columns; *column != nullptr;
             ++column) {
            SCOPED_TRACE((*column)->first_minor);
            check(**column);
        }
    }

    static const uct_predreg_compat_t &ucx(unsigned minor)
    {
        return *uct_predreg_compat_select(1, minor);
    }

    struct flags_case {
        unsigned              flags;
        uct_predreg_purpose_t purpose;
        uct_predreg_may_t     may;
    };

    static void check_flags(unsigned minor,
                            const std::vector<flags_case> &cases)
    {
        for (const auto &c : cases) {
            EXPECT_EQ(c.may, ucx(minor).may(c.flags, c.purpose))
                    << std::hex << c.flags << " for " << c.purpose;
        }
    }

    /* A setting that a version does not have has no name */
    static void check_setting(const uct_predreg_setting_t &setting)
    {
        if (setting.name == nullptr) {
            return;
        }
        ASSERT_NE(nullptr, setting.default_value);
        ASSERT_NE(nullptr, setting.off);
    }

    /* A setting of a cache, which the user may keep on */
    static void check_cache(const uct_predreg_setting_t &setting)
    {
        check_setting(setting);
        EXPECT_TRUE((setting.name == nullptr) || (setting.kept != UCT_PREDREG_ASIDE_NONE));
    }
};

TEST_F(test_compat, every_column_is_filled) {
    for_each_column([](const uct_predreg_compat_t &column) {
        EXPECT_LE(column.first_minor, column.last_minor);
        ASSERT_NE(nullptr, column.md_caches);
        for (auto cache = column.md_caches; cache->name != nullptr; ++cache) {
            check_cache(*cache);
        }
        check_setting(column.proto);
        EXPECT_GT(column.hit_cost, 0);
        EXPECT_NE(nullptr, column.may);
        EXPECT_NE(nullptr, column.mem_reg);
    });
}

TEST_F(test_compat, columns_do_not_overlap) {
    unsigned minor = 0;

    for_each_column([&](const uct_predreg_compat_t &column) {
        EXPECT_GT(column.first_minor, minor);
        minor = column.last_minor;
    });
}

TEST_F(test_compat, all_versions_from_1_13_to_1_23_are_known) {
    for (unsigned minor = 13; minor <= 23; ++minor) {
        const uct_predreg_compat_t *column = uct_predreg_compat_select(1, minor);

        ASSERT_NE(nullptr, column) << minor;
        EXPECT_LE(column->first_minor, minor);
        EXPECT_GE(column->last_minor, minor);
    }
}

TEST_F(test_compat, other_versions_are_not) {
    EXPECT_EQ(nullptr, uct_predreg_compat_select(1, 12));
    EXPECT_EQ(nullptr, uct_predreg_compat_select(1, 24));
    EXPECT_EQ(nullptr, uct_predreg_compat_select(2, 13));
    EXPECT_EQ(nullptr, uct_predreg_compat_select(0, 0));
}

TEST_F(test_compat, flags_and_purpose_say_what_may_be_done) {
    check_flags(13, {
        /* Rendezvous: a send may be refused, whatever it is called from */
        {0x368, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_REFUSE},
        {0x368, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_REFUSE},
        {0x368, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MAY_REFUSE},
        /* A receive may not */
        {0x360, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PIECES},
        {0x360, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_LAST_RESORT},
        {0x360, UCT_PREDREG_PURPOSE_ONE_SIDED, UCT_PREDREG_MAY_LAST_RESORT},
        {0x360, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE},
        /* It might be the data of a put */
        {0x360, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MUST_WHOLE},
        {0x368, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MAY_REFUSE},
        {0x3e4, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MAY_PASS_POOL},
        /* Atomic operations of peers */
        {0x3e0, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE},
        {0x3e0, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MUST_WHOLE},
        {0x3e8, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_REFUSE},
        /* UCX's own pools: what no program has mapped, and what is locked */
        {0x3e0, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS_POOL},
        {0x3e0, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_PASS_POOL},
        {0x3e0, UCT_PREDREG_PURPOSE_ONE_SIDED, UCT_PREDREG_MAY_PASS_POOL},
        {0x3e4, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS_POOL},
        {0x3e4, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MAY_PASS_POOL},
        /* What asks for something special, and what asks for no access */
        {0x361, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_KEEP},
        {0x3e1, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MAY_KEEP},
        {0x362, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x1360, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x008, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x000, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS}
    });
}

TEST_F(test_compat, from_1_14_on_pools_are_told_by_who_allocated_them) {
    for (unsigned minor = 13; minor <= 23; ++minor) {
        check_flags(minor, {
            {0x360, UCT_PREDREG_PURPOSE_POOL, UCT_PREDREG_MAY_PASS_POOL},
            {0x364, UCT_PREDREG_PURPOSE_POOL, UCT_PREDREG_MAY_PASS_POOL},
            {0x3e4, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MAY_PASS_POOL},
            /* Non-blocking, symmetric and global registrations */
            {0x361, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_KEEP},
            {0x369, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MAY_KEEP},
            {0x361, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MAY_KEEP},
            {0x361, UCT_PREDREG_PURPOSE_POOL, UCT_PREDREG_MAY_PASS_POOL},
            {0x760, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MAY_PASS},
            {0x800, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MAY_PASS}
        });
    }
}

TEST_F(test_compat, flags_of_1_14_are_those_of_1_13_but_for_pools) {
    for (unsigned minor : {14, 15}) {
        check_flags(minor, {
            {0x368, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_REFUSE},
            {0x360, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PIECES},
            {0x360, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_LAST_RESORT},
            {0x360, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE},
            {0x000, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE},
            {0x3e0, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE}
        });
    }
}

TEST_F(test_compat, from_1_16_on_an_operation_asks_for_what_it_needs) {
    for (unsigned minor = 16; minor <= 23; ++minor) {
        check_flags(minor, {
            /* What the receiver may get, and what the sender may put */
            {0x368, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_REFUSE},
            {0x028, UCT_PREDREG_PURPOSE_MESSAGE,
             (minor < 22) ? UCT_PREDREG_MAY_KEYLESS : UCT_PREDREG_MAY_REFUSE},
            {0x028, UCT_PREDREG_PURPOSE_UNKNOWN,
             (minor < 22) ? UCT_PREDREG_MAY_KEYLESS : UCT_PREDREG_MAY_REFUSE},
            /* A program that uses UCT looks into its keys itself */
            {0x028, UCT_PREDREG_PURPOSE_MAPPED,
             (minor < 22) ? UCT_PREDREG_MUST_WHOLE : UCT_PREDREG_MAY_REFUSE},
            /* The local side of either */
            {0x200, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PIECES},
            {0x100, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PIECES},
            {0x100, UCT_PREDREG_PURPOSE_SEND, UCT_PREDREG_MAY_LAST_RESORT},
            {0x100, UCT_PREDREG_PURPOSE_ONE_SIDED, UCT_PREDREG_MAY_LAST_RESORT},
            {0x100, UCT_PREDREG_PURPOSE_UNKNOWN, UCT_PREDREG_MUST_WHOLE},
            {0x360, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE},
            {0x000, UCT_PREDREG_PURPOSE_MAPPED, UCT_PREDREG_MUST_WHOLE},
            /* What the sender puts without the cost model, and what the
             * adapter matches */
            {0x000, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_REFUSE},
            {0x008, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_REFUSE}
        });
    }
}

TEST_F(test_compat, the_quiet_flag_makes_no_use_of_a_pool) {
    EXPECT_EQ(UCT_PREDREG_MAY_PASS_POOL,
              ucx(13).may(0x3e4 | UCT_MD_MEM_FLAG_HIDE_ERRORS,
                          UCT_PREDREG_PURPOSE_MAPPED));
}

TEST_F(test_compat, errors_that_may_mean_that_there_is_no_room) {
    const auto reg_error = uct_predreg_compat_reg_error;

    for (int error : {0, ENOMEM, EAGAIN}) {
        EXPECT_EQ(UCS_ERR_NO_MEMORY, reg_error(UCS_ERR_IO_ERROR, error));
    }
    for (int error : {EFAULT, EINVAL, EACCES, EPERM, EOPNOTSUPP}) {
        EXPECT_EQ(UCS_ERR_IO_ERROR, reg_error(UCS_ERR_IO_ERROR, error));
    }
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, reg_error(UCS_ERR_UNSUPPORTED, ENOMEM));
    EXPECT_EQ(UCS_ERR_NO_MEMORY, reg_error(UCS_ERR_NO_MEMORY, EFAULT));
}

/* What the fake domain says of itself */
static uct_md_attr_t md_attr;
static ucs_status_t  md_status;

static ucs_status_t fake_md_query(uct_md_h md, uct_md_attr_t *attr)
{
    *attr = md_attr;
    return md_status;
}

class test_compat_md : public test_compat {
protected:
    void SetUp() override
    {
        md_attr                      = {};
        md_attr.cap.flags            = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH;
        md_attr.cap.detect_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
        md_status                    = UCS_OK;
        strcpy(md_attr.component_name, "ib");
        m_real.uct_md_query = fake_md_query;
    }

    uct_predreg_md_facts_t facts()
    {
        uct_predreg_md_facts_t facts = {"?", -1, -1};

        EXPECT_EQ(md_status, uct_predreg_compat_md_facts(&m_real, nullptr, &facts));
        return facts;
    }

    uct_predreg_real_t m_real = {};
};

TEST_F(test_compat_md, an_adapter_registers) {
    EXPECT_STREQ("ib", facts().component);
    EXPECT_EQ(1, facts().can_register);
    EXPECT_EQ(0, facts().has_devices);
}

TEST_F(test_compat_md, other_components_are_told_apart) {
    strcpy(md_attr.component_name, "cma");
    EXPECT_STREQ("cma", facts().component);
}

TEST_F(test_compat_md, not_every_domain_registers) {
    md_attr.cap.flags = UCT_MD_FLAG_ALLOC;
    EXPECT_EQ(0, facts().can_register);
}

/* Those of self and tcp give all memory the same handle */
TEST_F(test_compat_md, not_every_domain_needs_handles) {
    md_attr.cap.flags = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_RKEY;
    EXPECT_EQ(0, facts().can_register);
}

TEST_F(test_compat_md, devices_are_noticed) {
    strcpy(md_attr.component_name, "cuda");
    md_attr.cap.detect_mem_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    EXPECT_EQ(1, facts().has_devices);
}

TEST_F(test_compat_md, an_error_is_passed_on) {
    md_status = UCS_ERR_IO_ERROR;
    facts();
}

TEST_F(test_compat_md, a_hit_costs_the_same_at_every_length) {
    uct_md_attr_t attr = {};

    attr.reg_cost.m = 1;
    uct_predreg_compat_set_reg_cost(&attr, 180e-9);
    EXPECT_EQ(180e-9, attr.reg_cost.c);
    EXPECT_EQ(0, attr.reg_cost.m);
}

/* The attributes of the second interface, of which only the mask is where it is
 * in all versions */
class test_compat_v2 : public test_compat {
protected:
    static void set(unsigned minor, uint64_t mask)
    {
        memset(s_attr, 0xff, sizeof(s_attr));
        memcpy(s_attr, &mask, sizeof(mask));
        uct_predreg_compat_set_reg_cost_v2(&ucx(minor),
                                           (uct_md_attr_v2_t*)s_attr, 50e-9);
    }

    static double cost_at(size_t offset)
    {
        double cost;

        memcpy(&cost, s_attr + offset, sizeof(cost));
        return cost;
    }

    alignas(8) static char s_attr[544];
};

alignas(8) char test_compat_v2::s_attr[];

TEST_F(test_compat_v2, the_cost_is_where_the_version_has_it) {
    static const struct {
        unsigned minor;
        size_t   offset;
    } layouts[] = {{14, 80}, {15, 88}, {17, 88}, {18, 96}, {23, 96}};

    for (const auto &layout : layouts) {
        set(layout.minor, UCS_MASK(11));
        EXPECT_EQ(50e-9, cost_at(layout.offset)) << layout.minor;
        EXPECT_EQ(0, cost_at(layout.offset + sizeof(double)));
    }
}

TEST_F(test_compat_v2, a_cost_that_was_not_asked_for_is_not_written) {
    char untouched[sizeof(s_attr)];

    memset(untouched, 0xff, sizeof(untouched));
    set(14, UCS_BIT(8) | UCS_BIT(10));
    EXPECT_EQ(0, memcmp(untouched, s_attr + 8, sizeof(s_attr) - 8));
    set(18, UCS_BIT(9) | UCS_BIT(11));
    EXPECT_EQ(0, memcmp(untouched, s_attr + 8, sizeof(s_attr) - 8));
}

TEST_F(test_compat_v2, registrations_of_the_hosts_memory_are_flags_alone) {
    uct_md_mem_reg_params_t params = {};
    unsigned flags                 = 1;

    EXPECT_TRUE(uct_predreg_compat_read_params(&params, &flags));
    EXPECT_EQ(0u, flags);

    params.field_mask = UCT_MD_MEM_REG_FIELD_FLAGS;
    params.flags      = 0x368;
    EXPECT_TRUE(uct_predreg_compat_read_params(&params, &flags));
    EXPECT_EQ(0x368u, flags);

    params.field_mask |= UCT_MD_MEM_REG_FIELD_MEM_TYPE;
    params.mem_type    = UCS_MEMORY_TYPE_HOST;
    EXPECT_TRUE(uct_predreg_compat_read_params(&params, &flags));
}

TEST_F(test_compat_v2, other_registrations_are_more) {
    uct_md_mem_reg_params_t params = {};
    unsigned flags;

    /* A dmabuf, a field of a later version, memory of a device, a flag beyond
     * those that any version has */
    for (unsigned bit : {1, 2, 4, 63}) {
        params.field_mask = UCS_BIT(bit);
        EXPECT_FALSE(uct_predreg_compat_read_params(&params, &flags)) << bit;
    }

    params.field_mask = UCT_MD_MEM_REG_FIELD_MEM_TYPE;
    params.mem_type   = UCS_MEMORY_TYPE_CUDA;
    EXPECT_FALSE(uct_predreg_compat_read_params(&params, &flags));

    params.field_mask = UCT_MD_MEM_REG_FIELD_FLAGS;
    params.flags      = UCS_BIT(32);
    EXPECT_FALSE(uct_predreg_compat_read_params(&params, &flags));
}

/* Those of them that UCP's cache keeps, and no others */
TEST_F(test_compat_v2, registrations_of_memory_of_devices) {
    uct_md_mem_reg_params_t params = {};

    params.flags = 0x360;
    for (uint64_t mask : {0x7, 0x9, 0xf}) { /* Its dmabuf, its type, both */
        params.field_mask = mask;
        EXPECT_TRUE(uct_predreg_compat_is_of_device(&params)) << mask;
    }

    params.flags = 0x361; /* That pages on demand */
    EXPECT_TRUE(uct_predreg_compat_is_of_device(&params));
    for (uint64_t flags : {0x364ul, 0x362ul, 0x760ul, UCS_BIT(32) | 0x360}) {
        params.flags = flags;
        EXPECT_FALSE(uct_predreg_compat_is_of_device(&params)) << flags;
    }

    params.flags = 0x360;
    for (uint64_t mask : {0x17ul, 0x6ul, UCS_BIT(63) | 1}) {
        params.field_mask = mask;
        EXPECT_FALSE(uct_predreg_compat_is_of_device(&params)) << mask;
    }
}

/* A UCX whose libuct has these functions, and no UCP */
class test_compat_find : public test_compat {
protected:
    std::string find(const uct_predreg_compat_t *expected)
    {
        char reason[128] = "";

        EXPECT_EQ(expected,
                  uct_predreg_compat_find(&m_real, reason, sizeof(reason)));
        return reason;
    }

    static ucs_status_t reg_v2(uct_md_h, void*, size_t,
                               const uct_md_mem_reg_params_t*, uct_mem_h*)
    {
        return UCS_OK;
    }

    static ucs_status_t pack_v2(uct_md_h, uct_mem_h, uintptr_t, uintptr_t,
                                uintptr_t, uintptr_t)
    {
        return UCS_OK;
    }

    uct_predreg_real_t m_real = {};
};

TEST_F(test_compat_find, uct_alone_tells_1_13) {
    EXPECT_NE(std::string::npos, find(nullptr).find("older than 1.13"));
    m_real.uct_md_mkey_pack_v2 = pack_v2;
    EXPECT_EQ("", find(uct_predreg_compat_select(1, 13)));
    m_real.uct_md_mem_reg_v2 = reg_v2;
    EXPECT_NE(std::string::npos, find(nullptr).find("UCT without UCP"));
}

TEST_F(test_compat_find, ucp_tells_the_version) {
    m_real.ucp_get_version = [](unsigned *major, unsigned *minor,
                                unsigned *release) {
        *major   = 1;
        *minor   = 12;
        *release = 1;
    };
    EXPECT_EQ("this process uses UCX 1.12; accepted: 1.13 to 1.23",
              find(nullptr));
    m_real.ucp_get_version = [](unsigned *major, unsigned *minor,
                                unsigned *release) {
        *major   = 1;
        *minor   = 16;
        *release = 0;
    };
    EXPECT_EQ("", find(uct_predreg_compat_select(1, 16)));
}

/* Each reason has a message and advice, and none asks for more than it is given */
TEST(test_aside, each_reason_is_told) {
    std::set<std::string> names;

    for (int i = UCT_PREDREG_ASIDE_NONE + 1; i < UCT_PREDREG_ASIDE_LAST; ++i) {
        auto reason = static_cast<uct_predreg_aside_t>(i);
        std::map<std::string, std::string> told;
        char message[UCT_PREDREG_ASIDE_MAX];

        uct_predreg_aside_print(reason, "DETAIL", message);
        uct_predreg_aside_tell(reason, message,
                               [](void *arg, const char *what, const char *value) {
            (*static_cast<std::map<std::string, std::string>*>(arg))[what] = value;
        }, &told);
        EXPECT_EQ(3u, told.size());
        EXPECT_EQ(message, told["why"]);
        EXPECT_NE("", told["advice"]);
        EXPECT_TRUE(names.insert(told["aside"]).second) << told["aside"];
        EXPECT_EQ(std::string::npos, std::string(message).find('%'));
    }

    uct_predreg_aside_tell(UCT_PREDREG_ASIDE_NONE, "", [](void*, const char*, const char*) {
        ADD_FAILURE();
    }, NULL);
}
