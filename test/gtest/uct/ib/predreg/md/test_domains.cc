/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"


#include <uct/api/tl.h>

/* Domains and interfaces that come and go */
class test_domains : public md_test {
protected:
    /* What the domain says a registration costs */
    double cost(uct_md_h md)
    {
        uct_md_attr_t attr = m_attr;

        attr.reg_cost.c = 1;
        uct_predreg_md_query(test_core_state(), md, &attr);
        return attr.reg_cost.c;
    }

    /* An interface that cannot be wrapped */
    static void open_iface(uct_md_h md)
    {
        uct_iface_t iface = {};

        iface.ops.iface_query = [](uct_iface_h, uct_iface_attr_t*) {
            return UCS_ERR_UNSUPPORTED;
        };
        uct_predreg_iface_opened(test_core_state(), md, nullptr, &iface);
    }
};

TEST_F(test_domains, an_adapter_is_managed) {
    uct_md_h md = open();

    EXPECT_EQ(1u, test_core_state()->num_managed);
    EXPECT_EQ(1u, test_core_state()->num_opened);
    EXPECT_EQ(180e-9, cost(md));
    close(md);
    EXPECT_EQ(0u, test_core_state()->num_managed);
    EXPECT_EQ(1, cost(md));
}

TEST_F(test_domains, others_are_left_alone) {
    strcpy(m_attr.component_name, "tcp");
    EXPECT_EQ(1, cost(open()));
    EXPECT_EQ(0u, test_core_state()->num_opened);
}

TEST_F(test_domains, what_cannot_register_is_left_alone) {
    m_attr.cap.flags = UCT_MD_FLAG_ALLOC;
    open();
    EXPECT_EQ(0u, test_core_state()->num_opened);
}

TEST_F(test_domains, the_user_chooses_components) {
    set("COMPONENTS", "cma,tcp");
    open(1);
    EXPECT_EQ(0u, test_core_state()->num_opened);
    strcpy(m_attr.component_name, "cma");
    open(2);
    EXPECT_EQ(1u, test_core_state()->num_managed);
    strcpy(m_attr.component_name, "tcp");
    open(3);
    EXPECT_EQ(2u, test_core_state()->num_managed);
    strcpy(m_attr.component_name, "cm"); /* Names are whole */
    open(4);
    EXPECT_EQ(2u, test_core_state()->num_managed);
}

TEST_F(test_domains, no_component_may_be_chosen) {
    set("COMPONENTS", "");
    open();
    EXPECT_EQ(0u, test_core_state()->num_opened);
}

TEST_F(test_domains, registrations_on_demand_cost_what_they_do) {
    set("POLICY", "on-demand");
    EXPECT_EQ(1, cost(open()));
    EXPECT_EQ(1u, test_core_state()->num_managed);
}

TEST_F(test_domains, all_are_managed_however_many_there_are) {
    const unsigned count = 40;
    std::set<uct_predreg_domain_t*> domains;

    for (unsigned i = 1; i <= count; ++i) {
        domains.insert(domain(open(i)));
    }
    EXPECT_EQ(count, test_core_state()->num_managed);
    EXPECT_EQ(count, domains.size());
    EXPECT_EQ(0u, domains.count(nullptr));
    for (uct_md_h md : m_opened) {
        uct_mem_h memh = reg(md, SEND);

        EXPECT_EQ(md, m_regs[memh].md);
        dereg(md, memh);
    }

    /* Another one takes the place of one that is closed */
    uct_md_h first            = *m_opened.begin();
    uct_predreg_domain_t *old = domain(first);
    close(first);
    EXPECT_EQ(nullptr, domain(first));
    EXPECT_EQ(old, domain(open(count + 1)));
    EXPECT_EQ(count, test_core_state()->num_managed);
}

TEST_F(test_domains, leave_pinned_only_watches) {
    set("POLICY", "leave-pinned");
    EXPECT_EQ(1, cost(open()));
    EXPECT_EQ(0u, test_core_state()->num_managed);
    EXPECT_EQ(1u, test_core_state()->num_opened);
    EXPECT_FALSE(test_core_state()->thread != nullptr);
}

TEST_F(test_domains, a_helper_thread_starts_with_the_first) {
    set("HELPER", "aggressive");
    open();
    EXPECT_EQ(1u, test_core_state()->num_managed);
    EXPECT_TRUE(uct_predreg_node() != nullptr);
}

TEST_F(test_domains, an_interface_without_pieces_takes_wholes) {
    uct_md_h md = open();

    set("MAX_PINNED", "512K");
    open_iface(md);
    EXPECT_EQ("messages cannot be moved in pieces with this transport: what "
              "does not fit the bounds on pinned memory will fail",
              log_watch::take());
    open_iface(md); /* It has been said */
    open_iface(reinterpret_cast<uct_md_h>(0x99000));
}

/* The message has the bounds that there are, and the reason */
TEST_F(test_domains, a_whole_that_does_not_fit_is_an_error) {
    set("MAX_PINNED", "300000");
    set("MAX_REGIONS", "4");

    uct_md_h md = open();
    open_iface(md);
    EXPECT_NE("", log_watch::take());
    reg(md, RECV, UCT_PREDREG_PURPOSE_MESSAGE, UCS_ERR_EXCEEDS_LIMIT);

    std::string message = log_watch::take();
    EXPECT_NE(std::string::npos,
              message.find(" do not fit the bounds beside what is in use "
                           "(UCX_RCACHE_PRED_MAX_PINNED=300000, "
                           "UCX_RCACHE_PRED_MAX_REGIONS=4), and cannot be "
                           "registered in pieces: this transport cannot move "
                           "pieces")) << message;
}

TEST_F(test_domains, without_bounds_nothing_is_said) {
    open_iface(open());
}
