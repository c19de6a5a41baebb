// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.TreeSet;
import org.rocksdb.RocksDB;

/**
 * Loads the native half, once, bound to the RocksDB that RocksJava has loaded.
 *
 * <p>That RocksDB lies in a library that the JVM opened for itself, under a temporary name: nobody else sees its
 * functions. Ours was linked with a placeholder for a library. Its path is written over the placeholder before ours is
 * loaded, so that the loader finds RocksDB's functions there, whatever else has functions of those names, and shows them
 * to nobody else. It also keeps that library loaded as long as ours, which is for good.
 */
final class NativeLibrary {
  private static final String FILE = "libmezzanine_jni.so";
  private static final String FOLDER = "native/linux-x86_64/";
  /** As integration/jvm/CMakeLists.txt has it. */
  private static final int PLACE_BYTES = 1023;

  private static final byte PLACE = '@';

  private static boolean loaded;

  private NativeLibrary() {}

  /** Throws what is wrong each time, until it is loaded. */
  static synchronized void load() {
    if (loaded) return;
    checkMachine(System.getProperty("os.name"), System.getProperty("os.arch"));
    RocksDB.loadLibrary();
    String release = release();
    byte[] library = libraryFor(release, releases());
    bind(library, theRocksDB());
    loadBytes(library);
    loaded = true;
  }

  static void checkMachine(String system, String processor) {
    if (system.equals("Linux") && processor.equals("amd64")) return;
    throw new MezzanineException(
        "Mezzanine's native library is for Linux on x86-64, and this is " + system + " on " + processor
            + ": use RocksDB's own cache here");
  }

  private static String release() {
    try {
      RocksDB.Version version = RocksDB.rocksdbVersion();
      return version.getMajor() + "." + version.getMinor() + "." + version.getPatch();
    } catch (LinkageError error) {
      throw new MezzanineException(
          "the rocksdbjni on the class path does not tell its release: " + wanted(releases()), error);
    }
  }

  /** Those that the jar has a library for. */
  private static Set<String> releases() {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(FOLDER + "releases")) {
      if (in == null) {
        throw new MezzanineException("this jar has no native library: tools/package jvm makes one that has");
      }
      String[] lines = new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n");
      return new LinkedHashSet<>(Arrays.asList(lines));
    } catch (IOException error) {
      throw new MezzanineException("the jar of mezzanine-rocksdbjni cannot be read: " + error, error);
    }
  }

  private static String wanted(Set<String> releases) {
    return "put org.rocksdb:rocksdbjni of release " + String.join(" or ", releases) + " first on the class path";
  }

  static byte[] libraryFor(String release, Set<String> releases) {
    if (!releases.contains(release)) {
      throw new MezzanineException(
          "this jar has no native library for rocksdbjni " + release + ", which is loaded: " + wanted(releases));
    }
    try (InputStream in = NativeLibrary.class.getResourceAsStream(FOLDER + release + "/" + FILE)) {
      return in.readAllBytes();
    } catch (IOException error) {
      throw new MezzanineException("the jar of mezzanine-rocksdbjni cannot be read: " + error, error);
    }
  }

  /** The path of the one rocksdbjni in this process. */
  private static String theRocksDB() {
    try {
      return oneOf(Files.readAllLines(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1));
    } catch (IOException error) {
      throw new MezzanineException(
          "/proc/self/maps, which tells where RocksDB is loaded, cannot be read: " + error, error);
    }
  }

  static String oneOf(Iterable<String> maps) {
    Set<String> found = new TreeSet<>();
    for (String line : maps) {
      int slash = line.indexOf('/');
      if (slash < 0) continue;
      String path = line.substring(slash);
      if (path.endsWith(" (deleted)")) path = path.substring(0, path.length() - " (deleted)".length());
      String file = path.substring(path.lastIndexOf('/') + 1);
      if (file.startsWith("librocksdbjni") && file.contains(".so")) found.add(path);
    }
    if (found.isEmpty()) {
      throw new MezzanineException("RocksJava's librocksdbjni*.so is not loaded in this process under that name");
    }
    if (found.size() > 1) {
      throw new MezzanineException(
          "this process has several RocksDBs, " + String.join(" and ", found)
              + ", and a cache must not be given to another: load org.rocksdb by one class loader");
    }
    String path = found.iterator().next();
    if (path.substring(path.lastIndexOf('/')).contains("musl")) {
      throw new MezzanineException("Mezzanine's native library needs the GNU C library, and this JVM runs on musl");
    }
    return path;
  }

  /** Writes `path` over the placeholder. */
  static void bind(byte[] library, String path) {
    byte[] name = path.getBytes(StandardCharsets.ISO_8859_1);
    if (name.length > PLACE_BYTES) {
      throw new MezzanineException(
          "RocksDB is loaded from a path of " + name.length + " bytes, and at most " + PLACE_BYTES
              + " are possible: set java.io.tmpdir to a shorter one");
    }
    int place = place(library);
    Arrays.fill(library, place, place + PLACE_BYTES, (byte) 0);
    System.arraycopy(name, 0, library, place, name.length);
  }

  private static int place(byte[] library) {
    int run = 0;
    for (int i = 0; i < library.length; ++i) {
      run = library[i] == PLACE ? run + 1 : 0;
      if (run == PLACE_BYTES) return i + 1 - PLACE_BYTES;
    }
    throw new MezzanineException(FILE + " in the jar has no place for RocksDB's path: tools/package jvm makes one");
  }

  /** By a file that only this user may write, and that is gone when it is loaded. */
  private static void loadBytes(byte[] library) {
    try {
      Path folder = Files.createTempDirectory("mezzanine");
      Path file = folder.resolve(FILE);
      try {
        Files.write(file, library);
        System.load(file.toString());
      } finally {
        Files.deleteIfExists(file);
        Files.deleteIfExists(folder);
      }
    } catch (IOException error) {
      throw new MezzanineException(
          "the native library cannot be written below java.io.tmpdir=" + System.getProperty("java.io.tmpdir") + ": "
              + error, error);
    } catch (UnsatisfiedLinkError error) {
      throw new MezzanineException(
          "the native library cannot be loaded (" + error.getMessage() + "): it needs libpmem2, libnuma, liblz4, libzstd"
              + " and libsodium, and a java.io.tmpdir that is not mounted noexec", error);
    }
  }
}
