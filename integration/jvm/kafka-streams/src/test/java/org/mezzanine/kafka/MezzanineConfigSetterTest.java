// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mezzanine.MezzanineCache;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksdb.PlainTableConfig;

class MezzanineConfigSetterTest {
  private static final int KEYS = 20_000;

  @TempDir Path folder;

  /** Two stores, each of the values of a topic. */
  private static Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    for (String topic : new String[] {"one", "two"}) {
      builder.table(topic, Consumed.with(Serdes.Integer(), Serdes.ByteArray()),
          Materialized.<Integer, byte[]>as(Stores.persistentKeyValueStore(topic + "-store")).withCachingDisabled());
    }
    return builder.build();
  }

  private Properties properties(String uri) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "mezzanine-test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nobody:9092");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    properties.put("rocksdb.config.setter", "org.mezzanine.kafka.MezzanineConfigSetter");
    properties.put("mezzanine.uri", uri);
    properties.put("mezzanine.write.buffer.bytes", "2097152");
    return properties;
  }

  private static byte[] value(String topic, int i) {
    byte[] value = new byte[500];
    Arrays.fill(value, (byte) ('a' + i % 26));
    byte[] head = (topic + i).getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(head, 0, value, 0, head.length);
    return value;
  }

  private static void pipe(TopologyTestDriver driver, String topic) {
    TestInputTopic<Integer, byte[]> input =
        driver.createInputTopic(topic, new IntegerSerializer(), new ByteArraySerializer());
    for (int i = 0; i < KEYS; ++i) input.pipeInput(i, value(topic, i));
  }

  private static void readAll(TopologyTestDriver driver, String topic) {
    KeyValueStore<Integer, byte[]> store = driver.getKeyValueStore(topic + "-store");
    for (int n = 0; n < KEYS; ++n) {
      int i = (int) (n * 7919L % KEYS);
      assertArrayEquals(value(topic, i), store.get(i));
    }
  }

  @Test
  void allStoresOfATopologyHaveTheOneCacheByPropertiesAlone() {
    String uri = "mezzanine://dram=8M;scm=64M@" + folder.resolve("medium");
    MezzanineCache first;
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties(uri))) {
      for (String topic : new String[] {"one", "two"}) pipe(driver, topic);
      for (String topic : new String[] {"one", "two", "one"}) readAll(driver, topic);
      first = MezzanineConfigSetter.cache(uri);
      assertTrue(first.statistics().get("scm.hit") > 1000, first.report());
      // What the stores wrote came to the cache by itself.
      String warmed = "heirs: on, (warming arrives: |RocksDB \\S+ warms with flushes only \\()[1-9]";
      assertTrue(Pattern.compile(warmed).matcher(first.report()).find(), first.report());
      // Write buffers are charged: they lie in the DRAM tier, and are flushed to stay within their bound.
      assertTrue(first.getPinnedUsage() > 0, first.report());
      assertTrue(first.getPinnedUsage() < 4 << 20, () -> first.getPinnedUsage() + " bytes pinned");
    }
    // The tasks were closed, and come back: the cache was not.
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties(uri))) {
      assertSame(first, MezzanineConfigSetter.cache(uri));
      pipe(driver, "one");
      readAll(driver, "one");
    }
  }

  @Test
  void eachStoreMayHaveAShareOfTheCacheUnderItsName() {
    String uri = "mezzanine://dram=8M;scm=96M@" + folder.resolve("shared");
    Properties properties = properties(uri);
    properties.put("mezzanine.share.stores", "reserve=20%,max=60%");
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties)) {
      for (String topic : new String[] {"one", "two"}) pipe(driver, topic);
      for (String topic : new String[] {"one", "two", "one"}) readAll(driver, topic);
      String report = MezzanineConfigSetter.cache(uri).report();
      for (String store : new String[] {"one-store", "two-store"}) {
        String line = "\nshare." + store + ": scm [1-9].*scm.hit [1-9]";
        assertTrue(Pattern.compile(line).matcher(report).find(), report);
      }
    }
    // The tasks were closed, and come back to their shares.
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties)) {
      pipe(driver, "one");
      readAll(driver, "one");
    }
    assertTrue(refused(Map.of("mezzanine.uri", uri, "mezzanine.write.buffer.bytes", 2097152,
        "mezzanine.share.stores", "reserve=70%,max=60%")).contains("lower"));
  }

  private static String refused(Map<String, Object> configs) {
    try (Options options = new Options().setTableFormatConfig(new BlockBasedTableConfig())) {
      return assertThrows(ConfigException.class, () -> new MezzanineConfigSetter().setConfig("store", options, configs))
          .getMessage();
    }
  }

  @Test
  void whatIsNoGoodIsAConfigExceptionWithASentence() {
    String uri = "mezzanine://dram=4M;scm=64M@dram";
    assertTrue(refused(Map.of()).contains("mezzanine.uri is not set"));
    assertTrue(refused(Map.of("mezzanine.uri", uri + ";speed=fast")).contains("\"speed\""));
    assertTrue(refused(Map.of("mezzanine.uri", uri, "mezzanine.write.buffer.bytes", "64M")).contains("64M"));
    assertTrue(refused(Map.of("mezzanine.uri", uri, "mezzanine.write.buffer.bytes", -1)).contains("-1"));
    try (Options options = new Options().setTableFormatConfig(new PlainTableConfig())) {
      assertThrows(ConfigException.class,
          () -> new MezzanineConfigSetter().setConfig("store", options, Map.of("mezzanine.uri", uri)));
    }
    // It is open now, with the default.
    assertTrue(refused(Map.of("mezzanine.uri", uri, "mezzanine.write.buffer.bytes", 1 << 20)).contains("opened"));
    assertEquals(4 << 20, MezzanineConfigSetter.cache(uri).getDramBytes());
  }
}
