// SPDX-License-Identifier: Apache-2.0
// What a hit in DRAM costs from Java, in MezzanineCache and in RocksDB's HyperClockCache: the same reads of two databases
// of the same content, in turn, on one thread.
//
// java -cp mezzanine-rocksdbjni-0.1.0.jar:rocksdbjni-11.8.1.jar HitsExample.java FOLDER [ROUNDS]

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.mezzanine.MezzanineCache;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.CompressionType;
import org.rocksdb.HyperClockCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

public final class HitsExample {
  private static final int KEYS = 100_000;
  private static final int READS = 300_000;
  private static final long DRAM_BYTES = 256L << 20;

  private HitsExample() {}

  public static void main(String[] arguments) throws RocksDBException {
    int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 15;
    RocksDB.loadLibrary();  // HyperClockCache does not
    try (Cache theirs = new HyperClockCache(DRAM_BYTES, 0, -1, false);
        MezzanineCache ours = MezzanineCache.open("mezzanine://dram=256M;scm=256M@dram");
        Options theirOptions = options();
        Options ourOptions = options()) {
      theirOptions.setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(theirs));
      ours.use(ourOptions);
      try (RocksDB theirDb = RocksDB.open(theirOptions, arguments[0] + "/hcc");
          RocksDB ourDb = RocksDB.open(ourOptions, arguments[0] + "/mezzanine")) {
        for (RocksDB db : new RocksDB[] {theirDb, ourDb}) {
          fill(db);
          for (int i = 0; i < 3; ++i) read(db, i);  // until all lies in DRAM, and is compiled
        }
        double[] ratios = new double[rounds];
        System.out.println("round  hcc reads/s  mezzanine reads/s  ratio");
        for (int i = 0; i < rounds; ++i) {
          boolean oursFirst = i % 2 == 1;
          double first = read(oursFirst ? ourDb : theirDb, 10 + i);
          double second = read(oursFirst ? theirDb : ourDb, 10 + i);
          double hcc = oursFirst ? second : first;
          double mezzanine = oursFirst ? first : second;
          ratios[i] = mezzanine / hcc;
          System.out.printf("%5d %12.0f %18.0f  %.3f%n", i + 1, hcc, mezzanine, ratios[i]);
        }
        Arrays.sort(ratios);
        System.out.printf(
            "mezzanine over hcc: %.3f (%.3f-%.3f)%n", ratios[rounds / 2], ratios[0], ratios[rounds - 1]);
        long misses = ours.statistics().get("scm.miss");
        System.out.println("misses of both tiers since the start: " + misses);
      }
    }
  }

  private static Options options() {
    return new Options()
        .setCreateIfMissing(true)
        .setCompressionType(CompressionType.NO_COMPRESSION)
        .setTableFormatConfig(new BlockBasedTableConfig());
  }

  private static void fill(RocksDB db) throws RocksDBException {
    byte[] value = new byte[1000];
    for (int i = 0; i < KEYS; ++i) db.put(key(i), value);
    db.compactRange();
  }

  /** Reads a second. */
  private static double read(RocksDB db, long seed) throws RocksDBException {
    byte[] value = new byte[1000];
    long state = seed * 0x9E3779B97F4A7C15L + 1;
    long begin = System.nanoTime();
    for (int i = 0; i < READS; ++i) {
      state ^= state << 13;
      state ^= state >>> 7;
      state ^= state << 17;
      if (db.get(key((int) Long.remainderUnsigned(state, KEYS)), value) != value.length) {
        throw new IllegalStateException("lost");
      }
    }
    return READS / ((System.nanoTime() - begin) / 1e9);
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }
}
