/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lazy_use.h"


lazy_use::lazy_use(fake_world &world, pred_test::domain_t *domain,
                   void *address, size_t length, unsigned flags,
                   const pred_test::context_t &ctx) :
    m_world(&world), m_domain(domain), m_start((uintptr_t)address),
    m_length(length), m_flags(flags), m_context(ctx), m_lazy{},
    m_status(UCS_ERR_INVALID_PARAM), m_memh(NULL), m_num_pieces(0)
{
}

ucs_status_t lazy_use::begin()
{
    m_status = ucs_rcache_pred_begin_lazy(m_domain, (void*)m_start, m_length,
                                          m_flags, &m_context, &m_lazy,
                                          &m_memh);
    if (m_status == UCS_OK) {
        EXPECT_TRUE(m_world->covers(m_memh, (void*)m_start, m_length));
    }
    return m_status;
}

void lazy_use::check(const ucs_rcache_pred_piece_t &piece, size_t said) const
{
    EXPECT_EQ(m_start, piece.start);
    EXPECT_GT(piece.length, 0u);
    EXPECT_LE(piece.length, m_length);
    EXPECT_LE(ucs_rcache_pred_pages(piece.start, piece.length) * PAGE, said);
    EXPECT_TRUE(m_world->covers(piece.memh, (void*)piece.start, piece.length));
    if (m_num_pieces > 0) {
        EXPECT_EQ(0u, piece.start % PAGE) << "two pieces share a page";
    }
}

ucs_status_t lazy_use::next()
{
    size_t said = m_lazy.piece;
    ucs_rcache_pred_piece_t piece;
    ucs_status_t status;

    status = ucs_rcache_pred_piece_reg(&m_lazy, m_start, m_length, m_flags,
                                       &piece);
    if (status != UCS_OK) {
        return status;
    }

    check(piece, said);
    m_pieces.push_back(piece);
    ++m_num_pieces;
    m_start  += piece.length;
    m_length -= piece.length;
    return UCS_OK;
}

void lazy_use::land()
{
    ucs_rcache_pred_piece_t piece = m_pieces.front();

    EXPECT_TRUE(m_world->covers(piece.memh, (void*)piece.start, piece.length));
    m_pieces.pop_front();
    ucs_rcache_pred_piece_dereg(m_domain, &piece);
}

void lazy_use::end()
{
    if (!is_lazy()) {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_end(m_domain, m_memh));
        return;
    }

    while (!m_pieces.empty()) {
        land();
    }
    ucs_rcache_pred_end_lazy(&m_lazy);
}

ucs_status_t lazy_use::finish(std::function<bool()> wait)
{
    ucs_status_t status = UCS_OK;

    while (is_lazy() && (m_length > 0)) {
        if (m_pieces.size() == IN_FLIGHT) {
            land();
        }

        status = next();
        if (status == UCS_OK) {
            continue;
        }

        if ((status == UCS_ERR_NO_RESOURCE) && !m_pieces.empty()) {
            land();
        } else if ((status != UCS_ERR_NO_RESOURCE) || !wait()) {
            break;
        }
    }

    end();
    return status;
}
