// SPDX-License-Identifier: Apache-2.0
// implementations KEYS CAPACITY...: the miss ratio of each cache on a trace of keys, big-endian 64-bit numbers in a
// file, by a look-up and, if it misses, an insert. A capacity is a number of entries, each of weight 1. One shard and
// one thread each, so that every run gives the same but for moka, which hashes with a random seed.
use foyer_memory::{Cache, CacheBuilder, EvictionConfig, FifoConfig, LfuConfig, LruConfig, S3FifoConfig, SieveConfig};

fn misses(keys: &[u64], mut hits: impl FnMut(u64) -> bool) -> f64 {
    let missed = keys.iter().filter(|&&key| !hits(key)).count();
    missed as f64 / keys.len() as f64
}

fn foyer(keys: &[u64], capacity: usize, eviction: EvictionConfig) -> f64 {
    let cache: Cache<u64, ()> = CacheBuilder::new(capacity).with_shards(1).with_eviction_config(eviction).build();
    misses(keys, |key| {
        let hit = cache.get(&key).is_some();
        if !hit {
            cache.insert(key, ());
        }
        hit
    })
}

// Its maintenance runs after each access: it may otherwise lag behind, by the clock.
fn moka(keys: &[u64], capacity: usize, policy: moka::policy::EvictionPolicy) -> f64 {
    let cache = moka::sync::Cache::builder().max_capacity(capacity as u64).eviction_policy(policy).build();
    misses(keys, |key| {
        let hit = cache.get(&key).is_some();
        if !hit {
            cache.insert(key, ());
        }
        cache.run_pending_tasks();
        hit
    })
}

fn quick_cache(keys: &[u64], capacity: usize) -> f64 {
    let mut cache = quick_cache::unsync::Cache::new(capacity);
    misses(keys, |key| {
        let hit = cache.get(&key).is_some();
        if !hit {
            cache.insert(key, ());
        }
        hit
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&arguments[1]).expect("KEYS is a file");
    let keys: Vec<u64> = bytes.chunks_exact(8).map(|key| u64::from_be_bytes(key.try_into().unwrap())).collect();
    for capacity in arguments[2..].iter().map(|capacity| capacity.parse::<usize>().expect("CAPACITY is a number")) {
        let show = |name: &str, ratio: f64| println!("{name},{capacity},{ratio:.4}");
        show("foyer fifo", foyer(&keys, capacity, FifoConfig::default().into()));
        show("foyer lru", foyer(&keys, capacity, LruConfig::default().into()));
        show("foyer lfu", foyer(&keys, capacity, LfuConfig::default().into()));
        show("foyer s3fifo", foyer(&keys, capacity, S3FifoConfig::default().into()));
        show("foyer sieve", foyer(&keys, capacity, SieveConfig::default().into()));
        show("moka tiny_lfu", moka(&keys, capacity, moka::policy::EvictionPolicy::tiny_lfu()));
        show("moka lru", moka(&keys, capacity, moka::policy::EvictionPolicy::lru()));
        show("quick_cache", quick_cache(&keys, capacity));
    }
}
