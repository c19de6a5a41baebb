// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.rocksdb.LRUCache;

/** Run beside a true rocksdbjni of another release (pom.xml). */
class AnotherRelease {
  @Test
  void isRefusedAndGoesOnWithItsOwnCache() {
    for (int times = 0; times < 2; ++times) {
      assertEquals(
          "this jar has no native library for rocksdbjni 10.1.3, which is loaded: put org.rocksdb:rocksdbjni of release"
              + " 11.8.1 first on the class path",
          assertThrows(MezzanineException.class, () -> MezzanineCache.open("mezzanine://dram=4M;scm=64M;medium=dram"))
              .getMessage());
    }
    try (LRUCache cache = new LRUCache(1 << 20)) {
      assertEquals(0, cache.getPinnedUsage());
    }
  }
}
