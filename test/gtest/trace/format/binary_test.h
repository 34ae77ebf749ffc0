/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_BINARY_TEST_H_
#define PREDREG_GTEST_BINARY_TEST_H_

#include <common/child.h>
#include <common/trace_test.h>

#include <string>


/* Whole files of traces in both forms, and damaged ones in the binary form */
class binary_test : public trace_test {
protected:
    /* A file with one of each record, in two chunks */
    std::string small_binary()
    {
        trace_writer writer;
        ucs_rcache_trace_site_t site     = {0x1000, 0x2000, 2, {1, 2}};
        ucs_rcache_trace_module_t module = {0x1000, 0x2000, 0x400,
                                            (char*)"/lib/x.so", 3, {1, 2, 3}};
        ucs_reuse_sends_t sends          = {0x7f0000003000, 4096, 100, 3};
        event_t begin                    = use_begin(1000);
        event_t end = make_event(UCS_RCACHE_PRED_EVENT_USE_END, 2000);

        ucs_rcache_trace_put_meta(writer, "rank", "0");
        ucs_rcache_trace_put_domain(writer, 0, "mlx5_0");
        ucs_rcache_trace_put_site(writer, &site);
        ucs_rcache_trace_put_module(writer, &module);
        ucs_rcache_trace_put_event(writer, &begin);
        EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
        m_second = writer.content().size();

        end.id = begin.id;
        ucs_rcache_trace_put_event(writer, &end);
        ucs_rcache_trace_put_lost(writer, 3);
        ucs_rcache_trace_put_sends(writer, &sends);
        ucs_rcache_trace_put_counter(writer, "uses", 1);
        return writer.close();
    }

    static event_t use_begin(uint64_t time)
    {
        event_t event = make_event(UCS_RCACHE_PRED_EVENT_USE_BEGIN, time);

        event.id             = 7;
        event.address        = 0x7f0000001000;
        event.length         = 65536;
        event.flags          = 0x368;
        event.duration       = 40000;
        event.result         = UCS_RCACHE_PRED_RESULT_MISS;
        event.context.caller = 0x100000000401234;
        event.context.stack  = 0x7ffc00001230;
        event.context.window = 0x123456789abcdef;
        return event;
    }

    size_t m_second; /* Where the second chunk begins */
};

#endif
