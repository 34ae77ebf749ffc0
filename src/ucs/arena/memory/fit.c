/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fit.h"

#include <ucs/sys/math.h>


#define COLUMNS   UCS_ARENA_FIT_COLUMNS
#define NUM_LISTS (UCS_ARENA_FIT_ROWS * COLUMNS)

/* An allocation looks at this many blocks at most in a list in which some
 * blocks may be too short, so that it takes constant time */
#define MAX_LOOKS 8


/* @return n, if 2^n neighbouring lengths share the list for a length */
static unsigned step_of(uint32_t length)
{
    return (length < COLUMNS) ? 0 : ucs_ilog2(length / COLUMNS);
}

/* @return the list of the blocks of a length, from 0 to NUM_LISTS - 1. The list is in
 * row step + 1 from length COLUMNS on: length >> step is from COLUMNS to
 * 2 * COLUMNS - 1, which adds the 1. */
static unsigned list_of(uint32_t length)
{
    unsigned step = step_of(length);

    return (length < COLUMNS) ? length :
                                (step * COLUMNS) + (length >> step);
}

/* @return the first list in which no block is shorter than a length; NUM_LISTS
 * or more: there is none */
static unsigned list_above(uint32_t length)
{
    return list_of(length + (1u << step_of(length)) - 1);
}

/* @return the first list that is not empty, from the given one on; NUM_LISTS:
 * there is none */
static unsigned next_list(const ucs_arena_fit_t *fit, unsigned list)
{
    unsigned row = list / COLUMNS;
    uint32_t mask;

    if (list >= NUM_LISTS) {
        return NUM_LISTS;
    }

    mask = fit->columns[row] & (UINT32_MAX << (list % COLUMNS));
    if (mask == 0) {
        mask = fit->rows & ((UINT32_MAX << row) << 1);
        if (mask == 0) {
            return NUM_LISTS;
        }
        row  = __builtin_ctz(mask);
        mask = fit->columns[row];
    }

    return (row * COLUMNS) + __builtin_ctz(mask);
}

static uint32_t head_of(const ucs_arena_fit_t *fit, unsigned list)
{
    return fit->heads[list / COLUMNS][list % COLUMNS];
}

void ucs_arena_fit_add(ucs_arena_fit_t *fit, ucs_arena_tag_t *tags,
                       uint32_t block)
{
    unsigned list = list_of(tags[block].length);
    unsigned row  = list / COLUMNS, column = list % COLUMNS;
    uint32_t next = UCS_ARENA_NO_PAGE;

    if (fit->columns[row] & UCS_BIT(column)) {
        next            = fit->heads[row][column];
        tags[next].prev = block;
    }

    tags[block].next         = next;
    tags[block].prev         = UCS_ARENA_NO_PAGE;
    fit->heads[row][column]  = block;
    fit->columns[row]       |= UCS_BIT(column);
    fit->rows               |= UCS_BIT(row);
}

void ucs_arena_fit_remove(ucs_arena_fit_t *fit, ucs_arena_tag_t *tags,
                          uint32_t block)
{
    unsigned list = list_of(tags[block].length);
    unsigned row  = list / COLUMNS, column = list % COLUMNS;
    uint32_t next = tags[block].next, prev = tags[block].prev;

    if (next != UCS_ARENA_NO_PAGE) {
        tags[next].prev = prev;
    }
    if (prev != UCS_ARENA_NO_PAGE) {
        tags[prev].next = next;
    } else if (next != UCS_ARENA_NO_PAGE) {
        fit->heads[row][column] = next;
    } else {
        fit->columns[row] &= ~UCS_BIT(column);
        if (fit->columns[row] == 0) {
            fit->rows &= ~UCS_BIT(row);
        }
    }
}

/* Look at the first blocks of a list. @return one that has room, or
 *         UCS_ARENA_NO_PAGE */
static uint32_t look(const ucs_arena_fit_t *fit, const ucs_arena_tag_t *tags,
                     unsigned list, uint32_t length)
{
    unsigned looks = 0;
    uint32_t block;

    if (next_list(fit, list) != list) {
        return UCS_ARENA_NO_PAGE;
    }

    for (block = head_of(fit, list);
         (block != UCS_ARENA_NO_PAGE) && (looks < MAX_LOOKS);
         block = tags[block].next, ++looks) {
        if (tags[block].length >= length) {
            return block;
        }
    }
    return UCS_ARENA_NO_PAGE;
}

uint32_t ucs_arena_fit_find(const ucs_arena_fit_t *fit,
                            const ucs_arena_tag_t *tags, uint32_t length)
{
    unsigned list = list_of(length);
    uint32_t block;

    /* Programs often allocate the same length again. A block of exactly this
     * length is in a list whose other blocks may be shorter */
    block = look(fit, tags, list, length);
    if (block != UCS_ARENA_NO_PAGE) {
        return block;
    }

    list = next_list(fit, list_above(length));
    return (list < NUM_LISTS) ? head_of(fit, list) : UCS_ARENA_NO_PAGE;
}

uint32_t ucs_arena_fit_longest(const ucs_arena_fit_t *fit)
{
    unsigned row;

    if (fit->rows == 0) {
        return UCS_ARENA_NO_PAGE;
    }

    row = ucs_ilog2(fit->rows);
    return fit->heads[row][ucs_ilog2(fit->columns[row])];
}
