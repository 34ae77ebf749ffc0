/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_BINARY_TEST_H_
#define PREDREG_GTEST_BINARY_TEST_H_

#include <common/child.h>
#include <common/trace_test.h>

#include <initializer_list>
#include <string>
#include <string.h>
#include <zlib.h>


/* Whole files of traces in both forms, and damaged ones in the binary form */
class binary_test : public trace_test {
protected:
    /* Where the fields of a file begin: after its head, whose size is at offset
     * 12, and its checksum at 16 */
    static constexpr size_t HEAD = 20;

    static uint32_t get_u32(const std::string &file, size_t offset)
    {
        uint32_t value;

        memcpy(&value, &file[offset], sizeof(value));
        return value;
    }

    /* The packed part of a file */
    static std::string packed(const std::string &file)
    {
        return file.substr(HEAD + get_u32(file, 12));
    }

    static std::string pack(const std::string &records)
    {
        uLongf size = compressBound(records.size());
        std::string packed(size, '\0');

        compress((Bytef*)&packed[0], &size, (const Bytef*)records.data(),
                 records.size());
        packed.resize(size);
        return packed;
    }

    static std::string unpack(const std::string &packed)
    {
        uLongf size = 1 << 20;
        std::string records(size, '\0');

        EXPECT_EQ(Z_OK, uncompress((Bytef*)&records[0], &size,
                                   (const Bytef*)packed.data(), packed.size()));
        records.resize(size);
        return records;
    }

    /* A file with these fields and this packed part */
    static std::string make_file(const std::string &fields,
                                 const std::string &packed)
    {
        std::string head("\x89predreg\x04\0\0\0", 12);
        uint32_t size = fields.size();
        uint32_t crc;

        head.append((char*)&size, 4);
        crc = crc32(0, (const Bytef*)head.data(), head.size());
        crc = crc32(crc, (const Bytef*)fields.data(), size);
        head.append((char*)&crc, 4);
        return head + fields + packed;
    }

    /* A record of this type with this content */
    static std::string record(uint16_t type, const std::string &content)
    {
        uint16_t length = content.size();

        return std::string((char*)&type, 2) + std::string((char*)&length, 2) +
               content;
    }

    /* Numbers of 8 bytes */
    static std::string numbers(std::initializer_list<uint64_t> values)
    {
        std::string bytes;

        for (uint64_t value : values) {
            bytes.append((char*)&value, 8);
        }
        return bytes;
    }

    /* A file with one of each record, flushed once in between, finished */
    std::string small_binary()
    {
        trace_writer writer;
        ucs_rcache_trace_site_t site     = {0x1000, 0x2000, 2, {1, 2}};
        ucs_rcache_trace_module_t module = {0x1000, 0x2000, 0x400,
                                            (char*)"/lib/x.so", 3, {1, 2, 3}};
        ucs_reuse_sends_t sends          = {0x7f0000003000, 4096, 100, 3};
        event_t begin                    = use_begin(1000);
        event_t end = make_event(UCS_RCACHE_PRED_EVENT_USE_END, 2000);

        put_meta(writer, "rank", "0");
        put_domain(writer, 0, "mlx5_0");
        ucs_rcache_trace_put(writer, TRACE_RECORD_SITE, &site);
        ucs_rcache_trace_put(writer, TRACE_RECORD_MODULE, &module);
        ucs_rcache_trace_put_event(writer, &begin);
        EXPECT_EQ(UCS_OK, ucs_rcache_trace_writer_flush(writer));
        m_second = writer.content().size();

        end.id = begin.id;
        ucs_rcache_trace_put_event(writer, &end);
        put_lost(writer, 3);
        ucs_rcache_trace_put(writer, TRACE_RECORD_SENDS, &sends);
        put_counter(writer, "uses", 1);
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

    size_t m_second; /* Where the file ends after the flush */
};

#endif
