// SPDX-License-Identifier: Apache-2.0
// A program that is not linked with any RocksDB and opens an object that is: dlopen_host local|deepbind|global OBJECT
// FOLDER
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  int flags = RTLD_NOW;
  if (std::strcmp(argv[1], "deepbind") == 0) flags |= RTLD_DEEPBIND;
  flags |= std::strcmp(argv[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  void* const object = dlopen(argv[2], flags);
  if (object == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 65;
  }
  const auto use = reinterpret_cast<int (*)(const char*)>(dlsym(object, "UseRocksDB"));
  return use == nullptr ? 66 : use(argv[3]);  // the database stays open
}
