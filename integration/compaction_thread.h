// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mezz {

// Whether the calling thread is one of RocksDB's for compactions: what it reads is no evidence that a user wants it.
//
// RocksDB's thread pools name their threads "rocksdb:low" (compactions), "rocksdb:bottom" (those of the last level) and
// "rocksdb:high" (flushes), with the pool's mutex held, which a thread takes before its first piece of work
// (util/threadpool_imp.cc, from 7.8 to 11.8). A subcompaction's thread is started by a compaction's and inherits its
// name, as Linux does. So a thread's name is asked for once and kept. A custom Env that names its threads otherwise has
// its compactions counted as users.
bool OnCompactionThread();

}  // namespace mezz
