// SPDX-License-Identifier: Apache-2.0
// java -cp mezzanine-rocksdbjni-0.1.0.jar:rocksdbjni-11.8.1.jar CacheExample.java FOLDER

import java.util.Arrays;
import org.mezzanine.MezzanineCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

public final class CacheExample {
  private CacheExample() {}

  public static void main(String[] arguments) throws RocksDBException {
    byte[] value = new byte[1000];
    try (MezzanineCache cache = MezzanineCache.open("mezzanine://dram=4M;scm=64M@dram");
        Options options = new Options().setCreateIfMissing(true)) {
      cache.use(options);
      try (RocksDB db = RocksDB.open(options, arguments[0])) {
        for (int i = 0; i < 40000; ++i) db.put(key(i), value);
        db.compactRange();
        for (int i = 0; i < 80000; ++i) {
          if (!Arrays.equals(value, db.get(key((int) (i * 7919L % 40000))))) throw new IllegalStateException("lost");
        }
        System.out.println(cache.report());
      }
    }
  }

  private static byte[] key(int i) {
    return String.format("key%08d", i).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
  }
}
