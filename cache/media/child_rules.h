// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/base/fork_guard.h"
#include "cache/status.h"

namespace mezz {

// What happens to a medium in a forked child of its owner. A child inherits descriptor and mapping. The descriptor
// would hold the file's lock after the owner is gone, and a write to the mapping would change what the owner serves. So
// a handler of pthread_atfork closes the descriptor, and makes the mapping read-only, in the child only. Reading stays
// allowed: the child may look at objects in place, but only the owner's pins keep their bytes.
//
// A raw clone(2) runs no handler. InOwner knows its child too, but the child keeps lock and mapping until it ends.
//
// Thread-safe. The handler takes no lock and calls close and mprotect only.
class ChildRules {
 public:
  ChildRules();
  ~ChildRules();  // ends both rules
  ChildRules(const ChildRules&) = delete;
  ChildRules& operator=(const ChildRules&) = delete;

  // NotSupported if the kernel cannot tell a child. Then the rules cannot be kept, and nothing should be opened.
  Status Check() const;

  // Two rules: children close `fd`, and may not write to [base, base + bytes). An object has one of each. -1 and null
  // end a rule. End it before closing or unmapping; otherwise a child would do so to whatever has that number or
  // address next.
  void CloseInChild(int fd);
  void ProtectInChild(std::byte* base, uint64_t bytes);

  // False in a child by fork(2) or clone(2). Touch neither file, lock nor mapping there.
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
