/* SPDX-License-Identifier: Apache-2.0 */
/* The hybrid cache for C, and for languages that call C, beside RocksDB's own <rocksdb/c.h>. Installed as
 * <mezzanine/c.h>; link with -lmezzanine_c -lrocksdb.
 *
 * Errors: a function with `char** error` leaves a sentence there when it fails, as RocksDB's C functions do: *error
 * must be NULL or an earlier sentence, which is freed. Strings that are returned, and sentences, belong to the caller:
 * mezzanine_free. They are UTF-8 where what was given is. No exception leaves, and nothing ends the process.
 *
 * Threads: all functions may be called at the same time, but for mezzanine_cache_close, which is the last of its cache.
 */
#pragma once

#include <stdint.h>

#include "rocksdb/c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MEZZANINE_API __attribute__((visibility("default")))

typedef struct mezzanine_cache_t mezzanine_cache_t;

/* Opens the cache that the URI tells of: "mezzanine://dram=256M;scm=1G@/dev/shm/mezz". NULL and a sentence
 * that names the key and what to do: when the URI or the medium is no good, or if the process runs another release of
 * RocksDB than mezzanine_rocksdb_release(). */
MEZZANINE_API mezzanine_cache_t* mezzanine_cache_open(const char* uri, char** error);

/* Lets go of the cache; NULL is allowed. Databases that have it keep it until they are closed. Its medium is closed
 * with the last of them, and may then be opened again. */
MEZZANINE_API void mezzanine_cache_close(mezzanine_cache_t* cache);

/* Prepares options for the cache: block_cache, what warms it, and a listener for deleted files, as
 * mezz::UseHybridCache. Replaces their table factory, so call it after setting one. 0, or -1 and a sentence. */
MEZZANINE_API int mezzanine_cache_use(const mezzanine_cache_t* cache, rocksdb_options_t* options, char** error);

/* The cache as RocksDB's C functions take it, for rocksdb_block_based_options_set_block_cache and the like: those alone
 * get no warming. A new handle, the caller's: rocksdb_cache_destroy, before or after mezzanine_cache_close. NULL and a
 * sentence, if RocksDB's struct is not what this library knows. */
MEZZANINE_API rocksdb_cache_t* mezzanine_cache_rocksdb(const mezzanine_cache_t* cache, char** error);

/* Text to be read by people: options, medium, sizes, what was decided. NULL: no memory. */
MEZZANINE_API char* mezzanine_cache_report(const mezzanine_cache_t* cache);

/* All figures as OpenMetrics 1.0, for monitoring of the program's own; a URI with metrics= serves the same. NULL: no
 * memory. */
MEZZANINE_API char* mezzanine_cache_metrics(const mezzanine_cache_t* cache);

/* One line a counter, "scm.hit: 3": all that ever happened. NULL: no memory. */
MEZZANINE_API char* mezzanine_cache_statistics(const mezzanine_cache_t* cache);

/* One of these by its name. 0, or -1 if there is none of that name. */
MEZZANINE_API int mezzanine_cache_counter(const mezzanine_cache_t* cache, const char* name, uint64_t* value);

/* What may change while the cache is used. Sizes are bytes; the SCM tier's is at most what it was opened with, and so
 * is that of one of several media, which the report calls medium.NUMBER. 0, or -1 and a sentence.
 * mezzanine_cache_policy: NULL if there is no memory. */
MEZZANINE_API uint64_t mezzanine_cache_dram_bytes(const mezzanine_cache_t* cache);
MEZZANINE_API int mezzanine_cache_set_dram_bytes(mezzanine_cache_t* cache, uint64_t bytes, char** error);
MEZZANINE_API uint64_t mezzanine_cache_scm_bytes(const mezzanine_cache_t* cache);
MEZZANINE_API int mezzanine_cache_set_scm_bytes(mezzanine_cache_t* cache, uint64_t bytes, char** error);
MEZZANINE_API int mezzanine_cache_set_medium_bytes(mezzanine_cache_t* cache, size_t number, uint64_t bytes,
                                                   char** error);
MEZZANINE_API char* mezzanine_cache_policy(const mezzanine_cache_t* cache);
MEZZANINE_API int mezzanine_cache_set_policy(mezzanine_cache_t* cache, const char* name, char** error);

/* "11.8.1": the release of RocksDB that this library was built for. Never freed. */
MEZZANINE_API const char* mezzanine_rocksdb_release(void);

/* NULL is allowed. */
MEZZANINE_API void mezzanine_free(char* text);

#ifdef __cplusplus
}
#endif
