/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pieces_use.h"


pieces_use::pieces_use(fake_world &world, pred_test::domain_t *domain,
                       void *address, size_t length, unsigned flags,
                       const pred_test::context_t &ctx) :
    m_world(&world), m_domain(domain), m_start((uintptr_t)address),
    m_length(length), m_flags(flags), m_context(ctx), m_use{},
    m_status(UCS_ERR_INVALID_PARAM), m_memh(NULL), m_num_pieces(0)
{
}

ucs_status_t pieces_use::begin()
{
    m_status = ucs_rcache_pred_begin_in_pieces(m_domain, (void*)m_start,
                                               m_length, m_flags, &m_context,
                                               &m_use, &m_memh);
    if (m_status == UCS_OK) {
        EXPECT_TRUE(m_world->covers(m_memh, (void*)m_start, m_length));
    }
    return m_status;
}

void pieces_use::check(const ucs_rcache_pred_piece_t &piece, size_t said) const
{
    size_t page = m_world->page_size();

    EXPECT_EQ(m_start, piece.start);
    EXPECT_GT(piece.length, 0u);
    EXPECT_LE(piece.length, m_length);
    EXPECT_LE(ucs_rcache_pred_pages(piece.start, piece.length, page) * page,
              said);
    EXPECT_TRUE(m_world->covers(piece.memh, (void*)piece.start, piece.length));
    if (m_num_pieces > 0) {
        EXPECT_EQ(0u, piece.start % page) << "two pieces share a page";
    }
}

ucs_status_t pieces_use::next()
{
    size_t said = m_use.piece;
    ucs_rcache_pred_piece_t piece;
    ucs_status_t status;

    status = ucs_rcache_pred_piece_reg(&m_use, m_start, m_length, m_flags,
                                       &piece);
    if (status != UCS_OK) {
        return status;
    }

    check(piece, said);
    m_in_flight.push_back(piece);
    ++m_num_pieces;
    m_start  += piece.length;
    m_length -= piece.length;
    return UCS_OK;
}

void pieces_use::land()
{
    ucs_rcache_pred_piece_t piece = m_in_flight.front();

    EXPECT_TRUE(m_world->covers(piece.memh, (void*)piece.start, piece.length));
    m_in_flight.pop_front();
    ucs_rcache_pred_piece_dereg(m_domain, &piece);
}

void pieces_use::end()
{
    if (!is_in_pieces()) {
        EXPECT_EQ(UCS_OK, ucs_rcache_pred_end(m_domain, m_memh));
        return;
    }

    while (!m_in_flight.empty()) {
        land();
    }
    ucs_rcache_pred_end_in_pieces(&m_use);
}

ucs_status_t pieces_use::finish(std::function<bool()> wait)
{
    ucs_status_t status = UCS_OK;

    while (is_in_pieces() && (m_length > 0)) {
        if (m_in_flight.size() == IN_FLIGHT) {
            land();
        }

        status = next();
        if (status == UCS_OK) {
            continue;
        }

        if ((status == UCS_ERR_NO_RESOURCE) && !m_in_flight.empty()) {
            land();
        } else if ((status != UCS_ERR_NO_RESOURCE) || !wait()) {
            break;
        }
    }

    end();
    return status;
}
