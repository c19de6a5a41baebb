// SPDX-License-Identifier: Apache-2.0
#include "cache/media/copy.h"

#include <libpmem2.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace mezz {
namespace {

struct Pmem2Functions {
  pmem2_map* map = nullptr;
  pmem2_memcpy_fn copy = nullptr;
  pmem2_drain_fn drain = nullptr;
  std::string error;
};

// libpmem2 chooses its copy function by the granularity of a mapping and by the CPU, so we show it a page of memory
// that is declared to be of cache-line granularity. (With byte granularity each copy would end in a fence of its own,
// some 200 ns, instead of leaving that to the drain.) Page and mapping stay for the life of the process: libpmem2
// 1.12 leaks a part of such a mapping when it is deleted.
Pmem2Functions Discover() {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pmem2_source* source = nullptr;
  Pmem2Functions functions;
  if (page != MAP_FAILED && pmem2_source_from_anon(&source, page_bytes) == 0 &&
      pmem2_map_from_existing(&functions.map, source, page, page_bytes, PMEM2_GRANULARITY_CACHE_LINE) == 0) {
    functions.copy = pmem2_get_memcpy_fn(functions.map);
    functions.drain = pmem2_get_drain_fn(functions.map);
  } else {
    functions.error = std::string("libpmem2 gives no copy functions for a page of memory: ") + pmem2_errormsg();
  }
  if (source != nullptr) pmem2_source_delete(&source);
  return functions;
}

const Pmem2Functions& Functions() {
  static const Pmem2Functions functions = Discover();
  return functions;
}

// Set once, before any medium exists. A global, so that the hot path reads it without the guard of a local static.
pmem2_memcpy_fn g_copy = nullptr;

#if defined(__SANITIZE_THREAD__)

// The copy for the thread sanitizer. libpmem2 is not instrumented, so it would see no store to the medium, and no race
// on a payload; it sees these stores.
void Stream(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < bytes; ++i) out[i] = in[i];
}

#else

void Stream(void* to, const void* from, size_t bytes) {
  g_copy(to, from, bytes, PMEM2_F_MEM_NONTEMPORAL | PMEM2_F_MEM_NODRAIN);
}

#endif

}  // namespace

Status GetCopyFunctions(CopyFunctions* functions) {
  static const bool ready = [] {
    g_copy = Functions().copy;
    return g_copy != nullptr;
  }();
  if (!ready) return Status::NotSupported(Functions().error);
  *functions = {.stream = Stream, .drain = Functions().drain};
  return Status::Ok();
}

}  // namespace mezz
