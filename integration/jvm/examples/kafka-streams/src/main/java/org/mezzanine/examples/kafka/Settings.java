// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/**
 * What the processes of one run must agree on, as the file that each of them reads.
 *
 * @param cache what the stores have: one of {@link Cache}
 * @param keys accounts
 * @param valueBytes of an account's state
 * @param bootstrap HOST:PORT of the broker
 * @param folder the run's: the stores of instance 1 lie in its state-1, and so on
 * @param medium the folder for files that stand for SCM
 */
record Settings(Cache cache, long dramBytes, long scmBytes, long keys, int valueBytes, int partitions, int threads,
    boolean directReads, String bootstrap, Path folder, Path medium) {
  static final String TOPIC = "amounts";
  static final String STORE = "accounts";
  static final String APPLICATION = "mezzanine-accounts";

  /** Each gives all stores of an instance one block cache, index and filter blocks and write buffers in it. */
  enum Cache {
    /** RocksDB's LRU cache of the DRAM, as Kafka's guide to bounded memory sets it up. */
    STOCK,
    /** The same of DRAM and SCM together. */
    ALL_DRAM,
    MEZZANINE,
    /** With the model of CXL memory. */
    MEZZANINE_CXL;

    boolean ours() {
      return this == MEZZANINE || this == MEZZANINE_CXL;
    }

    String shown() {
      return name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  /** Of memtables, of all stores of an instance, charged to its cache. The same for every cache. */
  long writeBufferBytes() {
    return dramBytes / 4;
  }

  long stockBytes() {
    return cache == Cache.ALL_DRAM ? dramBytes + scmBytes : dramBytes;
  }

  String uri(int instance) {
    String uri = "mezzanine://dram_total=" + dramBytes + ";scm=" + scmBytes + "@"
        + medium.resolve(cache.shown() + "-" + instance);
    return cache == Cache.MEZZANINE_CXL ? uri + ";model=cxl" : uri;
  }

  void write(Path file) throws IOException {
    Properties properties = new Properties();
    properties.setProperty("cache", cache.name());
    properties.setProperty("dram", Long.toString(dramBytes));
    properties.setProperty("scm", Long.toString(scmBytes));
    properties.setProperty("keys", Long.toString(keys));
    properties.setProperty("value_bytes", Integer.toString(valueBytes));
    properties.setProperty("partitions", Integer.toString(partitions));
    properties.setProperty("threads", Integer.toString(threads));
    properties.setProperty("direct_reads", Boolean.toString(directReads));
    properties.setProperty("bootstrap", bootstrap);
    properties.setProperty("folder", folder.toString());
    properties.setProperty("medium", medium.toString());
    try (Writer writer = Files.newBufferedWriter(file)) {
      properties.store(writer, null);
    }
  }

  static Settings read(Path file) throws IOException {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      properties.load(reader);
    }
    return new Settings(Cache.valueOf(properties.getProperty("cache")),
        Long.parseLong(properties.getProperty("dram")), Long.parseLong(properties.getProperty("scm")),
        Long.parseLong(properties.getProperty("keys")), Integer.parseInt(properties.getProperty("value_bytes")),
        Integer.parseInt(properties.getProperty("partitions")), Integer.parseInt(properties.getProperty("threads")),
        Boolean.parseBoolean(properties.getProperty("direct_reads")), properties.getProperty("bootstrap"),
        Path.of(properties.getProperty("folder")), Path.of(properties.getProperty("medium")));
  }
}
