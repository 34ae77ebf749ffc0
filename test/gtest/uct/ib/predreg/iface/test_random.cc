/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "iface_test.h"

#include <algorithm>
#include <memory>
#include <random>


/*
 * A program that does anything, also in callbacks, on an interface that answers
 * anything, beside a model of what has to come out of it: each operation ends
 * once, with the first error that it met, and moves each byte once.
 */
class test_random : public iface_test,
                    public ::testing::WithParamInterface<unsigned> {
protected:
    static constexpr unsigned EPS         = 3;
    static constexpr size_t   COPY_LENGTH = 4500;
    static constexpr unsigned COPY_SLOTS  = 50; /* Places at the peer */

    typedef fake_iface::operation operation;

    struct op {
        char                           kind; /* g, p: in pieces; G, P: copied;
                                                f: a flush */
        unsigned                       ep;
        unsigned                       index;  /* Of its buffer or slot */
        size_t                         length;
        request                        req;
        std::unique_ptr<pieces_handle> handle;
        std::vector<char>              local;
        bool                           is_stuck; /* To be called again */
        bool                           is_done;
        ucs_status_t                   error;    /* The first one it met */
        std::vector<std::pair<uint64_t, size_t>> posted; /* Remote ranges */
        std::vector<op*>               before; /* A flush waits for these */
    };

    void SetUp() override
    {
        iface_test::SetUp();
        bound();
        m_random.seed(GetParam());
        m_fake.peer.resize(COPY_SLOTS * COPY_LENGTH);
        m_fake.on_op      = [this](const operation &o) { return decide(o); };
        m_fake.on_destroy = [this] { purge(m_dying.back()); };
    }

    void TearDown() override
    {
        m_ops.clear();
        iface_test::TearDown();
    }

    unsigned dice(unsigned sides) { return m_random() % sides; }

    /* Whose operation of the interface this is */
    op *owner(const operation &o)
    {
        for (auto &candidate : m_ops) {
            uintptr_t start = (uintptr_t)buffer(candidate->index);

            if (candidate->is_done) {
                continue;
            }

            if ((o.kind == candidate->kind) &&
                (((o.kind >= 'a') && (o.address >= start) &&
                  (o.address < start + candidate->length)) ||
                 ((o.kind < 'a') && (o.remote >= remote(*candidate)) &&
                  (o.remote < remote(*candidate) + COPY_LENGTH)))) {
                return candidate.get();
            }
        }
        return NULL;
    }

    uint64_t remote(const op &o) const
    {
        return ((o.kind >= 'a') ? REMOTE : REMOTE + o.index * COPY_LENGTH);
    }

    static void met(op &o, ucs_status_t error)
    {
        if (o.error == UCS_OK) {
            o.error = error;
        }
    }

    /* What the interface answers */
    ucs_status_t decide(const operation &o)
    {
        unsigned n          = dice(1000);
        ucs_status_t status = m_is_kind || (n < 500) ? UCS_INPROGRESS :
                              (n < 700) ? UCS_OK :
                              (n < 990) ? UCS_ERR_NO_RESOURCE :
                                          UCS_ERR_IO_ERROR;
        op *own             = owner(o);

        EXPECT_TRUE(own != NULL);
        if ((own != NULL) && (status == UCS_ERR_IO_ERROR)) {
            met(*own, status);
        }
        return status;
    }

    /* What was posted since belongs to operations */
    void sort_posted()
    {
        for (const operation &o : m_fake.posted) {
            op *own = owner(o);

            ASSERT_TRUE(own != NULL);
            own->posted.push_back({o.remote, o.length});
            if (o.kind >= 'a') {
                EXPECT_EQ(o.address - (uintptr_t)buffer(own->index),
                          o.remote - REMOTE);
            }
        }
        m_fake.posted.clear();
    }

    /* Each byte was moved once; of an operation that failed at most once */
    void check_bytes(op &o)
    {
        uint64_t next = remote(o);

        std::sort(o.posted.begin(), o.posted.end());
        for (const auto &range : o.posted) {
            EXPECT_LE(next, range.first);
            EXPECT_TRUE((o.error != UCS_OK) || (next == range.first));
            next = range.first + range.second;
        }
        EXPECT_TRUE((o.error != UCS_OK) || (next == remote(o) + o.length));
        if ((o.kind < 'a') && (o.error == UCS_OK)) {
            EXPECT_TRUE(std::equal(o.local.begin(), o.local.end(),
                                   &m_fake.peer[o.index * COPY_LENGTH]));
        }
    }

    void finish(op &o, ucs_status_t status)
    {
        sort_posted();
        EXPECT_FALSE(o.is_done);
        o.is_done = true;
        if (o.kind == 'f') {
            for (op *earlier : o.before) {
                EXPECT_TRUE(earlier->is_done || (status != UCS_OK));
            }
        } else {
            EXPECT_EQ(o.error, status);
            check_bytes(o);
            o.handle.reset(); /* As UCP does */
        }
    }

    void called_back(op &o)
    {
        finish(o, o.req.status());
        if (m_depth < 3) {
            ++m_depth;
            while (dice(3) == 0) {
                step();
            }
            --m_depth;
        }
    }

    /* Start an operation, or call it again */
    void call(op &o)
    {
        void *address = (o.kind >= 'a') ? buffer(o.index) : o.local.data();
        bool is_dying = (o.kind >= 'a') && is_dying_now(o.ep);
        ucs_status_t status;

        o.is_stuck = false;
        if ((o.kind == 'g') || (o.kind == 'G')) {
            status = m_fake.get(o.handle->memh(), address, o.length, o.req,
                                o.ep, remote(o));
        } else {
            status = m_fake.put(o.handle->memh(), address, o.length, o.req,
                                o.ep, remote(o));
        }

        if (is_dying) {
            EXPECT_EQ(UCS_ERR_CANCELED, status);
            met(o, UCS_ERR_CANCELED);
        }
        if (status == UCS_ERR_NO_RESOURCE) {
            EXPECT_LT(o.kind, 'a') << "a transfer waits by itself";
            o.is_stuck = true;
        } else if (status != UCS_INPROGRESS) {
            EXPECT_EQ(0u, o.req.num_done);
            finish(o, status);
        }
    }

    op &add(char kind)
    {
        m_ops.emplace_back(new op());
        op &o = *m_ops.back();

        o.kind     = kind;
        o.ep       = dice(EPS);
        o.req.then = [this, &o] { called_back(o); };
        return o;
    }

    void start()
    {
        op &o = add("gpGP"[dice(4)]);

        if (o.kind >= 'a') {
            o.index  = m_next_index++;
            o.length = MB + dice(64 * KB);
            o.handle.reset(new pieces_handle(domain(), buffer(o.index),
                                             o.length));
        } else {
            o.index  = m_next_slot++ % COPY_SLOTS;
            o.length = COPY_LENGTH;
            o.local.resize(COPY_LENGTH);
            for (char &c : o.local) {
                c = m_random();
            }
            if (o.kind == 'G') {
                std::generate_n(&m_fake.peer[o.index * COPY_LENGTH],
                                COPY_LENGTH, [this] { return m_random(); });
            }
            o.handle.reset(new pieces_handle());
        }
        call(o);
    }

    void flush()
    {
        op &o = add('f');
        ucs_status_t status;

        for (auto &other : m_ops) {
            if ((other->kind >= 'g') && !other->is_done &&
                (other->ep == o.ep)) {
                o.before.push_back(other.get());
            }
        }

        status = m_fake.flush_ep(o.ep, &o.req);
        if (status != UCS_INPROGRESS) {
            finish(o, status);
        }
    }

    /* Transfers that are under way on an endpoint now are cancelled */
    void will_cancel(unsigned ep)
    {
        for (auto &o : m_ops) {
            if ((o->kind >= 'g') && !o->is_done && (o->ep == ep)) {
                met(*o, UCS_ERR_CANCELED);
            }
        }
    }

    void cancel_flush()
    {
        unsigned ep = dice(EPS);
        request req;

        will_cancel(ep);
        EXPECT_NE(UCS_INPROGRESS,
                  m_fake.flush_ep(ep, &req, UCT_FLUSH_FLAG_CANCEL));
        EXPECT_EQ(0u, req.num_done);
    }

    bool is_dying_now(unsigned ep) const
    {
        return std::count(m_dying.begin(), m_dying.end(), ep) > 0;
    }

    /* What UCX does when an endpoint is destroyed */
    void purge(unsigned ep)
    {
        for (unsigned i = 0; i < m_fake.in_flight.size();) {
            if (m_fake.in_flight[i].ep == m_fake.ep(ep)) {
                land(i, UCS_ERR_CANCELED);
                i = 0;
            } else {
                ++i;
            }
        }
    }

    void destroy()
    {
        unsigned ep = dice(EPS);

        if (is_dying_now(ep)) {
            return;
        }

        m_dying.push_back(ep);
        will_cancel(ep);
        m_fake.destroy_ep(ep);
        m_dying.pop_back();
        for (auto &o : m_ops) {
            if ((o->kind >= 'g') && (o->ep == ep)) {
                EXPECT_TRUE(o->is_done) << "nothing is left of it";
            }
        }
    }

    void land(unsigned index, ucs_status_t status)
    {
        op *own;

        sort_posted();
        own = owner(m_fake.in_flight[index]);
        if ((own != NULL) && (status != UCS_OK)) {
            met(*own, status);
        }
        m_fake.land(status, index);
    }

    /* UCP gives up an operation that is stuck */
    void give_up(op &o)
    {
        o.is_stuck = false;
        met(o, UCS_ERR_CANCELED);
        for (operation &flying : m_fake.in_flight) {
            if (owner(flying) == &o) {
                flying.remote = REMOTE; /* It arrives late, from anywhere */
            }
        }
        finish(o, o.error);
    }

    void again()
    {
        for (auto &o : m_ops) {
            if (o->is_stuck && dice(2)) {
                return dice(20) ? call(*o) : give_up(*o);
            }
        }
    }

    void step()
    {
        static const ucs_status_t flush_statuses[] = {
            UCS_OK, UCS_ERR_NO_RESOURCE, UCS_ERR_IO_ERROR
        };
        unsigned n = dice(100);

        /* A flush that ends a copied put does not fail: the put would */
        m_fake.flush_status = flush_statuses[dice(((n >= 15) && (n < 21)) ? 3 : 2)];
        if (n < 15) {
            if (num_under_way() < 30) {
                start();
            }
        } else if (n < 20) {
            flush();
        } else if (n < 21) {
            cancel_flush();
        } else if (n < 22) {
            destroy();
        } else if (n < 35) {
            again();
        } else if (n < 60) {
            m_fake.progress();
        } else if (n < 65) {
            m_world.fail_nth_reg(1 + dice(3), 1 + dice(4),
                                 dice(2) ? UCS_ERR_NO_MEMORY :
                                           UCS_ERR_NO_RESOURCE);
        } else if (n < 70) {
            m_world.advance(dice(200) * USEC);
        } else if (!m_fake.in_flight.empty()) {
            land(dice(m_fake.in_flight.size()),
                 (dice(100) == 0) ? UCS_ERR_ENDPOINT_TIMEOUT : UCS_OK);
        }
    }

    unsigned num_under_way() const
    {
        return std::count_if(m_ops.begin(), m_ops.end(),
                             [](const auto &o) { return !o->is_done; });
    }

    /* The interface and the system are kind from now on, and all ends */
    void run_out()
    {
        m_is_kind           = true;
        m_fake.flush_status = UCS_OK;
        m_world.fail_nth_reg(0);
        for (unsigned i = 0; (i < 100000) && (num_under_way() > 0); ++i) {
            for (auto &o : m_ops) {
                if (o->is_stuck) {
                    call(*o);
                    break;
                }
            }
            while (!m_fake.in_flight.empty()) {
                land(0, UCS_OK);
            }
            m_fake.progress();
            m_world.advance(MSEC);
        }
        m_fake.run();
        EXPECT_EQ(0u, num_under_way());
        m_is_kind = false;
    }

    std::mt19937                     m_random;
    std::deque<std::unique_ptr<op>>  m_ops;
    std::vector<unsigned>            m_dying; /* Endpoints, innermost last */
    unsigned                         m_depth      = 3;
    unsigned                         m_next_index = 0;
    unsigned                         m_next_slot  = 0;
    bool                             m_is_kind    = false;
};

TEST_P(test_random, each_operation_ends_once_and_moves_each_byte_once)
{
    for (unsigned round = 0; round < 40 / SANITIZER_SLOWDOWN; ++round) {
        m_depth = 0;
        for (unsigned i = 0; i < 250; ++i) {
            step();
            sort_posted();
        }
        m_depth = 3; /* No more steps in callbacks */
        run_out();
        for (const auto &o : m_ops) {
            EXPECT_TRUE(o->is_done);
            EXPECT_GE(1u, o->req.num_done);
        }
        EXPECT_EQ(0u, m_world.num_live());
        EXPECT_TRUE(uct_predreg_may_sleep());
        m_ops.clear();
        if (HasFailure()) {
            break;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(seeds, test_random, ::testing::Range(1u, 5u));
