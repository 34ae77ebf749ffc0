/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "types.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <inttypes.h>
#include <stdlib.h>


/* A set of places is a tree in the order of their first buckets. Each place knows the
 * highest end of the places in its branch: of itself, and of all places below */

static const ucp_fh_place_t *
place_of(const ucs_tree_node_t *node)
{
    return ucs_container_of(node, ucp_fh_place_t, node);
}

static int is_before(const ucs_tree_node_t *node,
                     const ucs_tree_node_t *other)
{
    return place_of(node)->run.first < place_of(other)->run.first;
}

static int sum_up(ucs_tree_node_t *node)
{
    ucp_fh_place_t *place = ucs_container_of(node, ucp_fh_place_t, node);
    ucp_fh_bucket_t end   = ucp_fh_run_end(&place->run);
    int has_changed;
    unsigned i;

    for (i = 0; i < 2; ++i) {
        if (node->child[i] != NULL) {
            end = ucs_max(end, place_of(node->child[i])->end);
        }
    }

    has_changed = (end != place->end);
    place->end  = end;
    return has_changed;
}

void ucp_fh_places_init(ucs_tree_t *places)
{
    ucs_tree_init(places, is_before, sum_up);
}

void ucp_fh_places_add(ucs_tree_t *places, ucp_fh_place_t *place,
                       const ucp_fh_run_t *run)
{
    place->run = *run;
    place->end = 0;
    ucs_tree_insert(places, &place->node);
}

/* Whether any place in a branch ends behind the begin of a run */
static int
may_have(const ucs_tree_node_t *branch, const ucp_fh_run_t *run)
{
    return (branch != NULL) && (place_of(branch)->end > run->first);
}

/* @return the first place of a branch that overlaps a run. If the left branch has a place
 * that ends behind the begin of the run, there is no need to look to the right of it:
 * that place either overlaps the run, or begins behind the end of the run, as do all
 * places after it */
static ucp_fh_place_t *
first_of(const ucs_tree_node_t *branch, const ucp_fh_run_t *run)
{
    while (may_have(branch, run)) {
        if (may_have(branch->child[0], run)) {
            branch = branch->child[0];
        } else if (ucp_fh_run_overlaps(&place_of(branch)->run, run)) {
            return (ucp_fh_place_t*)place_of(branch);
        } else {
            branch = branch->child[1];
        }
    }

    return NULL;
}

ucp_fh_place_t *ucp_fh_places_first(const ucs_tree_t *places,
                                    const ucp_fh_run_t *run)
{
    return first_of(places->root, run);
}

ucp_fh_place_t *
ucp_fh_places_next(const ucp_fh_place_t *place, const ucp_fh_run_t *run)
{
    const ucs_tree_node_t *node = &place->node;
    const ucs_tree_node_t *child;

    if (may_have(node->child[1], run)) {
        return first_of(node->child[1], run);
    }

    for (child = node; (node = node->parent) != NULL; child = node) {
        if (node->child[0] != child) {
            continue;
        }
        if (ucp_fh_run_overlaps(&place_of(node)->run, run)) {
            return (ucp_fh_place_t*)place_of(node);
        }
        if (may_have(node->child[1], run)) {
            return first_of(node->child[1], run);
        }
    }

    return NULL;
}

void ucp_fh_buckets_add(ucs_buckets_t *buckets, uint32_t *num_p,
                        uint64_t key, ucs_hlist_link_t *link)
{
    unsigned capacity = ucs_buckets_capacity(buckets);

    if (*num_p >= capacity) {
        free(ucs_buckets_grow(
                buckets, ucs_buckets_alloc(capacity), capacity));
    }

    ucs_buckets_move(buckets);
    ucs_hlist_add_head(ucs_bucket(buckets, key), link);
    ++*num_p;
}

void ucp_fh_buckets_remove(ucs_buckets_t *buckets, uint32_t *num_p,
                           uint64_t key, ucs_hlist_link_t *link)
{
    ucs_hlist_del(ucs_bucket(buckets, key), link);
    --*num_p;
}

ucs_status_t ucp_fh_run_cover(unsigned shift, uint64_t address, uint64_t length,
                              ucp_fh_run_t *run)
{
    uint64_t last = address + length - 1;

    if ((length == 0) || (last < address)) {
        return UCS_ERR_INVALID_PARAM;
    }

    run->first = address >> shift;
    run->num   = (last >> shift) - run->first + 1;
    return UCS_OK;
}

ucs_status_t ucp_fh_share(uint64_t m, unsigned shift, unsigned peers,
                          uint32_t *share_p)
{
    uint64_t share = (m >> shift) / peers;

    if (share == 0) {
        ucs_error("firehose: M is %" PRIu64 " bytes, less than a "
                  "bucket of %" PRIu64 " bytes for each of %u processes; "
                  "accepted: %" PRIu64 " bytes and more (M is what the program "
                  "or UCX_RCACHE_PRED_FIREHOSE_M says, or less if bounds leave "
                  "less)", m, UCS_BIT(shift), peers, (uint64_t)peers << shift);
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    *share_p = ucs_min(share, UINT32_MAX);
    return UCS_OK;
}

void ucp_fh_comp_end(ucp_fh_comp_t *comp, ucs_list_link_t *ended,
                     ucs_status_t status)
{
    comp->status = status;
    ucs_list_add_tail(ended, &comp->link);
}

ucp_fh_comp_t *ucp_fh_comp_next(ucs_list_link_t *ended)
{
    return ucp_fh_list_pop(ended, ucp_fh_comp_t, link);
}
