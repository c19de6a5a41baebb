// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

class MezzanineCacheTest {
  private static final String URI = "mezzanine://dram=8M;scm=128M@dram";

  @TempDir Path folder;

  private static byte[] key(int i) {
    byte[] key = "key000000000".getBytes(StandardCharsets.US_ASCII);
    for (int at = key.length - 1; i > 0; i /= 10) key[at--] += (byte) (i % 10);
    return key;
  }

  private static byte[] value(int i, int bytes) {
    byte[] value = new byte[bytes];
    Arrays.fill(value, (byte) ('a' + i % 26));
    System.arraycopy(key(i), 0, value, 0, 12);
    return value;
  }

  private Options options() {
    return new Options().setCreateIfMissing(true).setCompressionType(CompressionType.NO_COMPRESSION);
  }

  private static void write(RocksDB db, int keys, int bytes) throws RocksDBException {
    for (int i = 0; i < keys; ++i) db.put(key(i), value(i, bytes));
    try (FlushOptions flush = new FlushOptions()) {
      db.flush(flush);
    }
    db.compactRange();
  }

  private static void readAll(RocksDB db, int keys, int bytes) throws RocksDBException {
    for (int n = 0; n < keys; ++n) {
      int i = (int) (n * 7919L % keys);  // not in the order of the blocks
      assertArrayEquals(value(i, bytes), db.get(key(i)));
    }
  }

  private static String refused(String uri) {
    return assertThrows(MezzanineException.class, () -> MezzanineCache.open(uri)).getMessage();
  }

  private static void assertContains(String part, String text) {
    assertTrue(text.contains(part), text);
  }

  /** What RocksDB wrote came to the cache, as far as its release offers it. */
  private static void assertWarmed(String report) {
    String warmed = "heirs: on, (warming arrives: |RocksDB \\S+ warms with flushes only \\()[1-9]";
    assertTrue(Pattern.compile(warmed).matcher(report).find(), report);
  }

  @Test
  void aMillionEntriesAreReadAsTheyWereWritten() throws RocksDBException {
    int keys = 1_000_000;
    try (MezzanineCache cache = MezzanineCache.open(URI); Options options = options()) {
      cache.use(options);
      try (RocksDB db = RocksDB.open(options, folder.toString())) {
        write(db, keys, 60);
        readAll(db, keys, 60);
      }
      assertTrue(cache.statistics().get("scm.hit") > 100_000, cache.report());
      assertEquals(0, cache.statistics().get("scm.checksum_mismatch"));
      assertWarmed(cache.report());
      assertTrue(cache.getUsage() > 0);
      assertEquals(0, cache.getPinnedUsage());
    }
  }

  @Test
  void aTableConfigTakesItAsAnyCache() throws RocksDBException {
    try (MezzanineCache cache = MezzanineCache.open(URI); Options options = options()) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache));
      try (RocksDB db = RocksDB.open(options, folder.toString())) {
        write(db, 20_000, 1000);
        readAll(db, 20_000, 1000);
      }
      assertTrue(cache.statistics().get("scm.hit") > 1000, cache.report());
    }
  }

  @Test
  void columnFamiliesShareIt() throws RocksDBException {
    try (MezzanineCache cache = MezzanineCache.open(URI);
        DBOptions database = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
        ColumnFamilyOptions first = new ColumnFamilyOptions();
        ColumnFamilyOptions second = new ColumnFamilyOptions()) {
      cache.use(database, List.of(first, second));
      List<ColumnFamilyHandle> handles = new ArrayList<>();
      List<ColumnFamilyDescriptor> families = List.of(
          new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, first),
          new ColumnFamilyDescriptor("second".getBytes(StandardCharsets.UTF_8), second));
      try (RocksDB db = RocksDB.open(database, folder.toString(), families, handles)) {
        for (ColumnFamilyHandle handle : handles) {
          for (int i = 0; i < 1000; ++i) db.put(handle, key(i), value(i, 60));
          try (FlushOptions flush = new FlushOptions()) {
            db.flush(flush, handle);
          }
          for (int i = 0; i < 1000; ++i) assertArrayEquals(value(i, 60), db.get(handle, key(i)));
          handle.close();
        }
      }
      assertWarmed(cache.report());
    }
  }

  @Test
  void aDatabaseKeepsTheCacheThatIsClosedBeforeIt() throws RocksDBException {
    Path medium = folder.resolve("medium");
    String uri = "mezzanine://dram=4M;scm=64M@" + medium;
    try (Options options = options()) {
      MezzanineCache cache = MezzanineCache.open(uri);
      cache.use(options);
      try (RocksDB db = RocksDB.open(options, folder.resolve("db").toString())) {
        write(db, 10_000, 1000);
        cache.close();
        cache.close();
        readAll(db, 10_000, 1000);
        assertContains("medium", refused(uri));  // in use
      }
    }
    // The options had it too, and are closed: so is the medium, and its blocks are back.
    try (MezzanineCache cache = MezzanineCache.open(uri)) {
      assertContains("recovery.recovered", cache.report());
    }
  }

  @Test
  void aClosedCacheIsAnExceptionAndNoCacheToRocksDB() throws RocksDBException {
    MezzanineCache cache = MezzanineCache.open(URI);
    cache.close();
    assertContains("closed", assertThrows(MezzanineException.class, cache::report).getMessage());
    assertThrows(MezzanineException.class, cache::statistics);
    assertThrows(MezzanineException.class, cache::getUsage);
    assertThrows(MezzanineException.class, cache::getPinnedUsage);
    assertThrows(MezzanineException.class, () -> cache.setPolicy("dram_first"));
    try (Options options = options()) {
      assertThrows(MezzanineException.class, () -> cache.use(options));
      options.setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache));
      try (RocksDB db = RocksDB.open(options, folder.toString())) {
        write(db, 1000, 60);
        readAll(db, 1000, 60);
      }
    }
  }

  @Test
  void aCacheThatIsNeverClosedHarmsNobody() throws RocksDBException {
    MezzanineCache cache = MezzanineCache.open("mezzanine://dram=4M;scm=64M@" + folder.resolve("medium"));
    Options options = options();
    cache.use(options);
    RocksDB db = RocksDB.open(options, folder.resolve("db").toString());
    write(db, 1000, 60);  // and the JVM ends with all of them open
    readAll(db, 1000, 60);
  }

  @Test
  void whatMayChangeDoes() {
    try (MezzanineCache cache =
        MezzanineCache.builder().dramBytes(8 << 20).scmBytes(64 << 20).scmPath("dram").policy("adaptive").build()) {
      assertEquals("adaptive", cache.getPolicy());
      cache.setPolicy("dram_first");
      assertEquals("dram_first", cache.getPolicy());
      cache.setDramBytes(4 << 20);
      assertEquals(4 << 20, cache.getDramBytes());
      cache.setScmBytes(32 << 20);
      assertTrue(cache.getScmBytes() <= 32 << 20);
      assertContains("wise", assertThrows(MezzanineException.class, () -> cache.setPolicy("wise")).getMessage());
      assertThrows(MezzanineException.class, () -> cache.setScmBytes(1L << 40));
      assertContains("-1", assertThrows(MezzanineException.class, () -> cache.setDramBytes(-1)).getMessage());
    }
  }

  @Test
  void whatIsNoGoodIsASentence() {
    assertContains("mezzanine://", refused(""));
    assertContains("null", refused(null));
    assertContains("\"speed\"", refused(URI + ";speed=fast"));
    assertContains("/no/such/folder", refused("mezzanine://dram=4M;scm=64M@/no/such/folder/mezz"));
    assertContains("surrogate", refused("mezzanine://dram=4M;scm=64M@dram;policy=\ud800"));
    assertContains("NUL", refused("mezzanine://dram=4M;scm=64M@/dev/shm/a\0b"));
    assertContains("\u00fc\ud83d\ude00", refused("mezzanine://dram=4M;scm=64M@dram;policy=\u00fc\ud83d\ude00"));
    assertContains("dram=4000000T", refused("mezzanine://dram=4000000T;scm=64M@dram"));
    assertContains("semicolon",
        assertThrows(MezzanineException.class, () -> MezzanineCache.builder().scmPath("a;b")).getMessage());
  }

  /** The JVM turns SIGBUS into an error of the one thread: whoever takes its handler breaks that. */
  @Test
  void theJvmKeepsItsHandlerForBusErrors() throws Exception {
    assertContains("SIGBUS", refused(URI + ";bus_errors=contain"));
    try (MezzanineCache cache = MezzanineCache.open("mezzanine://dram=4M;scm=64M@" + folder.resolve("medium"));
        FileChannel file = FileChannel.open(folder.resolve("short"), StandardOpenOption.CREATE, StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      MappedByteBuffer mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, 1 << 20);
      file.truncate(0);
      assertTrue(isTold(mapped));
      assertContains("policy:", cache.report());
    }
  }

  /** Whether the JVM tells of memory that is gone: it may do so some calls later. */
  private static boolean isTold(MappedByteBuffer gone) {
    try {
      for (int i = 0; i < gone.capacity(); i += 4096) {
        gone.get(i);
        Thread.yield();
      }
    } catch (InternalError error) {
      return true;
    }
    return false;
  }
}
