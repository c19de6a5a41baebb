// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** A server that deploys an application, takes it away, and deploys it again, each with a class loader of its own. */
class ClassLoadersTest {
  @TempDir Path folder;

  /** What the application does. */
  public static final class Application {
    private Application() {}

    /** Leaves its cache open. */
    public static void run(String folder) throws RocksDBException {
      MezzanineCache cache = MezzanineCache.open("mezzanine://dram=4M;scm=64M@dram");
      try (Options options = new Options().setCreateIfMissing(true)) {
        cache.use(options);
        try (RocksDB db = RocksDB.open(options, folder)) {
          byte[] value = new byte[1000];
          for (int i = 0; i < 1000; ++i) db.put(("key" + i).getBytes(), value);
          db.compactRange();
          for (int i = 0; i < 1000; ++i) assertArrayEquals(value, db.get(("key" + i).getBytes()));
        }
      }
    }
  }

  private static URL whereIs(Class<?> type) {
    return type.getProtectionDomain().getCodeSource().getLocation();
  }

  /** Where RocksDB itself is: for 10.4.2 in another jar than its classes. */
  private static URL whereIsRocksDB() throws IOException {
    URL library = RocksDB.class.getResource("/librocksdbjni-linux64.so");
    return ((JarURLConnection) library.openConnection()).getJarFileURL();
  }

  private WeakReference<ClassLoader> deploy(String name) throws Exception {
    URL[] urls = {whereIs(MezzanineCache.class), whereIs(Application.class), whereIs(RocksDB.class), whereIsRocksDB(),
        whereIs(Test.class), whereIs(org.junit.platform.commons.util.StringUtils.class),
        whereIs(org.opentest4j.AssertionFailedError.class)};
    try (URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
      loader.loadClass(Application.class.getName()).getMethod("run", String.class)
          .invoke(null, folder.resolve(name).toString());
      return new WeakReference<>(loader);
    }
  }

  @Test
  void theFirstMayBeUnloadedAndTheSecondIsRefused() throws Exception {
    WeakReference<ClassLoader> first = deploy("first");
    for (int times = 0; first.get() != null && times < 100; ++times) {
      System.gc();
      Thread.yield();
    }
    assertTrue(first.get() == null, "the class loader is still there");
    // Threads of the cache go on in the library, and it needs its RocksDB.
    String maps = Files.readString(Path.of("/proc/self/maps"));
    assertTrue(maps.contains("libmezzanine_jni.so"), maps);
    assertTrue(maps.contains("librocksdbjni"), maps);

    Throwable refused = assertThrows(InvocationTargetException.class, () -> deploy("second")).getCause();
    assertTrue(refused.getMessage().startsWith("this process has several RocksDBs, "), refused.getMessage());
    assertInstanceOf(RuntimeException.class, refused);
  }
}
