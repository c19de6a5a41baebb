// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mezzanine.MezzanineCache;

class MezzanineOptionsFactoryTest {
  private static final int KEYS = 40_000;
  private static final int ROUNDS = 4;

  @TempDir Path folder;

  private Configuration configuration(String uri) {
    Configuration configuration = new Configuration();
    configuration.setString("state.backend.type", "rocksdb");
    configuration.set(RocksDBOptions.USE_MANAGED_MEMORY, false);
    configuration.set(RocksDBOptions.OPTIONS_FACTORY, MezzanineOptionsFactory.class.getName());
    configuration.set(RocksDBOptions.LOCAL_DIRECTORIES, folder.toString());
    if (uri != null) configuration.set(MezzanineOptionsFactory.URI, uri);
    configuration.set(MezzanineOptionsFactory.WRITE_BUFFER, MemorySize.ofMebiBytes(2));
    return configuration;
  }

  /** Passes on a key when its state has seen it in every round and was each time as it was left. */
  private static final class Rounds extends KeyedProcessFunction<Long, Long, Long> {
    private static final long serialVersionUID = 1L;

    private transient ValueState<byte[]> state;

    @Override
    public void open(OpenContext context) {
      state = getRuntimeContext().getState(new ValueStateDescriptor<>("rounds", byte[].class));
    }

    @Override
    public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
      byte[] seen = state.value();
      if (seen == null) {
        seen = new byte[500];
        Arrays.fill(seen, (byte) ('a' + number % KEYS % 26));
        seen[0] = 0;
      }
      if (seen[499] != 'a' + number % KEYS % 26 || seen[0] != number / KEYS) throw new IllegalStateException("" + number);
      ++seen[0];
      state.update(seen);
      if (seen[0] == ROUNDS) out.collect(number % KEYS);
    }
  }

  @Test
  @SuppressWarnings("try")  // its close throws InterruptedException
  void aJobsStatesHaveTheCacheByConfigurationAlone() throws Exception {
    String uri = "mezzanine://dram=8M;scm=64M@" + folder.resolve("medium");
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, configuration(uri));
    long sum = 0;
    long keys = 0;
    try (CloseableIterator<Long> all = environment.fromSequence(0, (long) KEYS * ROUNDS - 1).setParallelism(1)
        .keyBy(number -> number % KEYS).process(new Rounds()).executeAndCollect()) {
      while (all.hasNext()) {
        sum += all.next();
        ++keys;
      }
    }
    assertEquals(KEYS, keys);
    assertEquals((long) KEYS * (KEYS - 1) / 2, sum);
    MezzanineCache cache = MezzanineOptionsFactory.cache(uri);
    assertTrue(cache.statistics().get("scm.hit") > 1000, cache.report());
    assertEquals(0, cache.statistics().get("scm.checksum_mismatch"), cache.report());
    // What the states flushed came to the cache by itself, and what they compacted is read back: 8.10 warms with flushes.
    assertTrue(cache.report().contains("heirs: on, RocksDB 8.10.0 warms with flushes only ("), cache.report());
  }

  private static String refused(Configuration configuration) {
    return assertThrows(IllegalConfigurationException.class,
        () -> new MezzanineOptionsFactory().configure(configuration)).getMessage();
  }

  @Test
  void managedMemoryIsRefusedByName() {
    String uri = "mezzanine://dram=8M;scm=64M@dram";
    Configuration managed = configuration(uri);
    managed.removeConfig(RocksDBOptions.USE_MANAGED_MEMORY);  // which is Flink's default
    assertTrue(refused(managed).contains("state.backend.rocksdb.memory.managed: false"));
    Configuration slot = configuration(uri);
    slot.set(RocksDBOptions.FIX_PER_SLOT_MEMORY_SIZE, MemorySize.ofMebiBytes(64));
    assertTrue(refused(slot).contains("state.backend.rocksdb.memory.fixed-per-slot"));
    Configuration manager = configuration(uri);
    manager.set(RocksDBOptions.FIX_PER_TM_MEMORY_SIZE, MemorySize.ofMebiBytes(64));
    assertTrue(refused(manager).contains("state.backend.rocksdb.memory.fixed-per-tm"));
  }

  @Test
  void whatIsNoGoodIsASentence() {
    assertTrue(refused(configuration(null)).contains("mezzanine.uri is not set"));
    MezzanineOptionsFactory bad = new MezzanineOptionsFactory().configure(configuration("mezzanine://speed=fast"));
    assertTrue(assertThrows(IllegalConfigurationException.class, () -> bad.createDBOptions(null, null)).getMessage()
        .contains("\"speed\""));
    assertTrue(assertThrows(IllegalConfigurationException.class,
        () -> new MezzanineOptionsFactory().createDBOptions(null, null)).getMessage().contains("not configured"));
  }
}
