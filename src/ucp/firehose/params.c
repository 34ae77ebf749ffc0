/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose_int.h"

#include <ucs/base/align.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "UCX_RCACHE_PRED_FIREHOSE_"

/* Most bytes of a bucket that the library chooses. A put of 64 KB to a random page mostly
 * lies in two buckets of 64 KB, but in one bucket of 256 KB. If the program uses more
 * memory than M, both sizes are equally fast, and larger buckets are slower:
 * docs/benchmarks.md */
#define DEF_BUCKET (256ul << 10)

/* The library chooses smaller buckets if otherwise a peer had fewer firehoses than this,
 * or MAXVICTIM had room for fewer buckets than this. A few firehoses are too few: a long
 * operation takes a fourth of them at a time, and a flush begins when half of them wait
 * for a flush */
#define MIN_SHARE 8

/* Most processes of a job. The library allocates some 500 bytes for each at the start */
#define MAX_PROCS (1u << 20)

/* All fields of ucp_fh_init_params_t that this version knows */
#define ALL_FIELDS (UCP_FH_PARAM_FIELD_M | UCP_FH_PARAM_FIELD_MAXVICTIM | \
                    UCP_FH_PARAM_FIELD_BUCKET | \
                    UCP_FH_PARAM_FIELD_MAX_REGION | \
                    UCP_FH_PARAM_FIELD_SLACK | UCP_FH_PARAM_FIELD_ERR_MODE)


static uint64_t
get(const ucp_fh_init_params_t *params, uint64_t field, uint64_t value,
    uint64_t def)
{
    return (params->field_mask & field) ? value : def;
}

/* The program may set as many bytes as the environment may. The tables refuse a number of
 * bytes that is too small */
static ucs_status_t check_bytes(const char *variable, uint64_t bytes)
{
    if (bytes > UCP_FH_MAX_BYTES) {
        ucs_error("firehose: %s of %" PRIu64 " bytes; accepted: up to %llu",
                  variable + strlen(VARIABLE), bytes, UCP_FH_MAX_BYTES);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

/* Find a number of bytes: as the program says, else as the environment says, else the
 * default */
static ucs_status_t get_bytes(const ucp_fh_init_params_t *params,
                              uint64_t field, uint64_t value,
                              const char *variable, uint64_t def,
                              uint64_t *bytes_p)
{
    const char *text = getenv(variable);
    size_t bytes;

    if (params->field_mask & field) {
        *bytes_p = value;
        return check_bytes(variable, value);
    }

    if (text == NULL) {
        *bytes_p = def;
        return UCS_OK;
    }

    if ((ucs_str_to_memunits(text, &bytes) != UCS_OK) ||
        (bytes < UCP_FH_MIN_BYTES) || (bytes > UCP_FH_MAX_BYTES)) {
        ucs_error("firehose: %s=%s is not accepted; accepted: 4K to 1T, with a "
                  "unit such as in 64M", variable, text);
        return UCS_ERR_INVALID_PARAM;
    }

    *bytes_p = bytes;
    return UCS_OK;
}

static ucs_status_t get_room(const ucp_fh_init_params_t *params,
                             ucp_fh_local_params_t *local)
{
    ucs_status_t status;

    status = get_bytes(params, UCP_FH_PARAM_FIELD_M, params->m, VARIABLE "M",
                       UCP_FH_DEF_M, &local->m);
    if (status != UCS_OK) {
        return status;
    }

    return get_bytes(params, UCP_FH_PARAM_FIELD_MAXVICTIM, params->max_victim,
                     VARIABLE "MAXVICTIM", UCP_FH_DEF_MAX_VICTIM,
                     &local->max_victim);
}

/* Make M and MAXVICTIM fit the bounds of libuct_predreg.so. Each peer is promised its
 * part of M: if the bounds left less than all parts, they could refuse a pin for ever,
 * since a peer gives firehoses back only when its part is used up */
static void fit_bounds(ucp_fh_local_params_t *local, uint64_t room)
{
    unsigned __int128 sum = (unsigned __int128)local->m + local->max_victim;
    uint64_t m;

    if (sum <= room) {
        return;
    }

    m = (unsigned __int128)local->m * room / sum;
    ucs_warn("firehose: M of %" PRIu64 " and MAXVICTIM of %" PRIu64 " bytes do "
             "not fit the bounds of libuct_predreg.so "
             "(UCX_RCACHE_PRED_MAX_PINNED, UCX_RCACHE_PRED_NODE_MAX_PINNED, "
             "ulimit -l); they are %" PRIu64 " and %" PRIu64 " now; accepted: "
             "together up to %" PRIu64, local->m, local->max_victim, m,
             room - m, room);
    local->m          = m;
    local->max_victim = room - m;
}

static ucs_status_t check_procs(const ucp_fh_init_params_t *params)
{
    if ((params->num_procs == 0) || (params->num_procs > MAX_PROCS)) {
        ucs_error("firehose: a job of %u processes; accepted: 1 to %u",
                  params->num_procs, MAX_PROCS);
        return UCS_ERR_INVALID_PARAM;
    }

    if (params->index >= params->num_procs) {
        ucs_error("firehose: process %u; accepted: 0 to %u", params->index,
                  params->num_procs - 1);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

static ucs_status_t check_fields(const ucp_fh_init_params_t *params)
{
    uint64_t unknown = params->field_mask & ~(uint64_t)ALL_FIELDS;

    if (unknown != 0) {
        ucs_error("firehose: a field mask with 0x%" PRIx64 ", which this version "
                  "of the library does not know; accepted: within 0x%" PRIx64,
                  unknown, (uint64_t)ALL_FIELDS);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((params->field_mask & UCP_FH_PARAM_FIELD_ERR_MODE) &&
        (params->err_mode != UCP_ERR_HANDLING_MODE_NONE) &&
        (params->err_mode != UCP_ERR_HANDLING_MODE_PEER)) {
        ucs_error("firehose: error handling mode %d; accepted: %d and %d "
                  "(UCP_ERR_HANDLING_MODE_NONE and PEER)", params->err_mode,
                  UCP_ERR_HANDLING_MODE_NONE, UCP_ERR_HANDLING_MODE_PEER);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

/* Warn of the fields max_region and slack, by which earlier versions registered several
 * buckets together. Now each registration has 1 bucket and no slack, whatever the fields
 * say */
static void note_unused(const ucp_fh_init_params_t *params)
{
    static _Atomic(int) is_told;

    if (((get(params, UCP_FH_PARAM_FIELD_MAX_REGION, params->max_region, 1) != 1) ||
         (get(params, UCP_FH_PARAM_FIELD_SLACK, params->slack, 0) != 0)) &&
        !atomic_exchange_explicit(&is_told, 1, memory_order_relaxed)) {
        ucs_warn("firehose: max_region and slack are without effect: a bucket is "
                 "what is registered. Choose larger buckets "
                 "(UCP_FH_PARAM_FIELD_BUCKET) in place of several together");
    }
}

/* The largest bucket with enough firehoses and victims */
static uint64_t
choose_bucket(const ucp_fh_local_params_t *local, uint32_t num_procs)
{
    uint64_t page   = ucs_page_size();
    uint64_t bucket = ucs_max(DEF_BUCKET, page);

    while ((bucket > page) &&
           ((local->m / bucket / num_procs < MIN_SHARE) ||
            (local->max_victim / bucket < MIN_SHARE))) {
        bucket /= 2;
    }
    return bucket;
}

static ucs_status_t check_bucket(uint64_t bucket)
{
    uint64_t page = ucs_page_size();
    uint64_t most = UCS_BIT(UCP_FH_MAX_SHIFT);

    if ((bucket < page) || (bucket > most) || !ucs_is_pow2(bucket)) {
        ucs_error("firehose: buckets of %" PRIu64 " bytes; accepted: a power of "
                  "2 from %" PRIu64 " to %" PRIu64, bucket, page, most);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

ucs_status_t ucp_fh_settings_get(const ucp_fh_init_params_t *params,
                                 uint64_t room, ucp_fh_settings_t *settings)
{
    ucp_fh_local_params_t *local = &settings->local;
    uint64_t bucket;
    uint32_t share;
    ucs_status_t status;

    if (((status = check_fields(params)) != UCS_OK) ||
        ((status = check_procs(params)) != UCS_OK) ||
        ((status = get_room(params, local)) != UCS_OK)) {
        return status;
    }

    note_unused(params);
    fit_bounds(local, room);
    bucket = get(params, UCP_FH_PARAM_FIELD_BUCKET, params->bucket,
                 choose_bucket(local, params->num_procs));
    status = check_bucket(bucket);
    if (status != UCS_OK) {
        return status;
    }

    settings->context = params->context;
    settings->index   = params->index;
    local->shift      = ucs_ilog2(bucket);
    local->num_peers  = params->num_procs;

    settings->err_mode = get(params, UCP_FH_PARAM_FIELD_ERR_MODE,
                             params->err_mode, UCP_ERR_HANDLING_MODE_PEER);

    settings->remote = (ucp_fh_remote_params_t){
        .num_peers = params->num_procs,
        .max_move  = UCP_FH_MOVE_BUCKETS,
        .da_limit  = UCP_FH_DEF_DA_LIMIT
    };
    /* Fail now if M is too little, before the tables allocate memory for each process */
    return ucp_fh_share(local->m, local->shift, local->num_peers, &share);
}
