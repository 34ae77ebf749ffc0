/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "format.h"

#include <string.h>

#define HAS(_part) TRACE_HAS_##_part

#define FIELD(_name, _part, _style, _member, _names) \
    { \
        .name      = _name, \
        .part      = HAS(_part), \
        .style     = TRACE_##_style, \
        .offset    = offsetof(ucs_rcache_pred_event_t, _member), \
        .size      = ucs_field_sizeof(ucs_rcache_pred_event_t, _member), \
        .names     = _names, \
        .num_names = ucs_static_array_size(_names) \
    }


const trace_type_t trace_types[UCS_RCACHE_PRED_EVENT_LAST] = {
    [UCS_RCACHE_PRED_EVENT_USE_BEGIN] = {
        "begin", HAS(ID) | HAS(RANGE) | HAS(RESULT) | HAS(MANNER) |
                 HAS(DURATION)},
    [UCS_RCACHE_PRED_EVENT_USE_END] = {
        "end", HAS(ID) | HAS(DURATION)},
    [UCS_RCACHE_PRED_EVENT_REG] = {
        "reg", HAS(ID) | HAS(RANGE) | HAS(RESULT) | HAS(BY) | HAS(DURATION)},
    [UCS_RCACHE_PRED_EVENT_DEREG] = {
        "dereg", HAS(ID) | HAS(RANGE) | HAS(RESULT) | HAS(BY) | HAS(DURATION)},
    [UCS_RCACHE_PRED_EVENT_DEADLINE] = {
        "deadline", HAS(ID) | HAS(RANGE) | HAS(RESULT) | HAS(DEADLINE)},
    [UCS_RCACHE_PRED_EVENT_UNMET] = {
        "unmet", HAS(ID) | HAS(RANGE) | HAS(RESULT)},
    [UCS_RCACHE_PRED_EVENT_UNMAP] = {
        "unmap", HAS(RANGE)},
    [UCS_RCACHE_PRED_EVENT_MAP] = {
        "map", HAS(RANGE), 3}
};

static const char *const no_names[] = {NULL};

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

const trace_field_t trace_fields[TRACE_NUM_FIELDS] = {
    FIELD("id",       ID,       NUMBER, id,             no_names),
    FIELD("domain",   ID,       NUMBER, domain,         no_names),
    FIELD("result",   RESULT,   SET,    result,         result_names),
    FIELD("by",       BY,       NAME,   by,             by_names),
    FIELD("duration", DURATION, SPAN,   duration,       no_names),
    FIELD("deadline", DEADLINE, TIME,   deadline,       no_names),
    FIELD("period",   DEADLINE, SPAN,   period,         no_names),
    FIELD("kind",     MANNER,   NAME,   kind,           kind_names),
    FIELD("flags",    MANNER,   HEX,    flags,          no_names),
    FIELD("caller",   MANNER,   HEX,    context.caller, no_names),
    FIELD("stack",    MANNER,   HEX,    context.stack,  no_names),
    FIELD("window",   MANNER,   HEX,    context.window, no_names)
};


uint64_t trace_field_max(const trace_field_t *field)
{
    if (field->style == TRACE_NAME) {
        return field->num_names - 1;
    }

    return UINT64_MAX >> (64 - 8 * field->size);
}

/* Numbers are little-endian, so that a short one is the begin of a long one */
uint64_t trace_field_get(const trace_field_t *field,
                         const ucs_rcache_pred_event_t *event)
{
    uint64_t value = 0;

    memcpy(&value, UCS_PTR_BYTE_OFFSET(event, field->offset), field->size);
    return value;
}

void trace_field_set(const trace_field_t *field, ucs_rcache_pred_event_t *event,
                     uint64_t value)
{
    memcpy(UCS_PTR_BYTE_OFFSET(event, field->offset), &value, field->size);
}
