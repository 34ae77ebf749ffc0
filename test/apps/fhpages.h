/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Pages of a job, which a program maps, exposes and unmaps as it goes, and to
 * which its peers put what can be told again. A page is named by the address
 * of the first one and its number from there.
 */

#ifndef TEST_APPS_FHPAGES_H_
#define TEST_APPS_FHPAGES_H_

#include "fhjob.h"

#define FHPAGES_NUM 64 /* Of a mapping, where no other number is said */


uint8_t *fhpages_at(uint64_t base, int page);

/* @return where so many bytes can be mapped which begin with a bucket; nobody
 * else gets the place */
uint64_t fhpages_reserve(const fhjob_t *job, size_t length);

/* Map memory that can be told from all other, since it has a name: at a place,
 * in place of what is there, or, with 0, where there is nothing. */
uint64_t fhpages_map(const fhjob_t *job, int num, uint64_t place);

/* Map FHPAGES_NUM pages such as malloc() maps, or, if buckets are large, that
 * begin with one. */
uint64_t fhpages_map_anonymous(const fhjob_t *job);

/* Unmap pages. What is not mapped is no error. */
void fhpages_unmap(const fhjob_t *job, uint64_t base, int first, int num);

/* @return whether a page is of fhpages_map(). What others have mapped in its
 * place since is not */
int fhpages_is_mapped(uint64_t base, int page);

/* Wait until none of the pages is. One that stays counts as an error. */
void fhpages_await_unmapped(fhjob_t *job, uint64_t base, int first, int num);


/* Expose pages, by one of the libraries. */
ucp_fh_mem_h fhpages_expose_part(fhjob_t *job, int library, uint64_t base,
                                 int first, int num);

/* Expose FHPAGES_NUM pages, by the first library. */
ucp_fh_mem_h fhpages_expose(fhjob_t *job, uint64_t base);
void fhpages_unexpose(fhjob_t *job, ucp_fh_mem_h mem);

/* Count pages as errors that are not what a put left there. */
void fhpages_check(fhjob_t *job, uint64_t base, int first, int num,
                   uint64_t op);


/* Put a page to the first process, with the stamp of the operation.
 * @return how the put has ended */
ucs_status_t fhpages_try_put(fhjob_worker_t *worker, uint64_t base, int page,
                             uint64_t op);

/* Put a page. It counts as an error if that does not end as it should. */
void fhpages_expect_put(fhjob_t *job, fhjob_worker_t *worker, uint64_t base,
                        int page, uint64_t op, ucs_status_t expected);

/* Put several pages, and complete that at the peer. */
void fhpages_put(fhjob_t *job, fhjob_worker_t *worker, uint64_t base,
                 int first, int num, uint64_t op);

/* @return a firehose of one of the libraries on a page of the first process,
 * to be released with ucp_fh_release() */
ucp_fh_hold_h fhpages_hold(fhjob_t *job, int library, uint64_t base, int page);

#endif
