/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/compat/compat.h>

#include <uct/api/version.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

/* The tests of a column are for the one of UCX 1.13, those of all columns go
 * through the list. */

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

    static const uct_predreg_compat_t &ucx_1_13()
    {
        return *uct_predreg_compat_columns[0];
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
        EXPECT_TRUE((setting.name == nullptr) || (setting.kept != nullptr));
    }
};

TEST_F(test_compat, every_column_is_filled) {
    for_each_column([](const uct_predreg_compat_t &column) {
        EXPECT_GT(column.major, 0u);
        EXPECT_LE(column.first_minor, column.last_minor);
        EXPECT_NE(nullptr, column.uct_has);
        EXPECT_NE(nullptr, column.uct_lacks);
        check_cache(column.ucp_cache);
        ASSERT_NE(nullptr, column.md_caches);
        for (auto cache = column.md_caches; cache->name != nullptr; ++cache) {
            check_cache(*cache);
        }
        check_setting(column.proto);
        EXPECT_NE(nullptr, column.ucp_cache.name);
        EXPECT_GT(column.hit_cost, 0);
        EXPECT_NE(0u, column.quiet_flag);
        EXPECT_GT(column.vm_event_priority, 1000);
        EXPECT_NE(nullptr, column.may);
        EXPECT_NE(nullptr, column.md_facts);
        EXPECT_NE(nullptr, column.set_reg_cost);
        EXPECT_NE(nullptr, column.reg_error);
    });
}

TEST_F(test_compat, columns_do_not_overlap) {
    unsigned major = 0, minor = 0;

    for_each_column([&](const uct_predreg_compat_t &column) {
        EXPECT_TRUE((column.major > major) ||
                    ((column.major == major) && (column.first_minor > minor)));
        major = column.major;
        minor = column.last_minor;
    });
}

TEST_F(test_compat, the_version_built_for_is_known) {
    const uct_predreg_compat_t *column = uct_predreg_compat_built_for();

    ASSERT_NE(nullptr, column);
    EXPECT_EQ(column,
              uct_predreg_compat_select(UCT_VERNO_MAJOR, UCT_VERNO_MINOR));
    EXPECT_EQ(unsigned(UCT_VERNO_MAJOR), column->major);
    EXPECT_EQ(std::to_string(UCT_VERNO_MAJOR) + "." +
              std::to_string(UCT_VERNO_MINOR), uct_predreg_compat_accepted());
    EXPECT_LE(column->first_minor, unsigned(UCT_VERNO_MINOR));
    EXPECT_GE(column->last_minor, unsigned(UCT_VERNO_MINOR));
}

TEST_F(test_compat, other_versions_are_not) {
    EXPECT_EQ(nullptr, uct_predreg_compat_select(1, 12));
    EXPECT_EQ(nullptr, uct_predreg_compat_select(1, 99));
    EXPECT_EQ(nullptr, uct_predreg_compat_select(2, UCT_VERNO_MINOR));
    EXPECT_EQ(nullptr, uct_predreg_compat_select(0, 0));
}

TEST_F(test_compat, flags_and_purpose_say_what_may_be_done) {
    static const struct {
        unsigned              flags;
        uct_predreg_purpose_t purpose;
        uct_predreg_may_t     may;
    } cases[] = {
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
        {0x361, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x362, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x1360, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x008, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS},
        {0x000, UCT_PREDREG_PURPOSE_MESSAGE, UCT_PREDREG_MAY_PASS}
    };

    for (const auto &c : cases) {
        EXPECT_EQ(c.may, ucx_1_13().may(c.flags, c.purpose))
                << std::hex << c.flags << " for " << c.purpose;
    }
}

TEST_F(test_compat, the_quiet_flag_makes_no_use_of_a_pool) {
    EXPECT_EQ(UCT_PREDREG_MAY_PASS_POOL,
              ucx_1_13().may(0x3e4 | ucx_1_13().quiet_flag,
                             UCT_PREDREG_PURPOSE_MAPPED));
}

TEST_F(test_compat, errors_that_may_mean_that_there_is_no_room) {
    const auto reg_error = ucx_1_13().reg_error;

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
        md_attr.cap.flags            = UCT_MD_FLAG_REG;
        md_attr.cap.detect_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
        md_status                    = UCS_OK;
        strcpy(md_attr.component_name, "ib");
        m_real.uct_md_query = fake_md_query;
    }

    uct_predreg_md_facts_t facts()
    {
        uct_predreg_md_facts_t facts = {"?", -1, -1, -1};

        EXPECT_EQ(md_status, ucx_1_13().md_facts(&m_real, nullptr, &facts));
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

TEST_F(test_compat_md, devices_are_noticed) {
    strcpy(md_attr.component_name, "cuda");
    md_attr.cap.detect_mem_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    EXPECT_EQ(1, facts().has_devices);
}

TEST_F(test_compat_md, an_adapter_may_know_memory_of_devices) {
    EXPECT_EQ(0, facts().registers_devices);
    md_attr.cap.reg_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    EXPECT_EQ(0, facts().registers_devices);
    md_attr.cap.reg_mem_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    EXPECT_EQ(1, facts().registers_devices);
}

TEST_F(test_compat_md, an_error_is_passed_on) {
    md_status = UCS_ERR_IO_ERROR;
    facts();
}

TEST_F(test_compat_md, a_hit_costs_the_same_at_every_length) {
    for_each_column([](const uct_predreg_compat_t &column) {
        uct_md_attr_t attr = {};

        attr.reg_cost.m = 1;
        column.set_reg_cost(&attr, column.hit_cost);
        EXPECT_EQ(180e-9, attr.reg_cost.c);
        EXPECT_EQ(0, attr.reg_cost.m);
    });
}
