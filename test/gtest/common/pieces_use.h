/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_PIECES_USE_H_
#define PREDREG_GTEST_PIECES_USE_H_

#include "pred_test.h"

/*
 * A use whose memory may be registered in pieces, as a transfer makes it: two
 * pieces fly at a time, and the oldest lands first. What must be true of every
 * piece is checked here. For one thread.
 */
class pieces_use {
public:
    static constexpr unsigned IN_FLIGHT = 2;

    pieces_use(fake_world &world, pred_test::domain_t *domain, void *address,
             size_t length, unsigned flags = 0,
             const pred_test::context_t &ctx = pred_test::context(1));

    /* As ucs_rcache_pred_begin_in_pieces(): UCS_OK if the memory was registered
     * as a whole */
    ucs_status_t begin();
    /* Register one more piece */
    ucs_status_t next();
    /* The transfer of the oldest piece is done: deregister it */
    void land();
    /* Let all pieces in flight land and end the use, even if there is memory
     * left */
    void end();
    /* Transfer what is left, and end the use. Where there is no room and no
     * piece of this use is in flight, wait is called, and the transfer goes on
     * if it returns true. @return the first error. */
    ucs_status_t finish(std::function<bool()> wait = [] { return false; });

    bool is_in_pieces() const { return m_status == UCS_INPROGRESS; }
    void set_min_piece(size_t min_piece) { m_use.min_piece = min_piece; }
    bool is_unfit() const { return m_use.unfit != 0; }
    void *memh() const { return m_memh; }
    size_t piece_size() const { return m_use.piece; }
    size_t left() const { return m_length; }
    unsigned num_pieces() const { return m_num_pieces; }
    const std::deque<ucs_rcache_pred_piece_t> &pieces() const
    {
        return m_in_flight;
    }

private:
    void check(const ucs_rcache_pred_piece_t &piece, size_t said) const;

    fake_world                          *m_world;
    pred_test::domain_t                 *m_domain;
    uintptr_t                           m_start;  /* What is left */
    size_t                              m_length;
    unsigned                            m_flags;
    pred_test::context_t                m_context;
    ucs_rcache_pred_pieces_t            m_use;
    ucs_status_t                        m_status; /* Of begin */
    void                                *m_memh;
    std::deque<ucs_rcache_pred_piece_t> m_in_flight; /* Oldest first */
    unsigned                            m_num_pieces;
};

#endif
