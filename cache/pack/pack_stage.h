// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "cache/base/fork_guard.h"
#include "cache/base/wakeup.h"
#include "cache/pack/staged_blocks.h"

namespace mezz {

// StagedBlocks, and the thread that packs and stores them in the order in which they came. Nobody waits for the thread:
// where there is no room, the caller packs the block at once.
//
// The thread is woken when a quarter of the stage is full. Until then blocks wait there, and are found there.
//
// Thread-safe. In a child made by fork() nothing is staged and nothing blocks.
class PackStage {
 public:
  // `bytes`: as for StagedBlocks. `guard` is not owned.
  PackStage(uint64_t bytes, const ForkGuard& guard);
  ~PackStage();  // calls Stop
  PackStage(const PackStage&) = delete;
  PackStage& operator=(const PackStage&) = delete;

  // A function that packs the block and publishes it by StagedBlocks::Publish, or lets it go.
  using Store = std::function<void(const StagedBlocks::Block&)>;
  // Starts the thread, which calls `store` until Stop. Call it once. False: there was no thread or no memory.
  bool Start(Store store);
  // Ends the thread after its present block. Blocks that wait are never stored.
  void Stop();
  // Waits until nothing is staged, including blocks that come meanwhile.
  void Drain() const;

  std::optional<StagedBlocks::Block> Reserve(const BlockKey& key, BlockRole role, Generation generation, size_t bytes,
                                             ShareId share) {
    return state_->blocks.Reserve(key, role, generation, bytes, share);
  }
  void Commit(StagedBlocks::Slot slot) {
    if (state_->blocks.Commit(slot)) state_->wakeup.Call();
  }
  void Abandon(StagedBlocks::Slot slot) { state_->blocks.Abandon(slot); }

  bool MayHold(const BlockKey& key) const { return state_->blocks.MayHold(key) && guard_.InParent(); }
  bool Forget(const BlockKey& key) { return MayHold(key) && state_->blocks.Forget(key); }
  void ForgetAll() {
    if (guard_.InParent()) state_->blocks.ForgetAll();
  }
  bool Has(const BlockKey& key) const { return MayHold(key) && state_->blocks.Has(key); }
  bool SetDram(const BlockKey& key, bool dram) { return MayHold(key) && state_->blocks.SetDram(key, dram); }
  void Unpin(StagedBlocks::Slot slot) {
    if (guard_.InParent()) state_->blocks.Unpin(slot);
  }
  // REQUIRES: not in a child.
  StagedBlocks& blocks() { return state_->blocks; }

  static uint64_t DramBytesFor(uint64_t bytes) { return bytes == 0 ? 0 : sizeof(PackStage) + sizeof(State) + bytes; }
  uint64_t dram_bytes() const {
    return sizeof(*this) + sizeof(State) - sizeof(StagedBlocks) + state_->blocks.dram_bytes();
  }

 private:
  // What the thread and its callers share. A forked child leaks it when it ends, as threads of its parent may hold
  // parts.
  struct State {
    explicit State(uint64_t bytes) : blocks(bytes) {}
    StagedBlocks blocks;
    Wakeup wakeup;
    std::thread thread;
    Atomic<bool> ends{false};  // relaxed: a hint to skip the rest
  };

  void Run();

  const ForkGuard& guard_;
  std::unique_ptr<State> state_;
  Store store_;
};

}  // namespace mezz
