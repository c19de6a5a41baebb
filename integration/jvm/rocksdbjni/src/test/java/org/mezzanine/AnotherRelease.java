// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.LRUCache;

/** Run beside a true rocksdbjni of another release (pom.xml). */
class AnotherRelease {
  @TempDir Path folder;

  @Test
  void isRefusedAndGoesOnWithItsOwnCache() {
    for (int times = 0; times < 2; ++times) {
      assertEquals(
          "this jar has no native library for rocksdbjni 10.1.3, which is loaded: put org.rocksdb:rocksdbjni of release"
              + " 11.8.1 or 8.10.0 first on the class path",
          assertThrows(MezzanineException.class, () -> MezzanineCache.open("mezzanine://dram=4M;scm=64M@dram"))
              .getMessage());
    }
    try (LRUCache cache = new LRUCache(1 << 20)) {
      assertEquals(0, cache.getPinnedUsage());
    }
  }

  @Test
  void isToldUnderThePreloadAndGoesOnWithItsOwnCache() throws Exception {
    Preloaded program = new Preloaded(folder, "mezzanine://scm=64M@dram", false);
    assertEquals(0, program.status, program.said);
    assertTrue(program.said.contains("rocksdbjni has before 11.0"), program.said);
    assertTrue(program.said.contains("built for RocksDB 11.8.1"), program.said);
    assertTrue(program.said.contains("the program goes on with its own cache"), program.said);
    assertTrue(program.said.contains("read all as it was written"), program.said);
  }

  @Test
  void endsAStrictProgram() throws Exception {
    Preloaded program = new Preloaded(folder, "mezzanine://scm=64M@dram", true);
    assertEquals(2, program.status, program.said);
    assertTrue(program.said.contains("MEZZANINE_STRICT=1"), program.said);
  }
}
