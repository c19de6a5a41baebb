// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.flink;

import java.util.Collection;
import java.util.List;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.state.rocksdb.ConfigurableRocksDBOptionsFactory;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.mezzanine.MezzanineCache;
import org.mezzanine.MezzanineException;
import org.mezzanine.SharedCache;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.TableFormatConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives all RocksDB states of a TaskManager one cache, by configuration alone:
 *
 * <pre>
 * state.backend.type: rocksdb
 * state.backend.rocksdb.memory.managed: false
 * state.backend.rocksdb.options-factory: org.mezzanine.flink.MezzanineOptionsFactory
 * mezzanine.uri: mezzanine://dram=256M;scm=2G@/dev/shm/mezz
 * mezzanine.write.buffer: 64 mb
 * </pre>
 *
 * <p>With managed memory, or a fixed amount for each slot or TaskManager, Flink puts a cache of its own in the place of
 * the factory's, and says nothing: these are refused. Memtables are charged to the cache, and index and filter blocks lie
 * in it. They may take a quarter of its DRAM tier unless mezzanine.write.buffer says otherwise. So the DRAM of all states
 * is what the URI says, beside what managed memory is left to Flink's other operators.
 *
 * <p>The cache is closed when the JVM ends: states come and go with their tasks. Each TaskManager of a host needs a
 * medium of its own.
 */
public class MezzanineOptionsFactory implements ConfigurableRocksDBOptionsFactory {
  public static final ConfigOption<String> URI = ConfigOptions.key("mezzanine.uri").stringType().noDefaultValue()
      .withDescription("The cache, for example mezzanine://dram=256M;scm=2G@/dev/shm/mezz");
  public static final ConfigOption<MemorySize> WRITE_BUFFER =
      ConfigOptions.key("mezzanine.write.buffer").memoryType().noDefaultValue()
          .withDescription("What the memtables of all states may take of the DRAM tier; a quarter by default");

  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(MezzanineOptionsFactory.class);

  private String uri;
  private long writeBufferBytes;  // 0: a quarter

  /** The cache of that URI, to look at. Null: no state has opened it. */
  public static MezzanineCache cache(String uri) {
    return SharedCache.find(uri);
  }

  @Override
  public MezzanineOptionsFactory configure(ReadableConfig config) {
    if (config.get(RocksDBOptions.USE_MANAGED_MEMORY)) {
      throw new IllegalConfigurationException("Flink would put a cache of managed memory in the place of Mezzanine: set "
          + RocksDBOptions.USE_MANAGED_MEMORY.key() + ": false");
    }
    for (ConfigOption<MemorySize> fixed :
        List.of(RocksDBOptions.FIX_PER_SLOT_MEMORY_SIZE, RocksDBOptions.FIX_PER_TM_MEMORY_SIZE)) {
      if (config.getOptional(fixed).isPresent()) {
        throw new IllegalConfigurationException(
            "Flink would put a cache of " + fixed.key() + " in the place of Mezzanine: leave " + fixed.key() + " out");
      }
    }
    uri = config.getOptional(URI).orElseThrow(() -> new IllegalConfigurationException(URI.key()
        + " is not set: say which cache, for example mezzanine://dram=256M;scm=2G@/dev/shm/mezz"));
    writeBufferBytes = config.getOptional(WRITE_BUFFER).map(MemorySize::getBytes).orElse(0L);
    return this;
  }

  @Override
  public DBOptions createDBOptions(DBOptions options, Collection<AutoCloseable> handlesToClose) {
    SharedCache shared = shared();
    shared.cache().use(options, List.of());
    return options.setWriteBufferManager(shared.writeBuffers());
  }

  @Override
  public ColumnFamilyOptions createColumnOptions(ColumnFamilyOptions options, Collection<AutoCloseable> handlesToClose) {
    SharedCache shared = shared();
    TableFormatConfig tables = options.tableFormatConfig();
    if (tables != null && !(tables instanceof BlockBasedTableConfig)) {
      throw new IllegalConfigurationException(
          "the state has " + tables.getClass().getName() + ", and block-based tables alone have a block cache");
    }
    options.setTableFormatConfig(
        shared.useIn(tables == null ? new BlockBasedTableConfig() : (BlockBasedTableConfig) tables));
    try (DBOptions database = new DBOptions()) {  // the state's own has been prepared
      shared.cache().use(database, List.of(options));
    }
    return options;
  }

  private SharedCache shared() {
    if (uri == null) {
      throw new IllegalConfigurationException(
          "MezzanineOptionsFactory was not configured: name it in " + RocksDBOptions.OPTIONS_FACTORY.key());
    }
    SharedCache shared;
    try {
      shared = SharedCache.of(uri, writeBufferBytes, () -> LOG.info("all states have the cache {}", uri));
    } catch (MezzanineException error) {
      throw new IllegalConfigurationException(URI.key() + "=" + uri + ": " + error.getMessage(), error);
    }
    if (shared.writeBufferBytes() != writeBufferBytes) {
      throw new IllegalConfigurationException("another job of this TaskManager has opened " + uri + " with "
          + WRITE_BUFFER.key() + " of " + shared.writeBufferBytes() + " bytes, and this one has " + writeBufferBytes);
    }
    return shared;
  }
}
