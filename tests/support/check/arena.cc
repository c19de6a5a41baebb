// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check/arena.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace mezz::check {
namespace {

constexpr size_t kBytes = 16 << 20;
alignas(4096) std::byte g_memory[kBytes];
size_t g_used = 0;
bool g_on = false;

void* Allocate(size_t bytes, size_t alignment) {
  if (!g_on) {
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  const size_t at = (g_used + alignment - 1) / alignment * alignment;
  if (at + bytes > kBytes) {
    std::fprintf(stderr, "check: a run takes more than the %zu bytes of its arena\n", kBytes);
    std::abort();
  }
  g_used = at + bytes;
  return g_memory + at;
}

bool InArena(const void* memory) {
  const auto* at = static_cast<const std::byte*>(memory);
  return at >= g_memory && at < g_memory + kBytes;
}

void Free(void* memory) {
  if (!InArena(memory)) std::free(memory);
}

constexpr size_t kPageBytes = 4096;

void* Map(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (!g_on || (flags & MAP_ANONYMOUS) == 0)
    return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
  return std::memset(Allocate(bytes, kPageBytes), 0, bytes);
}

}  // namespace

void Arena::Reset() { g_used = 0; }
bool Arena::Use(bool on) { return std::exchange(g_on, on); }

}  // namespace mezz::check

void* operator new(size_t bytes) { return mezz::check::Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return mezz::check::Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { mezz::check::Free(memory); }
void operator delete(void* memory, size_t) noexcept { mezz::check::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { mezz::check::Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { mezz::check::Free(memory); }

extern "C" {
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return mezz::check::Map(at, bytes, protection, flags, file, offset);
}
int munmap(void* at, size_t bytes) noexcept {
  return mezz::check::InArena(at) ? 0 : static_cast<int>(syscall(SYS_munmap, at, bytes));
}
int madvise(void* at, size_t bytes, int advice) noexcept {
  return mezz::check::InArena(at) ? 0 : static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}
}
