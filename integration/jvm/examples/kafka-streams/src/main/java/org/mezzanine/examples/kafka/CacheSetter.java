// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.mezzanine.kafka.MezzanineConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/**
 * Mezzanine, or the stock cache as Kafka's guide to bounded memory sets it up; and, of both, reads that pass by the
 * page cache, which would be a second tier of DRAM that nobody counts.
 */
public final class CacheSetter implements RocksDBConfigSetter {
  static final String STOCK_BYTES = "example.stock.bytes";
  static final String DIRECT_READS = "example.direct.reads";

  /** Of RocksDB's own, 1 MiB, a memtable takes one at its first byte: those of all stores would be flushed all the time. */
  private static final long ARENA_BLOCK_BYTES = 64 << 10;

  private static Cache stock;
  private static WriteBufferManager writeBuffers;

  private final MezzanineConfigSetter ours = new MezzanineConfigSetter();

  @Override
  public void setConfig(String store, Options options, Map<String, Object> configs) {
    boolean direct = Boolean.parseBoolean(configs.get(DIRECT_READS).toString());
    options.setUseDirectReads(direct).setUseDirectIoForFlushAndCompaction(direct);
    options.setArenaBlockSize(ARENA_BLOCK_BYTES);
    if (configs.containsKey(MezzanineConfigSetter.URI)) {
      ours.setConfig(store, options, configs);
    } else {
      setStock(options, configs);
    }
  }

  private static synchronized void setStock(Options options, Map<String, Object> configs) {
    if (stock == null) {
      RocksDB.loadLibrary();
      // A half for index and filter blocks, if they want it, as RocksDB's own default is.
      stock = new LRUCache(Long.parseLong(configs.get(STOCK_BYTES).toString()), -1, false, 0.5);
      writeBuffers = new WriteBufferManager(
          Long.parseLong(configs.get(MezzanineConfigSetter.WRITE_BUFFER_BYTES).toString()), stock);
    }
    options.setTableFormatConfig(((BlockBasedTableConfig) options.tableFormatConfig())
        .setBlockCache(stock)
        .setCacheIndexAndFilterBlocks(true)
        .setCacheIndexAndFilterBlocksWithHighPriority(true));
    options.setWriteBufferManager(writeBuffers);
  }

  @Override
  public void close(String store, Options options) {
    // The cache is all stores'.
  }
}
