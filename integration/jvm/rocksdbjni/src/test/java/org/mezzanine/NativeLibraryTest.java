// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class NativeLibraryTest {
  private static final String ROCKSDB = "7f00-7f01 r-xp 00000000 fe:00 12  ";

  private static void assertSays(String part, Executable executable) {
    String sentence = assertThrows(MezzanineException.class, executable).getMessage();
    assertTrue(sentence.contains(part), sentence);
  }

  @Test
  void anotherReleaseIsRefusedWithThoseThatWouldDo() {
    assertSays("rocksdbjni 9.7.3, which is loaded: put org.rocksdb:rocksdbjni of release 11.8.1 or 12.0.0 first",
        () -> NativeLibrary.libraryFor("9.7.3", new java.util.TreeSet<>(Set.of("12.0.0", "11.8.1"))));
  }

  @Test
  void anotherMachineIsRefused() {
    assertSays("this is Linux on aarch64", () -> NativeLibrary.checkMachine("Linux", "aarch64"));
    assertSays("this is Mac OS X", () -> NativeLibrary.checkMachine("Mac OS X", "amd64"));
    assertSays("runs on musl", () -> NativeLibrary.oneOf(List.of(ROCKSDB + "/tmp/librocksdbjni-linux64-musl1.so")));
  }

  @Test
  void theOneRocksDBIsFoundThoughItsFileIsGone() {
    assertEquals("/tmp/a b/librocksdbjni-linux64123.so", NativeLibrary.oneOf(List.of(
        "7f00-7f01 rw-p 00000000 00:00 0", ROCKSDB + "/usr/lib/libc.so.6",
        ROCKSDB + "/tmp/a b/librocksdbjni-linux64123.so (deleted)",
        ROCKSDB + "/tmp/a b/librocksdbjni-linux64123.so (deleted)")));
    assertSays("not loaded", () -> NativeLibrary.oneOf(List.of(ROCKSDB + "/tmp/librocksdb.so.11")));
  }

  @Test
  void twoRocksDBsAreRefused() {
    assertSays("/tmp/1/librocksdbjni.so and /tmp/2/librocksdbjni.so", () -> NativeLibrary.oneOf(List.of(
        ROCKSDB + "/tmp/1/librocksdbjni.so", ROCKSDB + "/tmp/2/librocksdbjni.so")));
  }

  @Test
  void thePathTakesThePlaceholdersPlace() {
    byte[] library = new byte[1030];
    Arrays.fill(library, 3, 1026, (byte) '@');
    NativeLibrary.bind(library, "/tmp/a.so");
    byte[] wanted = new byte[1030];
    System.arraycopy("/tmp/a.so".getBytes(), 0, wanted, 3, 9);
    assertArrayEquals(wanted, library);
    assertSays("no place", () -> NativeLibrary.bind(wanted, "/tmp/a.so"));
    assertSays("java.io.tmpdir", () -> NativeLibrary.bind(library, "/" + "a".repeat(2000)));
  }
}
