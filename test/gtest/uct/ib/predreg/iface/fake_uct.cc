/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_uct.h"

extern "C" {
#include <uct/ib/predreg/iface/iface.h>
}


fake_iface::fake_iface(fake_world &world) :
    attr{}, query_status(UCS_OK), depth(SIZE_MAX), refuse_nth(0), fail_nth(0),
    at_once(false), refuse_ep(UINT_MAX), flush_status(UCS_OK),
    most_in_flight(0), num_iface_flushes(0), num_ep_flushes(0),
    num_destroyed(0), num_closed(0), num_am_zcopy(0), m_world(&world),
    m_iface{}, m_attempts(0), m_progress(NULL), m_progress_arg(NULL),
    m_progress_id(NULL)
{
    attr.cap.flags         = UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_AM_BCOPY |
                             UCT_IFACE_FLAG_PUT_ZCOPY |
                             UCT_IFACE_FLAG_PUT_BCOPY |
                             UCT_IFACE_FLAG_GET_ZCOPY |
                             UCT_IFACE_FLAG_GET_BCOPY;
    attr.cap.am.max_zcopy  = 8 * KB;
    attr.cap.am.max_bcopy  = 8 * KB;
    attr.cap.get.min_zcopy = 128;
    attr.cap.get.max_bcopy = MAX_BCOPY;
    attr.cap.put.min_zcopy = 1;
    attr.cap.put.max_bcopy = MAX_BCOPY;

    m_iface.ops.ep_get_zcopy = op_get_zcopy;
    m_iface.ops.ep_put_zcopy = op_put_zcopy;
    m_iface.ops.ep_get_bcopy = op_get_bcopy;
    m_iface.ops.ep_put_bcopy = op_put_bcopy;
    m_iface.ops.ep_am_zcopy  = op_am_zcopy;
    m_iface.ops.ep_am_bcopy  = op_am_bcopy;
    m_iface.ops.ep_flush     = op_ep_flush;
    m_iface.ops.ep_destroy   = op_ep_destroy;
    m_iface.ops.iface_flush  = op_flush;
    m_iface.ops.iface_close  = op_close;
    m_iface.ops.iface_query  = op_query;
    m_iface.self             = this;
    m_ops                    = m_iface.ops;
    for (uct_ep_t &ep : m_eps) {
        ep.iface = &m_iface;
    }
}

uct_predreg_env_t fake_iface::env()
{
    return {op_progress_register, op_progress_unregister, fake_world::ops.now,
            m_world};
}

ucs_status_t fake_iface::wrap()
{
    uct_predreg_env_t e = env();

    return uct_predreg_iface_wrap(&m_iface, worker(), &e);
}

bool fake_iface::is_wrapped() const
{
    return memcmp(&m_ops, &m_iface.ops, sizeof(m_ops)) != 0;
}

ucs_status_t fake_iface::get(uct_mem_h memh, void *buffer, size_t length,
                             request &req, unsigned ep_index, uint64_t remote)
{
    uct_iov_t iov = {buffer, length, memh, 0, 1};

    return m_iface.ops.ep_get_zcopy(ep(ep_index), &iov, 1, remote, RKEY,
                                    &req.comp);
}

ucs_status_t fake_iface::put(uct_mem_h memh, void *buffer, size_t length,
                             request &req, unsigned ep_index, uint64_t remote)
{
    uct_iov_t iov = {buffer, length, memh, 0, 1};

    return m_iface.ops.ep_put_zcopy(ep(ep_index), &iov, 1, remote, RKEY,
                                    &req.comp);
}

ucs_status_t fake_iface::flush_ep(unsigned ep_index, request *req,
                                  unsigned flags)
{
    return m_iface.ops.ep_flush(ep(ep_index), flags,
                                (req == NULL) ? NULL : &req->comp);
}

ucs_status_t fake_iface::flush()
{
    return m_iface.ops.iface_flush(&m_iface, 0, NULL);
}

void fake_iface::destroy_ep(unsigned index)
{
    m_iface.ops.ep_destroy(ep(index));
}

void fake_iface::land(ucs_status_t status, unsigned index)
{
    ASSERT_LT(index, in_flight.size());
    operation op = in_flight[index];

    in_flight.erase(in_flight.begin() + index);
    if (op.kind == 'G') {
        op.unpack(op.arg, &peer.at(op.remote - REMOTE), op.length);
    } else {
        EXPECT_TRUE(m_world->covers(op.memh, (void*)op.address, op.length));
    }

    if ((status != UCS_OK) && (op.comp->status == UCS_OK)) {
        op.comp->status = status;
    }
    if (--op.comp->count == 0) {
        op.comp->func(op.comp);
    }
}

void fake_iface::land_all(ucs_status_t status)
{
    while (!in_flight.empty()) {
        land(status);
    }
}

unsigned fake_iface::progress()
{
    return (m_progress != NULL) ? m_progress(m_progress_arg) : 0;
}

void fake_iface::run()
{
    do {
        land_all();
    } while ((progress() > 0) || !in_flight.empty());
}

void fake_iface::op_progress_register(uct_worker_h worker, ucs_callback_t func,
                                      void *arg, unsigned flags,
                                      uct_worker_cb_id_t *id_p)
{
    fake_iface *fake = (fake_iface*)worker;

    EXPECT_EQ(0u, flags);
    if (*id_p != UCS_CALLBACKQ_ID_NULL) {
        return; /* As UCX does */
    }

    EXPECT_TRUE(fake->m_progress == NULL);
    *id_p                = 5;
    fake->m_progress     = func;
    fake->m_progress_arg = arg;
    fake->m_progress_id  = id_p;
}

void fake_iface::op_progress_unregister(uct_worker_h worker,
                                        uct_worker_cb_id_t *id_p)
{
    fake_iface *fake = (fake_iface*)worker;

    if (*id_p != UCS_CALLBACKQ_ID_NULL) {
        EXPECT_EQ(fake->m_progress_id, id_p);
        *id_p            = UCS_CALLBACKQ_ID_NULL;
        fake->m_progress = NULL;
    }
}

ucs_status_t fake_iface::verdict(const operation &op)
{
    ++m_attempts;
    if (on_op) {
        ucs_status_t status = on_op(op);

        at_once = (status == UCS_OK);
        return (status == UCS_INPROGRESS) ? UCS_OK : status;
    }

    if (op.ep - m_eps == (ptrdiff_t)refuse_ep) {
        return UCS_ERR_NO_RESOURCE;
    }

    if ((fail_nth > 0) && (--fail_nth == 0)) {
        return UCS_ERR_IO_ERROR;
    }

    if ((in_flight.size() >= depth) ||
        ((refuse_nth > 0) && (m_attempts % refuse_nth == 0))) {
        return UCS_ERR_NO_RESOURCE;
    }

    return UCS_OK;
}

ucs_status_t fake_iface::post(const operation &op)
{
    posted.push_back(op);
    if (at_once) {
        return UCS_OK;
    }

    in_flight.push_back(op);
    most_in_flight = std::max(most_in_flight, in_flight.size());
    return UCS_INPROGRESS;
}

ucs_status_t fake_iface::zcopy(char kind, uct_ep_h ep, const uct_iov_t *iov,
                               size_t iovcnt, uint64_t remote_addr,
                               uct_rkey_t rkey, uct_completion_t *comp)
{
    operation op        = {kind, ep, (uintptr_t)iov->buffer, iov->length,
                           iov->memh, remote_addr, comp, NULL, NULL};
    ucs_status_t status = verdict(op);

    EXPECT_EQ(1u, iovcnt);
    EXPECT_EQ(1u, iov->count);
    EXPECT_EQ(RKEY, rkey);
    EXPECT_TRUE(m_world->covers(iov->memh, iov->buffer, iov->length));
    return (status != UCS_OK) ? status : post(op);
}

ucs_status_t fake_iface::op_get_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                      size_t iovcnt, uint64_t remote_addr,
                                      uct_rkey_t rkey, uct_completion_t *comp)
{
    return self(ep->iface)->zcopy('g', ep, iov, iovcnt, remote_addr, rkey,
                                  comp);
}

ucs_status_t fake_iface::op_put_zcopy(uct_ep_h ep, const uct_iov_t *iov,
                                      size_t iovcnt, uint64_t remote_addr,
                                      uct_rkey_t rkey, uct_completion_t *comp)
{
    return self(ep->iface)->zcopy('p', ep, iov, iovcnt, remote_addr, rkey,
                                  comp);
}

ucs_status_t fake_iface::op_get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack,
                                      void *arg, size_t length,
                                      uint64_t remote_addr, uct_rkey_t rkey,
                                      uct_completion_t *comp)
{
    fake_iface *fake    = self(ep->iface);
    operation op        = {'G', ep, 0, length, NULL, remote_addr, comp, unpack,
                           arg};
    ucs_status_t status = fake->verdict(op);

    EXPECT_EQ(RKEY, rkey);
    EXPECT_LE(length, MAX_BCOPY);
    if (status != UCS_OK) {
        return status;
    }

    if (fake->at_once) {
        unpack(arg, &fake->peer.at(remote_addr - REMOTE), length);
    }
    return fake->post(op);
}

ssize_t fake_iface::op_put_bcopy(uct_ep_h ep, uct_pack_callback_t pack,
                                 void *arg, uint64_t remote_addr,
                                 uct_rkey_t rkey)
{
    fake_iface *fake    = self(ep->iface);
    operation op        = {'P', ep, 0, 0, NULL, remote_addr, NULL, NULL, NULL};
    ucs_status_t status = fake->verdict(op);
    char data[MAX_BCOPY];
    size_t length;

    EXPECT_EQ(RKEY, rkey);
    if (status != UCS_OK) {
        return status;
    }

    length = pack(data, arg);
    EXPECT_LE(length, MAX_BCOPY);
    EXPECT_LE(remote_addr - REMOTE + length, fake->peer.size());
    memcpy(&fake->peer.at(remote_addr - REMOTE), data, length);
    op.length = length;
    fake->posted.push_back(op);
    return length;
}

ucs_status_t fake_iface::op_am_zcopy(uct_ep_h ep, uint8_t id,
                                     const void *header, unsigned header_length,
                                     const uct_iov_t *iov, size_t iovcnt,
                                     unsigned flags, uct_completion_t *comp)
{
    ++self(ep->iface)->num_am_zcopy;
    return UCS_INPROGRESS;
}

ssize_t fake_iface::op_am_bcopy(uct_ep_h ep, uint8_t id,
                                uct_pack_callback_t pack, void *arg,
                                unsigned flags)
{
    fake_iface *fake    = self(ep->iface);
    ucs_status_t status = fake->verdict({'A', ep, 0, 0, NULL, 0, NULL, NULL,
                                         NULL});

    if (status != UCS_OK) {
        return status;
    }

    fake->message.resize(fake->attr.cap.am.max_bcopy);
    fake->message.resize(pack(fake->message.data(), arg));
    return fake->message.size();
}

ucs_status_t fake_iface::op_ep_flush(uct_ep_h ep, unsigned flags,
                                     uct_completion_t *comp)
{
    fake_iface *fake = self(ep->iface);

    ++fake->num_ep_flushes;
    if (fake->flush_status != UCS_ERR_NO_RESOURCE) {
        fake->flushes.push_back({ep, flags, comp});
    }
    return fake->flush_status;
}

void fake_iface::op_ep_destroy(uct_ep_h ep)
{
    fake_iface *fake = self(ep->iface);

    ++fake->num_destroyed;
    if (fake->on_destroy) {
        fake->on_destroy();
    }
}

ucs_status_t fake_iface::op_flush(uct_iface_h iface, unsigned flags,
                                  uct_completion_t *comp)
{
    ++self(iface)->num_iface_flushes;
    return UCS_OK;
}

void fake_iface::op_close(uct_iface_h iface)
{
    fake_iface *fake = self(iface);

    EXPECT_FALSE(fake->is_wrapped()) << "its operations are its own by now";
    EXPECT_FALSE(fake->is_progressing());
    ++fake->num_closed;
    if (fake->on_close) {
        fake->on_close();
    }
}

ucs_status_t fake_iface::op_query(uct_iface_h iface, uct_iface_attr_t *attr)
{
    *attr = self(iface)->attr;
    return self(iface)->query_status;
}


pieces_handle::pieces_handle(pred_test::domain_t *domain, void *address,
                             size_t length) :
    m_pieces{}, m_is_use(false)
{
    pred_test::context_t context = pred_test::context(1);
    void *memh;

    EXPECT_EQ(UCS_INPROGRESS,
              ucs_rcache_pred_begin_in_pieces(domain, address, length, 0,
                                              &context, &m_pieces.use, &memh));
    m_is_use = true;
}

pieces_handle::pieces_handle() : m_pieces{}, m_is_use(false)
{
    m_pieces.one_sided = 1;
}

pieces_handle::~pieces_handle()
{
    end();
}

void pieces_handle::end()
{
    uct_predreg_copy_cancel(&m_pieces.copy);
    if (m_is_use) {
        ucs_rcache_pred_end_in_pieces(&m_pieces.use);
        m_is_use = false;
    }
}
