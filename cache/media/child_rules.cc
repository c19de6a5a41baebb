// SPDX-License-Identifier: Apache-2.0
#include "cache/media/child_rules.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cassert>

namespace mezz {
namespace {

// The head of the list of entries. It points to an Entry, which is private to ChildRules.
std::atomic<void*> g_head{nullptr};

}  // namespace

// An entry of a list without locks, because fork may be called at any time, in a signal handler too. Entries are added
// at the head and never removed; those of destroyed objects are used again. The child reads the list as it was at the
// fork.
//
//   used:  false --TakeEntry: CAS--> true --destructor: release store, rules ended before--> false
//   fd:    -1 --CloseInChild--> fd --CloseInChild(-1), or the child's handler--> -1
//   base:  null --ProtectInChild: release store, after `bytes`--> base --ProtectInChild(null)--> null
//   next:  set before the entry is published by CAS on the head, constant since
struct ChildRules::Entry {
  std::atomic<bool> used{true};
  std::atomic<int> fd{-1};
  std::atomic<std::byte*> base{nullptr};
  std::atomic<uint64_t> bytes{0};
  Entry* next = nullptr;
};

void ChildRules::InChild() {
  for (auto* entry = static_cast<Entry*>(g_head.load(std::memory_order_acquire)); entry != nullptr;
       entry = entry->next) {
    if (const int fd = entry->fd.exchange(-1, std::memory_order_relaxed); fd >= 0) close(fd);
    std::byte* base = entry->base.load(std::memory_order_acquire);
    if (base != nullptr) mprotect(base, entry->bytes.load(std::memory_order_relaxed), PROT_READ);
  }
}

bool ChildRules::Install() {
  static const bool installed = pthread_atfork(nullptr, nullptr, &ChildRules::InChild) == 0;
  return installed;
}

ChildRules::Entry* ChildRules::TakeEntry() {
  for (auto* entry = static_cast<Entry*>(g_head.load(std::memory_order_acquire)); entry != nullptr;
       entry = entry->next) {
    bool used = false;
    if (entry->used.compare_exchange_strong(used, true, std::memory_order_acquire, std::memory_order_relaxed)) {
      return entry;
    }
  }
  auto* entry = new Entry;  // for the life of the process: a child's handler may walk over it at any time
  void* head = g_head.load(std::memory_order_relaxed);
  do {
    entry->next = static_cast<Entry*>(head);
  } while (!g_head.compare_exchange_weak(head, entry, std::memory_order_release, std::memory_order_relaxed));
  return entry;
}

ChildRules::ChildRules() : installed_(Install()), entry_(TakeEntry()) {}

ChildRules::~ChildRules() {
  CloseInChild(-1);
  ProtectInChild(nullptr, 0);
  assert(entry_->used.load(std::memory_order_relaxed));
  entry_->used.store(false, std::memory_order_release);
}

Status ChildRules::Check() const {
  if (guard_.ok() && installed_) return Status::Ok();
  return Status::NotSupported(
      "this kernel cannot tell a forked child from its parent (MADV_WIPEONFORK, Linux 4.14), or is out of memory: "
      "use a newer one, or free some");
}

void ChildRules::CloseInChild(int fd) { entry_->fd.store(fd, std::memory_order_relaxed); }

void ChildRules::ProtectInChild(std::byte* base, uint64_t bytes) {
  assert(base == nullptr || entry_->base.load(std::memory_order_relaxed) == nullptr);
  if (base != nullptr) entry_->bytes.store(bytes, std::memory_order_relaxed);
  entry_->base.store(base, std::memory_order_release);
}

}  // namespace mezz
