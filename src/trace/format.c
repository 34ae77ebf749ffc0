/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "format.h"

#include <string.h>

#define HAS(_part) TRACE_HAS_##_part

/* A row of a table of fields: the name of the field is that of the member which has the value
 * in the structure of the record */
#define FIELD(_record, _member, _form, _style) \
    { \
        .name   = #_member, \
        .form   = TRACE_##_form, \
        .style  = TRACE_##_style, \
        .offset = offsetof(ucs_rcache_trace_##_record##_t, _member), \
        .size   = ucs_field_sizeof(ucs_rcache_trace_##_record##_t, _member) \
    }

/* A field of events, named after its member of ucs_rcache_pred_event_t */
#define EVENT_FIELD(_member, _part, _form, _style, ...) \
    EVENT_PATH(#_member, _member, _part, _form, _style, ##__VA_ARGS__)

#define EVENT_PATH(_name, _member, _part, _form, _style, ...) \
    { \
        .name   = _name, \
        .part   = _part, \
        .form   = TRACE_##_form, \
        .style  = TRACE_##_style, \
        .offset = offsetof(ucs_rcache_pred_event_t, _member), \
        .size   = ucs_field_sizeof(ucs_rcache_pred_event_t, _member), \
        ##__VA_ARGS__ \
    }

#define NAMES(_names) .names = _names, .max = ucs_static_array_size(_names)

/* An array of a record; another member has the number of its elements */
#define ARRAY(_record, _member, _count, _name, _style) \
    { \
        .name   = _name, \
        .form   = TRACE_OPTIONAL, \
        .style  = TRACE_##_style, \
        .offset = offsetof(ucs_rcache_trace_##_record##_t, _member), \
        .size   = SIZE_OF(_record, _member[0]), \
        .max    = SIZE_OF(_record, _member) / SIZE_OF(_record, _member[0]), \
        .count  = offsetof(ucs_rcache_trace_##_record##_t, _count) \
    }

#define SIZE_OF(_record, _member) \
    sizeof(((ucs_rcache_trace_##_record##_t*)NULL)->_member)


static const char *const kind_names[UCS_RCACHE_PRED_USE_LAST] = {
    [UCS_RCACHE_PRED_USE_WHOLE]       = "whole",
    [UCS_RCACHE_PRED_USE_PIECES]      = "pieces",
    [UCS_RCACHE_PRED_USE_LAST_RESORT] = "last-resort"
};

static const char *const by_names[UCS_RCACHE_PRED_BY_LAST] = {
    [UCS_RCACHE_PRED_BY_USE]    = "use",
    [UCS_RCACHE_PRED_BY_HELPER] = "helper",
    [UCS_RCACHE_PRED_BY_PIECE]  = "piece"
};

/* The name of each bit of ucs_rcache_pred_event_t::result, from bit 0 */
static const char *const result_names[] = {"hit",    "early",  "late", "miss",
                                           "pieces", "failed", "kept", "ahead"};

/* The fields of all events. An event stores the fields of the groups that its type has
 * (TRACE_HAS_*), and the fields that are in no group */
static const trace_field_t event_fields[] = {
    EVENT_FIELD(time,     0,             PLACED, TIME),
    EVENT_FIELD(address,  HAS(RANGE),    PLACED, ADDRESS),
    EVENT_FIELD(length,   HAS(RANGE),    PLACED, SIZE),
    EVENT_FIELD(id,       HAS(ID),       ALWAYS, NUMBER),
    EVENT_FIELD(domain,   HAS(ID),       NAMED,  NUMBER),
    EVENT_FIELD(result,   HAS(RESULT),   NAMED,  SET,  NAMES(result_names)),
    EVENT_FIELD(by,       HAS(BY),       NAMED,  NAME, NAMES(by_names)),
    EVENT_FIELD(duration, HAS(DURATION), NAMED,  SPAN),
    EVENT_FIELD(deadline, HAS(DEADLINE), NAMED,  TIME),
    EVENT_FIELD(period,   HAS(DEADLINE), NAMED,  SPAN),
    EVENT_FIELD(kind,     HAS(MANNER),   NAMED,  NAME, NAMES(kind_names)),
    EVENT_FIELD(flags,    HAS(MANNER),   NAMED,  HEX),
    EVENT_PATH("caller", context.caller, HAS(MANNER), NAMED, HEX),
    EVENT_PATH("stack",  context.stack,  HAS(MANNER), NAMED, HEX),
    EVENT_PATH("window", context.window, HAS(MANNER), NAMED, HEX)
};

static const trace_field_t meta_fields[] = {
    FIELD(meta, key,   PLACED, STRING),
    FIELD(meta, value, PLACED, STRING)
};

static const trace_field_t domain_fields[] = {
    FIELD(domain, number, PLACED, NUMBER),
    FIELD(domain, name,   PLACED, STRING)
};

static const trace_field_t site_fields[] = {
    FIELD(site, caller, PLACED, ADDRESS),
    FIELD(site, stack,  PLACED, ADDRESS),
    ARRAY(site, frames, num_frames, "frames", FRAMES)
};

static const trace_field_t module_fields[] = {
    FIELD(module, start, PLACED, ADDRESS),
    FIELD(module, end,   PLACED, ADDRESS),
    FIELD(module, bias,  PLACED, ADDRESS),
    FIELD(module, path,  PLACED, STRING),
    ARRAY(module, build_id, build_id_length, "build ID", BYTES)
};

static const trace_field_t counter_fields[] = {
    FIELD(counter, name,  PLACED, STRING),
    FIELD(counter, value, PLACED, NUMBER)
};

static const trace_field_t lost_fields[] = {
    {.name = "events", .size = sizeof(uint64_t)}
};

static const trace_field_t sends_fields[] = {
    FIELD(sends, address, PLACED,   ADDRESS),
    FIELD(sends, length,  PLACED,   NUMBER),
    FIELD(sends, count,   PLACED,   NUMBER),
    FIELD(sends, copied,  OPTIONAL, NUMBER)
};

#define FIELDS(_fields) _fields, ucs_static_array_size(_fields)

#define EVENT(_type, _name, _version, _has) \
    [TRACE_RECORD_EVENT + UCS_RCACHE_PRED_EVENT_##_type] = { \
        _name, _has, _version, FIELDS(event_fields) \
    }

const trace_type_t trace_types[TRACE_RECORD_LAST] = {
    EVENT(USE_BEGIN, "begin", 0, HAS(ID) | HAS(RANGE) | HAS(RESULT) |
                                 HAS(MANNER) | HAS(DURATION)),
    EVENT(USE_END, "end", 0, HAS(ID) | HAS(DURATION)),
    EVENT(REG, "reg", 0, HAS(ID) | HAS(RANGE) | HAS(RESULT) | HAS(BY) |
                         HAS(DURATION)),
    EVENT(DEREG, "dereg", 0, HAS(ID) | HAS(RANGE) | HAS(RESULT) | HAS(BY) |
                             HAS(DURATION)),
    EVENT(DEADLINE, "deadline", 0, HAS(ID) | HAS(RANGE) | HAS(RESULT) |
                                   HAS(DEADLINE)),
    EVENT(UNMET, "unmet", 0, HAS(ID) | HAS(RANGE) | HAS(RESULT)),
    EVENT(UNMAP, "unmap", 0, HAS(RANGE)),
    EVENT(MAP, "map", 3, HAS(RANGE)),
    [TRACE_RECORD_META]      = {"meta", 0, 0, FIELDS(meta_fields)},
    [TRACE_RECORD_DOMAIN]    = {"domain", 0, 0, FIELDS(domain_fields)},
    [TRACE_RECORD_SITE]      = {"site", 0, 0, FIELDS(site_fields)},
    [TRACE_RECORD_MODULE]    = {"module", 0, 0, FIELDS(module_fields)},
    [TRACE_RECORD_COUNTER]   = {"counter", 0, 0, FIELDS(counter_fields)},
    [TRACE_RECORD_LOST]      = {"lost", 0, 0, FIELDS(lost_fields)},
    /* Without fields. The pointer is not NULL, since no number may be added to
     * NULL */
    [TRACE_RECORD_TRUNCATED] = {"truncated", .fields = lost_fields},
    [TRACE_RECORD_SENDS]     = {"sends", 0, 2, FIELDS(sends_fields)}
};


uint64_t trace_field_max(const trace_field_t *field)
{
    if (field->style == TRACE_NAME) {
        return field->max - 1;
    }

    return UINT64_MAX >> (64 - 8 * field->size);
}

/* Numbers are little-endian: the bytes of a short number are the first bytes of
 * the same number in 64 bits */
uint64_t trace_field_get(const trace_field_t *field, const void *record)
{
    uint64_t value = 0;

    memcpy(&value, UCS_PTR_BYTE_OFFSET(record, field->offset), field->size);
    return value;
}

void trace_field_set(const trace_field_t *field, void *record, uint64_t value)
{
    memcpy(UCS_PTR_BYTE_OFFSET(record, field->offset), &value, field->size);
}
