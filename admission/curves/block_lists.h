// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "admission/curves/block_trace.h"

namespace mezz::sim {

// Doubly linked lists over the blocks 0 to n - 1, with all links in one array. A block is in at most one list, and the
// owner must know in which. Each list is a ring through a sentinel, which lies after the blocks.
class BlockLists {
 public:
  BlockLists(uint32_t blocks, uint32_t lists) : blocks_(blocks), nodes_(size_t{blocks} + lists) {
    for (uint32_t list = 0; list < lists; ++list) nodes_[blocks + list] = {blocks + list, blocks + list};
  }

  bool empty(uint32_t list) const { return nodes_[blocks_ + list].next == blocks_ + list; }
  BlockId Head(uint32_t list) const { return nodes_[blocks_ + list].next; }  // REQUIRES: not empty
  BlockId Tail(uint32_t list) const { return nodes_[blocks_ + list].previous; }

  void PushHead(uint32_t list, BlockId block) {
    const uint32_t sentinel = blocks_ + list;
    const uint32_t next = nodes_[sentinel].next;
    nodes_[block] = {sentinel, next};
    nodes_[next].previous = block;
    nodes_[sentinel].next = block;
  }

  void Remove(BlockId block) {
    const Node node = nodes_[block];
    nodes_[node.previous].next = node.next;
    nodes_[node.next].previous = node.previous;
  }

  void Prefetch(BlockId block) const { __builtin_prefetch(&nodes_[block], 1); }
  uint64_t bytes() const { return nodes_.size() * sizeof(Node); }

 private:
  struct Node {
    uint32_t previous = 0;  // towards the head
    uint32_t next = 0;      // towards the tail
  };

  const uint32_t blocks_;
  std::vector<Node> nodes_;
};

}  // namespace mezz::sim
