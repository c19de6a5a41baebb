// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.kafka;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.mezzanine.MezzanineCache;
import org.mezzanine.MezzanineException;
import org.mezzanine.SharedCache;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.TableFormatConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives all stores of a Kafka Streams application one cache, by configuration alone:
 *
 * <pre>
 * rocksdb.config.setter=org.mezzanine.kafka.MezzanineConfigSetter
 * mezzanine.uri=mezzanine://dram=256M;scm=2G@/dev/shm/mezz
 * mezzanine.write.buffer.bytes=67108864
 * mezzanine.share.stores=reserve=5%,max=50%
 * </pre>
 *
 * <p>As Kafka's guide to bounded memory has it, the stores' write buffers are charged to the cache, index and filter
 * blocks lie in it, and it is never closed before the JVM ends: stores come and go with their tasks. So the DRAM of all
 * stores together is what the URI says. The write buffers may take a quarter of its DRAM tier unless
 * mezzanine.write.buffer.bytes says otherwise. Applications of one JVM that name the same URI share a cache. With
 * mezzanine.share.stores each store has a share of it under its name, with these limits (empty: none), so that one that
 * is scanned does not push out what another needs; the cache's report tells each store's figures.
 *
 * <p>Streams 4.3 and later keep offsets in a column family of their own, whose cache no setter reaches.
 */
public class MezzanineConfigSetter implements RocksDBConfigSetter {
  public static final String URI = "mezzanine.uri";
  public static final String WRITE_BUFFER_BYTES = "mezzanine.write.buffer.bytes";
  public static final String SHARE_STORES = "mezzanine.share.stores";

  private static final Logger LOG = LoggerFactory.getLogger(MezzanineConfigSetter.class);

  /** The cache of that URI, to look at. Null: no store has opened it. */
  public static MezzanineCache cache(String uri) {
    return SharedCache.find(uri);
  }

  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    SharedCache shared = shared(configs);
    TableFormatConfig tables = options.tableFormatConfig();
    if (!(tables instanceof BlockBasedTableConfig)) {
      throw new ConfigException("store " + storeName + " has no block-based tables, which alone have a block cache");
    }
    MezzanineCache cache = cacheOf(storeName, shared, configs.get(SHARE_STORES));
    // This very object: Streams asks it for its metrics, and refuses another.
    options.setTableFormatConfig(shared.useIn((BlockBasedTableConfig) tables, cache));
    options.setWriteBufferManager(shared.writeBuffers());
    warm(storeName, options, cache);
  }

  @Override
  public void close(String storeName, Options options) {
    // The cache is all stores'.
  }

  private static MezzanineCache cacheOf(String storeName, SharedCache shared, Object limits) {
    if (limits == null) return shared.cache();
    try {
      return shared.share(storeName, limits.toString().trim());
    } catch (MezzanineException error) {
      throw new ConfigException(SHARE_STORES, limits.toString(), error.getMessage());
    }
  }

  private static SharedCache shared(Map<String, Object> configs) {
    Object uri = configs.get(URI);
    if (uri == null) {
      throw new ConfigException(
          URI + " is not set: say which cache, for example mezzanine://dram=256M;scm=2G@/dev/shm/mezz");
    }
    long bytes = writeBufferBytes(configs.get(WRITE_BUFFER_BYTES));
    SharedCache shared;
    try {
      shared = SharedCache.of(uri.toString(), bytes, () -> LOG.info("all stores have the cache {}", uri));
    } catch (MezzanineException error) {
      throw new ConfigException(URI, uri.toString(), error.getMessage());
    }
    if (shared.writeBufferBytes() != bytes) {
      throw new ConfigException(WRITE_BUFFER_BYTES, bytes,
          "another application of this JVM has opened " + uri + " with " + shared.writeBufferBytes());
    }
    return shared;
  }

  private static long writeBufferBytes(Object value) {
    if (value == null) return 0;
    try {
      long bytes = Long.parseLong(value.toString().trim());
      if (bytes > 0) return bytes;
    } catch (NumberFormatException error) {
      // told below
    }
    throw new ConfigException(WRITE_BUFFER_BYTES, value, "it is a number of bytes, more than 0; or leave it out");
  }

  /**
   * What Streams hands to a setter stands for two objects, and the native half must reach those. There is no other way to
   * them: where they are not found the cache goes without what the stores write, and learns of it when it is read.
   */
  private static void warm(String storeName, Options options, MezzanineCache cache) {
    try {
      cache.use((DBOptions) field(options, "dbOptions"),
          List.of((ColumnFamilyOptions) field(options, "columnFamilyOptions")));
    } catch (ReflectiveOperationException | ClassCastException error) {
      LOG.warn("store {}: the cache gets what is read, and not what is written: {}", storeName, error.toString());
    }
  }

  private static Object field(Options options, String name) throws ReflectiveOperationException {
    Field field = options.getClass().getDeclaredField(name);
    if (!field.trySetAccessible()) throw new IllegalAccessException(field + " is not accessible");
    return field.get(options);
  }
}
