/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "../core/core_test.h"

#include <uct/ib/predreg/md/md.h>

#include <ucs/config/global_opts.h>
#include <ucs/debug/log_def.h>

#include <cstdarg>
#include <vector>

/* Which components are managed, and whether UCX has them. The handle of a
 * component is its name */
class test_components : public core_test {
protected:
    void SetUp() override
    {
        core_test::SetUp();
        m_level = ucs_global_opts.log_component.log_level;
        s_infos.clear();
        ucs_log_push_handler(log_info);

        uct_predreg_real_t *real         = &test_core_state()->real;
        real->uct_query_components       = [](uct_component_h **components,
                                              unsigned *count) {
            static char self[] = "self", ib[] = "ib", cma[] = "cma";
            static char *names[] = {self, ib, cma};

            *components = reinterpret_cast<uct_component_h*>(names);
            *count      = 3;
            return UCS_OK;
        };
        real->uct_release_component_list = [](uct_component_h*) {};
        real->uct_component_query        = [](uct_component_h component,
                                              uct_component_attr_t *attr) {
            snprintf(attr->name, sizeof(attr->name), "%s",
                     reinterpret_cast<const char*>(component));
            return UCS_OK;
        };
    }

    void TearDown() override
    {
        ucs_log_pop_handler();
        ucs_global_opts.log_component.log_level = m_level;
        core_test::TearDown();
    }

    static ucs_log_func_rc_t
    log_info(const char *file, unsigned line, const char *function,
             ucs_log_level_t level, const ucs_log_component_config_t *comp_conf,
             const char *format, va_list ap)
    {
        char message[512];

        if ((level > UCS_LOG_LEVEL_INFO) || (level < UCS_LOG_LEVEL_WARN)) {
            return UCS_LOG_FUNC_RC_CONTINUE;
        }

        vsnprintf(message, sizeof(message), format, ap);
        s_infos.push_back(message);
        return UCS_LOG_FUNC_RC_STOP;
    }

    typedef std::vector<std::string> infos_t;

    /* What is said of the components that were chosen */
    static infos_t check(ucs_log_level_t level = UCS_LOG_LEVEL_INFO)
    {
        ucs_global_opts.log_component.log_level = level;
        uct_predreg_components_check(test_core_state());
        return s_infos;
    }

    static infos_t  s_infos;
    ucs_log_level_t m_level;
};

test_components::infos_t test_components::s_infos;

TEST_F(test_components, names_are_whole) {
    set("COMPONENTS", "ib,knem");
    EXPECT_TRUE(uct_predreg_is_managed_component(&test_core_state()->knobs, "ib"));
    EXPECT_TRUE(uct_predreg_is_managed_component(&test_core_state()->knobs, "knem"));
    EXPECT_FALSE(uct_predreg_is_managed_component(&test_core_state()->knobs, "i"));
    EXPECT_FALSE(uct_predreg_is_managed_component(&test_core_state()->knobs, "kne"));
    EXPECT_FALSE(uct_predreg_is_managed_component(&test_core_state()->knobs, "knems"));
    EXPECT_FALSE(uct_predreg_is_managed_component(&test_core_state()->knobs, ""));
}

TEST_F(test_components, those_that_ucx_has_are_not_spoken_of) {
    set("COMPONENTS", "cma,ib");
    EXPECT_EQ(infos_t(), check());
}

TEST_F(test_components, the_others_are_named) {
    set("COMPONENTS", "ib,infiniband,Cma");
    EXPECT_EQ(infos_t({"UCX_RCACHE_PRED_COMPONENTS: there is no component "
                       "'infiniband' here; there are self, ib, cma",
                       "UCX_RCACHE_PRED_COMPONENTS: there is no component "
                       "'Cma' here; there are self, ib, cma"}), check());
}

TEST_F(test_components, names_are_warned_of) {
    set("COMPONENTS", "infiniband");
    EXPECT_EQ(1u, check(UCS_LOG_LEVEL_WARN).size());
    s_infos.clear();
    EXPECT_EQ(infos_t(), check(UCS_LOG_LEVEL_ERROR));
}
