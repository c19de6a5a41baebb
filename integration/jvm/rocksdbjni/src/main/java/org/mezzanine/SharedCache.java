// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import java.util.HashMap;
import java.util.Map;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.WriteBufferManager;

/**
 * One cache for all databases of a JVM that name its URI. Their memtables are charged to it, and index and filter blocks
 * lie in it, so that their DRAM together is what the URI says.
 *
 * <p>It is closed when the JVM ends. Databases that are still open then keep the native cache; it goes with the last of
 * them. Thread-safe.
 */
public final class SharedCache {
  private static final Map<String, SharedCache> BY_URI = new HashMap<>();  // guarded by itself

  private final String uri;
  private final MezzanineCache cache;
  private final Map<String, MezzanineCache> shares = new HashMap<>();  // guarded by itself
  private final long writeBufferBytes;
  private final WriteBufferManager writeBuffers;

  private SharedCache(String uri, long writeBufferBytes) {
    this.uri = uri;
    cache = MezzanineCache.open(uri);
    this.writeBufferBytes = writeBufferBytes;
    writeBuffers = new WriteBufferManager(writeBufferBytes > 0 ? writeBufferBytes : cache.getDramBytes() / 4, cache);
  }

  /**
   * The cache of that URI. If there is none yet, it is opened and {@code opened} runs.
   *
   * @param writeBufferBytes what the memtables of all databases may take of the DRAM tier; 0: a quarter. A cache that was
   *     opened before keeps its own: compare {@link #writeBufferBytes()}
   * @throws MezzanineException if it cannot be opened
   */
  public static SharedCache of(String uri, long writeBufferBytes, Runnable opened) {
    synchronized (BY_URI) {
      SharedCache shared = BY_URI.get(uri);
      if (shared != null) return shared;
      shared = new SharedCache(uri, writeBufferBytes);
      Runtime.getRuntime().addShutdownHook(new Thread(shared::close, "mezzanine-close"));
      BY_URI.put(uri, shared);
      opened.run();
      return shared;
    }
  }

  /** The cache of that URI, to look at. Null: nobody has opened it. */
  public static MezzanineCache find(String uri) {
    synchronized (BY_URI) {
      SharedCache shared = BY_URI.get(uri);
      return shared == null ? null : shared.cache;
    }
  }

  public MezzanineCache cache() {
    return cache;
  }

  /**
   * The part of the cache that the database of this name has, made when it is first asked for.
   *
   * @param limits as the URI's share has them behind the name, such as {@code reserve=10%,max=40%}; empty: none. A share
   *     that was made before keeps its own
   * @throws MezzanineException if the limits contradict themselves or those of others
   */
  public MezzanineCache share(String name, String limits) {
    synchronized (shares) {
      return shares.computeIfAbsent(
          name, made -> MezzanineCache.open(uri + ";share=" + made + (limits.isEmpty() ? "" : ":" + limits)));
    }
  }

  /** As it was asked for at the opening; 0: a quarter. */
  public long writeBufferBytes() {
    return writeBufferBytes;
  }

  public WriteBufferManager writeBuffers() {
    return writeBuffers;
  }

  /** The same object, which has tables in the cache from now on. */
  public BlockBasedTableConfig useIn(BlockBasedTableConfig tables) {
    return useIn(tables, cache);
  }

  /** The same for {@code cache}, which is this one or a share of it. */
  public BlockBasedTableConfig useIn(BlockBasedTableConfig tables, MezzanineCache cache) {
    return tables.setBlockCache(cache)
        .setCacheIndexAndFilterBlocks(true)
        .setCacheIndexAndFilterBlocksWithHighPriority(true);
  }

  private void close() {
    synchronized (shares) {
      shares.values().forEach(MezzanineCache::close);
    }
    writeBuffers.close();
    cache.close();
  }
}
