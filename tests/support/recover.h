// SPDX-License-Identifier: Apache-2.0
// A recovery to its end, by a snapshot if the superblock names one, for tests that have no ScmTier around it.
#pragma once

#include <utility>

#include "cache/recoverer.h"
#include "cache/tombstones.h"

namespace mezz::test {

// Nothing of it is owned; the index is empty, the log as it was made.
struct RecoveryOf {
  const Medium& medium;
  const layout::Superblock& superblock;
  const ScmOptions& options;
  SegmentLog* log;
  Index* index;
  Counters* counters;
  Dictionaries* dictionaries;
  const ForkGuard& guard;
  const ErasedKeys* erased = nullptr;  // null: nothing was
};

inline RecoveryReport Recover(const RecoveryOf& of) {
  if (!of.index->StartRefill()) return {};
  Recoverer recoverer(of.medium, of.superblock, of.options, of.log, of.index, of.counters, of.dictionaries, of.guard);
  recoverer.Prepare();
  RecoveryHooks hooks{.grow = [] {},
                      .is_forgotten = [](FileId) { return false; },
                      .dictionaries_taken = [](Dictionaries::Numbers) {},
                      .over = {}};
  if (of.erased != nullptr) {
    hooks.is_erased = [erased = of.erased](const BlockKey& key, const SegmentLog::Fill& fill, uint64_t offset) {
      return erased->Cover(key, fill.sequence, offset);
    };
  }
  recoverer.Start(std::move(hooks));
  recoverer.Wait();
  return recoverer.report();
}

}  // namespace mezz::test
