/* SPDX-License-Identifier: Apache-2.0 */
/* cc cache.c $(pkg-config --cflags --libs mezzanine_c) && ./a.out FOLDER */
#include <mezzanine/c.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char* error = NULL;
  if (argc != 2) return 64;
  mezzanine_cache_t* cache = mezzanine_cache_open("mezzanine://dram=4M;scm=64M@dram", &error);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  if (cache == NULL || mezzanine_cache_use(cache, options, &error) != 0) return fprintf(stderr, "%s\n", error), 1;
  rocksdb_t* db = rocksdb_open(options, argv[1], &error);
  if (error != NULL) return fprintf(stderr, "%s\n", error), 1;
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  char key[16], value[1000] = "value";
  for (int i = 0; error == NULL && i < 40000; ++i) {
    snprintf(key, sizeof key, "key%08d", i);
    rocksdb_put(db, write, key, sizeof key, value, sizeof value, &error);
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  for (int i = 0; error == NULL && i < 80000; ++i) {
    size_t length = 0;
    snprintf(key, sizeof key, "key%08d", (int)(i * 7919LL % 40000));
    char* found = rocksdb_get(db, read, key, sizeof key, &length, &error);
    if (length != sizeof value) return fprintf(stderr, "%s is lost\n", key), 1;
    rocksdb_free(found);
  }
  char* report = mezzanine_cache_report(cache);
  puts(error == NULL ? report : error);
  mezzanine_free(report);
  rocksdb_close(db);
  mezzanine_cache_close(cache);
  return error == NULL ? 0 : 1;
}
