// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace mezz {

// Tells the process that made it from its forked children, by one load. Ask it before you touch something that a child
// shares (a mapping, a lock) or has only in part (an index without its threads).
//
// The word lies on a page of its own that the kernel replaces by zeros in a child (MADV_WIPEONFORK, Linux 4.14):
//   kHere (constructor) --fork, clone without CLONE_VM: by the kernel, in the child only--> 0
// No handler runs for that, so it holds for raw clone(2) as well, and from the child's first instruction on. A child of
// vfork(2) shares the page and counts as its parent, which waits for it. Relaxed order suffices: a child begins with
// one thread, and in the parent the word never changes.
//
// Costs a page of memory and a mapping. Thread-safe. A guard made in a child holds for that child.
class ForkGuard {
 public:
  ForkGuard() : page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* page = mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, page_bytes_, MADV_WIPEONFORK) != 0) {
      munmap(page, page_bytes_);
      return;
    }
    word_ = new (page) std::atomic<uint64_t>(kHere);
  }
  ~ForkGuard() {
    if (ok()) munmap(word_, page_bytes_);
  }
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // Whether this kernel can tell. If not, InParent is always false, and nothing that must not be shared may be opened.
  bool ok() const { return word_ != &nowhere_; }

  // True in the process that made the guard, false in its forked children and theirs.
  bool InParent() const { return word_->load(std::memory_order_relaxed) == kHere; }

 private:
  static constexpr uint64_t kHere = 0x6865726568657265;

  const size_t page_bytes_;
  std::atomic<uint64_t> nowhere_{0};
  std::atomic<uint64_t>* word_ = &nowhere_;
};

}  // namespace mezz
