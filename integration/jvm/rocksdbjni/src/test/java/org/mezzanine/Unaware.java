// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.CompressionType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

/** A program that knows nothing of Mezzanine: 20 MB through an LRUCache of 4 MiB. */
final class Unaware {
  private static final int KEYS = 20_000;

  private Unaware() {}

  private static byte[] key(int i) {
    return Integer.toString(1_000_000 + i).getBytes();
  }

  private static byte[] value(int i) {
    byte[] value = new byte[1000];
    Arrays.fill(value, (byte) ('a' + i % 26));
    System.arraycopy(key(i), 0, value, 0, 7);
    return value;
  }

  public static void main(String[] args) throws Exception {
    RocksDB.loadLibrary();
    Path folder = Path.of(args[0]);
    try (LRUCache cache = new LRUCache(4 << 20);
        Options options = new Options().setCreateIfMissing(true).setCompressionType(CompressionType.NO_COMPRESSION)
            .setWriteBufferSize(4 << 20).setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache));
        RocksDB db = RocksDB.open(options, folder.resolve("db").toString())) {
      for (int n = 0; n < KEYS + KEYS / 8; ++n) db.put(key(n % KEYS), value(n % KEYS));  // some twice: to be compacted
      db.compactRange();
      for (int n = 0; n < 2 * KEYS; ++n) {
        int i = (int) (n * 7919L % KEYS);
        if (!Arrays.equals(db.get(key(i)), value(i))) throw new AssertionError("wrong: " + i);
      }
      System.out.println("read all as it was written");
    }
    try (FileChannel file = FileChannel.open(folder.resolve("short"), StandardOpenOption.CREATE, StandardOpenOption.READ,
        StandardOpenOption.WRITE)) {
      MappedByteBuffer gone = file.map(FileChannel.MapMode.READ_WRITE, 0, 1 << 20);
      file.truncate(0);
      for (int i = 0; i < gone.capacity(); i += 4096) {
        gone.get(i);
        Thread.yield();
      }
    } catch (InternalError error) {
      System.out.println("told of memory that is gone");
    }
  }
}
