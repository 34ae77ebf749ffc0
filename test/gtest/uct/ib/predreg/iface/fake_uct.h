/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FAKE_UCT_H_
#define PREDREG_GTEST_FAKE_UCT_H_

#include <common/pred_test.h>

#include <deque>
#include <functional>
#include <list>
#include <string.h>
#include <vector>

extern "C" {
#include <uct/ib/predreg/iface/iface.h>

#include <uct/api/tl.h>
}

/* A completion of UCP: it must be called back once, when it is told to wait,
 * and never otherwise */
struct request {
    request() : comp{on_done, 1, UCS_OK}, num_done(0) {}

    static void on_done(uct_completion_t *comp)
    {
        request *self = reinterpret_cast<request*>(comp);

        ++self->num_done;
        if (self->then) {
            self->then();
        }
    }

    bool is_done() const { return num_done > 0; }
    ucs_status_t status() const { return comp.status; }

    uct_completion_t      comp; /* First */
    unsigned              num_done;
    std::function<void()> then; /* What the user does when called back */
};


/*
 * An interface of UCT, the worker it is on and the peer's memory: operations
 * complete when told to. There is a send queue of a given depth, which refuses
 * every nth operation if told so. What must not happen (a piece that flies and
 * is not registered) fails the test.
 */
class fake_iface {
public:
    struct operation {
        char                  kind; /* g, p: zero-copy get, put; G: copying */
        uct_ep_h              ep;
        uintptr_t             address; /* Local */
        size_t                length;
        uct_mem_h             memh;
        uint64_t              remote;
        uct_completion_t      *comp;
        uct_unpack_callback_t unpack;
        void                  *arg;
    };

    struct flushing {
        uct_ep_h         ep;
        unsigned         flags;
        uct_completion_t *comp;
    };

    static constexpr uint64_t REMOTE    = 0x1000; /* Where peer starts */
    static constexpr size_t   MAX_BCOPY = 1000;   /* Of a fragment */

    explicit fake_iface(fake_world &world);

    uct_iface_h handle() { return &m_iface; }
    uct_ep_h ep(unsigned index) { return &m_eps[index]; }
    uct_worker_h worker() { return (uct_worker_h)this; }
    uct_predreg_env_t env();
    ucs_status_t wrap();
    void close() { m_iface.ops.iface_close(&m_iface); }
    bool is_wrapped() const;

    /* Call a replaced operation */
    ucs_status_t get(uct_mem_h memh, void *buffer, size_t length,
                     request &req, unsigned ep_index = 0,
                     uint64_t remote = REMOTE);
    ucs_status_t put(uct_mem_h memh, void *buffer, size_t length,
                     request &req, unsigned ep_index = 0,
                     uint64_t remote = REMOTE);
    ucs_status_t flush_ep(unsigned ep_index, request *req, unsigned flags = 0);
    ucs_status_t flush();
    void destroy_ep(unsigned index);

    /* Operations land: the oldest, one of those in flight, or all that are and
     * that come */
    void land(ucs_status_t status = UCS_OK, unsigned index = 0);
    void land_all(ucs_status_t status = UCS_OK);
    /* Operations that were tried */
    unsigned num_attempts() const { return m_attempts; }
    bool is_progressing() const { return m_progress != NULL; }
    unsigned progress();
    /* Land and make progress until nothing happens any more */
    void run();

    /* What the interface does */
    uct_iface_attr_t     attr;
    ucs_status_t         query_status;
    size_t               depth;       /* Of the send queue */
    unsigned             refuse_nth;  /* Every nth; 0: none */
    unsigned             fail_nth;    /* This one from now on; 0: none */
    bool                 at_once;     /* Operations are done when posted */
    unsigned             refuse_ep;   /* Operations of this endpoint */
    std::function<ucs_status_t(const operation&)>
                         on_op;       /* Decides instead, if set: UCS_OK is done
                                         at once, UCS_INPROGRESS flies */
    std::function<void()> on_destroy, on_close; /* In the middle of it */
    ucs_status_t         flush_status;

    /* What it was asked to do */
    std::deque<operation> in_flight;
    std::vector<operation> posted;    /* In order */
    size_t               most_in_flight;
    std::deque<flushing> flushes;     /* Handed to it */
    unsigned             num_iface_flushes;
    unsigned             num_ep_flushes; /* Refused ones included */
    unsigned             num_destroyed;
    unsigned             num_closed;
    std::vector<char>    message;     /* Of the last am_bcopy */
    unsigned             num_am_zcopy;
    std::vector<char>    peer;        /* Memory of the peer */

private:
    struct iface : public uct_iface_t {
        fake_iface *self;
    };

    static fake_iface *self(uct_iface_h handle)
    {
        return static_cast<iface*>(handle)->self;
    }

    static void op_progress_register(uct_worker_h worker, ucs_callback_t func,
                                     void *arg, unsigned flags,
                                     uct_worker_cb_id_t *id_p);
    static void op_progress_unregister(uct_worker_h worker,
                                       uct_worker_cb_id_t *id_p);
    static ucs_status_t op_get_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                     size_t iovcnt, uint64_t remote_addr,
                                     uct_rkey_t rkey, uct_completion_t *comp);
    static ucs_status_t op_put_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                     size_t iovcnt, uint64_t remote_addr,
                                     uct_rkey_t rkey, uct_completion_t *comp);
    static ucs_status_t op_get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack,
                                     void *arg, size_t length,
                                     uint64_t remote_addr, uct_rkey_t rkey,
                                     uct_completion_t *comp);
    static ssize_t op_put_bcopy(uct_ep_h ep, uct_pack_callback_t pack,
                                void *arg, uint64_t remote_addr,
                                uct_rkey_t rkey);
    static ucs_status_t op_am_zcopy(uct_ep_h ep, uint8_t id, const void *header,
                                    unsigned header_length,
                                    const uct_iov_t *iov, size_t iovcnt,
                                    unsigned flags, uct_completion_t *comp);
    static ssize_t op_am_bcopy(uct_ep_h ep, uint8_t id,
                               uct_pack_callback_t pack, void *arg,
                               unsigned flags);
    static ucs_status_t op_ep_flush(uct_ep_h ep, unsigned flags,
                                    uct_completion_t *comp);
    static void op_ep_destroy(uct_ep_h ep);
    static ucs_status_t op_flush(uct_iface_h iface, unsigned flags,
                                 uct_completion_t *comp);
    static void op_close(uct_iface_h iface);
    static ucs_status_t op_query(uct_iface_h iface, uct_iface_attr_t *attr);

    /* @return UCS_OK if the queue takes the operation. */
    ucs_status_t verdict(const operation &op);
    ucs_status_t zcopy(char kind, uct_ep_h ep, const uct_iov_t *iov,
                       size_t iovcnt, uint64_t remote_addr, uct_rkey_t rkey,
                       uct_completion_t *comp);
    ucs_status_t post(const operation &op);

    static constexpr uct_rkey_t RKEY = 0x77;

    fake_world         *m_world;
    iface              m_iface;
    uct_ep_t           m_eps[3];
    uct_iface_ops_t    m_ops;      /* As they were before they were replaced */
    unsigned           m_attempts;
    ucs_callback_t     m_progress; /* NULL: not registered */
    void               *m_progress_arg;
    uct_worker_cb_id_t *m_progress_id;
};


/* A use of memory that is not registered, and its handle of ours */
class pieces_handle {
public:
    /* The use begins, and must be one in pieces */
    pieces_handle(pred_test::domain_t *domain, void *address, size_t length);
    /* One that is copied, of which nobody knows */
    pieces_handle();
    ~pieces_handle();

    /* No transfer uses the memory any more */
    void end();

    uct_mem_h memh() { return uct_predreg_pieces_to_memh(&m_pieces); }
    uct_predreg_pieces_memh_t *operator->() { return &m_pieces; }

private:
    uct_predreg_pieces_memh_t m_pieces;
    bool                      m_is_use;
};

#endif
