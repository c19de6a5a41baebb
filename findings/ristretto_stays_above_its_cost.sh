#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ristretto holds ten times its MaxCost, and goes on doing so for as long as what it holds is hotter than what comes.
#
# Expected: MaxCost is the capacity, and the comment of Config says that eviction does not overflow it. So after entries
#   have grown, or UpdateMaxCost has made the cache smaller, it is back under MaxCost, with the next new items at least.
# So it is: a Set of a key that is there takes any cost, even twice MaxCost, and evicts nothing. Nor does UpdateMaxCost.
#   New items are refused first: one that is colder than the five residents it is compared with leaves all of them
#   alone. So what is hot stays, whatever it costs, and the cache takes no new item any more. Cold residents do go.
# Seen: 29 November 2026, Ristretto 2.4.2; 100 entries of cost 10, MaxCost 1000, then 20,000 new entries of cost 1, each
#   of which is asked for and then set:
#   cold, each set again with cost 100: cost 10000 of 1000; after the new ones 1000, all of them refused: false
#   hot, each set again with cost 100: cost 10000 of 1000; after the new ones 10000, all of them refused: true
#   hot, MaxCost set to 100: cost 1000 of 100; after the new ones 1000, all of them refused: true
#   cost 2000 of 1000: a new entry is held: false, one that is set again: true
# Why it matters to a cache: memory that is taken from such a cache does not come back, and blocks or rows that grow are
#   not charged where it counts. Watch RemainingCost, which is negative then. A key that grows is to be deleted first.
# Needs: go 1.24 or later.
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

cat >"$work/try.go" <<'EOF'
package main

import (
  "fmt"
  "time"

  "MODULE"
)

func open() *ristretto.Cache[int, int] {
  cache, err := ristretto.NewCache(&ristretto.Config[int, int]{
    NumCounters: 1000000, MaxCost: 1000, BufferItems: 64, IgnoreInternalCost: true, Metrics: true,
  })
  if err != nil {
    panic(err)
  }
  return cache
}

func set(cache *ristretto.Cache[int, int], from, to int, cost int64) {
  for i := from; i < to; i++ {
    if !cache.Set(i, i, cost) {
      panic("the buffer of sets is full")
    }
    cache.Wait()
  }
}

func cost(cache *ristretto.Cache[int, int]) int64 { return cache.MaxCost() - cache.RemainingCost() }

func try(name string, hot bool, grow func(*ristretto.Cache[int, int]), left int64) {
  cache := open()
  defer cache.Close()
  set(cache, 0, 100, 10)
  for i := 0; hot && cache.Metrics.GetsKept() < 20000; i++ { // Gets are counted by the batch, or dropped.
    cache.Get(i % 100)
    if i%100 == 0 {
      time.Sleep(time.Millisecond)
    }
  }
  grow(cache)
  over := cost(cache)
  for i := 1000; i < 21000; i++ {
    cache.Get(i)
    set(cache, i, i+1, 1)
  }
  all := cache.Metrics.SetsRejected() == 20000
  fmt.Printf("  %s: cost %d of %d; after the new ones %d, all of them refused: %v\n", name, over, cache.MaxCost(),
    cost(cache), all)
  claim(over == 10*cache.MaxCost(), "what it holds at first")
  claim(cost(cache) == left, "what it holds after 20,000 new entries")
  claim(all == hot, "whether all of these are refused")
}

func main() {
  growEntries := func(cache *ristretto.Cache[int, int]) { set(cache, 0, 100, 100) }
  try("cold, each set again with cost 100", false, growEntries, 1000)
  try("hot, each set again with cost 100", true, growEntries, 10000)
  try("hot, MaxCost set to 100", true, func(cache *ristretto.Cache[int, int]) { cache.UpdateMaxCost(100) }, 1000)

  cache := open()
  defer cache.Close()
  set(cache, 1, 2, 2000)
  _, first := cache.Get(1)
  set(cache, 1, 2, 10)
  set(cache, 1, 2, 2000)
  _, again := cache.Get(1)
  fmt.Printf("  cost 2000 of 1000: a new entry is held: %v, one that is set again: %v\n", first, again)
  claim(!first && again && cost(cache) == 2000, "an entry that is larger than the cache")
  end()
}
EOF

run_go github.com/dgraph-io/ristretto/v2 v2.4.2
echo "still so"
