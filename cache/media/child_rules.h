// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/base/fork_guard.h"
#include "cache/status.h"

namespace mezz {

// What becomes of a medium in a forked child of its owner. A child inherits descriptor and mapping: kept open, the
// descriptor would hold the file's lock after the owner is gone; written to, the mapping would change what the owner
// serves. So a handler of pthread_atfork closes the one and makes the other read-only, in the child only. Reading stays
// allowed: objects in place may be looked at there, though the owner's pins, not the child's, keep their bytes.
//
// A raw clone(2) runs no handler. Its child is told apart (InOwner), but keeps lock and mapping until it ends.
//
// Thread-safe. The handler takes no lock and calls close and mprotect only.
class ChildRules {
 public:
  ChildRules();
  ~ChildRules();  // ends both rules
  ChildRules(const ChildRules&) = delete;
  ChildRules& operator=(const ChildRules&) = delete;

  // NotSupported where the kernel cannot tell a child: then rules cannot be kept, and nothing should be opened.
  Status Check() const;

  // Children close `fd` / may not write to [base, base + bytes). One of each an object; -1 and null end a rule, which
  // the owner does before it closes or unmaps, lest a child do so to what comes next under that number or address.
  void CloseInChild(int fd);
  void ProtectInChild(std::byte* base, uint64_t bytes);

  // False in a forked child, by fork(2) or clone(2): touch nothing there, neither file, lock nor mapping.
  bool InOwner() const { return guard_.InParent(); }

 private:
  struct Entry;
  static void InChild();
  static bool Install();
  static Entry* TakeEntry();

  const ForkGuard guard_;
  const bool installed_;
  Entry* const entry_;
};

}  // namespace mezz
