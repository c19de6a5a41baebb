// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;

/**
 * A block cache of two tiers for RocksJava: a little DRAM for the hot blocks, and more memory behind it for the others.
 *
 * <pre>{@code
 * MezzanineCache cache = MezzanineCache.open("mezzanine://dram=256M;scm=1G@/dev/shm/mezz");
 * options.setTableFormatConfig(new BlockBasedTableConfig());
 * cache.use(options);  // that is all: open the database as ever
 * }</pre>
 *
 * <p>One cache may serve many databases and column families. The rules for closing it are RocksJava's: the application
 * closes it, at any time and as often as it likes. Databases that have it keep it until they are closed; its medium is
 * closed with the last of them. A cache that is never closed is found again as after a kill, if its medium outlives the
 * process. A closed cache that is given to a table config is none: RocksDB then makes its default cache.
 *
 * <p>Thread-safe. Errors are {@link MezzanineException}s; using a closed cache is one.
 */
public final class MezzanineCache extends Cache {
  private final Object lock = new Object();  // what is called is not closed meanwhile

  private MezzanineCache(long handle) {
    super(handle);
  }

  /**
   * Opens the cache that the URI tells of. Its keys are in docs/reference/options.md. bus_errors=contain is refused:
   * SIGBUS is the JVM's.
   */
  public static MezzanineCache open(String uri) {
    NativeLibrary.load();
    long[] handle = {0};
    check(Native.open(bytes("the URI", uri), handle));
    return new MezzanineCache(handle[0]);
  }

  public static Builder builder() {
    return new Builder();
  }

  /**
   * Prepares options for this cache: their tables get it as block cache, RocksDB is told to warm it with what it
   * writes, and it learns of deleted files. Call it after setTableFormatConfig, which would undo it.
   */
  public void use(Options options) {
    synchronized (lock) {
      checkOpen();
      check(Native.use(nativeHandle_, options.getNativeHandle()));
    }
  }

  /** The same for a database with column families. */
  public void use(DBOptions database, List<ColumnFamilyOptions> families) {
    long[] handles = families.stream().mapToLong(ColumnFamilyOptions::getNativeHandle).toArray();
    synchronized (lock) {
      checkOpen();
      check(Native.useFor(nativeHandle_, database.getNativeHandle(), handles));
    }
  }

  /** Text to be read by people: options, medium, sizes, what was decided. */
  public String report() {
    synchronized (lock) {
      checkOpen();
      return text(Native.report(nativeHandle_));
    }
  }

  /** Every counter by its name, such as "scm.hit": all that ever happened. */
  public Map<String, Long> statistics() {
    String text;
    synchronized (lock) {
      checkOpen();
      text = text(Native.statistics(nativeHandle_));
    }
    Map<String, Long> statistics = new LinkedHashMap<>();
    text.lines().forEach(line -> {
      int colon = line.indexOf(": ");
      statistics.put(line.substring(0, colon), Long.parseUnsignedLong(line.substring(colon + 2)));
    });
    return statistics;
  }

  @Override
  public long getUsage() {
    synchronized (lock) {
      checkOpen();
      return Native.usage(nativeHandle_);
    }
  }

  @Override
  public long getPinnedUsage() {
    synchronized (lock) {
      checkOpen();
      return Native.pinnedUsage(nativeHandle_);
    }
  }

  /** The size of the DRAM tier. */
  public long getDramBytes() {
    synchronized (lock) {
      checkOpen();
      return Native.dramBytes(nativeHandle_);
    }
  }

  public void setDramBytes(long bytes) {
    checkSize("the DRAM tier", bytes);
    synchronized (lock) {
      checkOpen();
      check(Native.setDramBytes(nativeHandle_, bytes));
    }
  }

  /** How much of the medium is used. */
  public long getScmBytes() {
    synchronized (lock) {
      checkOpen();
      return Native.scmBytes(nativeHandle_);
    }
  }

  /** At most what the cache was opened with. */
  public void setScmBytes(long bytes) {
    checkSize("the SCM tier", bytes);
    synchronized (lock) {
      checkOpen();
      check(Native.setScmBytes(nativeHandle_, bytes));
    }
  }

  public String getPolicy() {
    synchronized (lock) {
      checkOpen();
      return text(Native.policy(nativeHandle_));
    }
  }

  /** Another policy from now on, under any load. */
  public void setPolicy(String name) {
    byte[] policy = bytes("the policy", name);
    synchronized (lock) {
      checkOpen();
      check(Native.setPolicy(nativeHandle_, policy));
    }
  }

  @Override
  protected void disposeInternal(long handle) {
    synchronized (lock) {
      Native.close(handle);
    }
  }

  private void checkOpen() {
    if (!isOwningHandle()) throw new MezzanineException("this MezzanineCache is closed");
  }

  private static void check(byte[] error) {
    if (error != null) throw new MezzanineException(text(error));
  }

  private static void checkSize(String what, long bytes) {
    if (bytes < 0) throw new MezzanineException(what + " of " + bytes + " bytes: a size is not negative");
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static byte[] bytes(String what, String text) {
    if (text == null) throw new MezzanineException(what + " is null");
    try {
      ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] bytes = new byte[encoded.remaining()];
      encoded.get(bytes);
      return bytes;
    } catch (CharacterCodingException error) {
      throw new MezzanineException(what + " has half of a surrogate pair in it, which is no text", error);
    }
  }

  /** Spells the URI: each key once, its value as docs/reference/options.md has it. */
  public static final class Builder {
    private final Map<String, String> options = new LinkedHashMap<>();
    private String place;

    private Builder() {}

    public Builder dramBytes(long bytes) {
      checkSize("dram", bytes);
      return option("dram", Long.toString(bytes));
    }

    /** All of the DRAM that the cache may take, its own structures included; instead of {@link #dramBytes}. */
    public Builder dramTotalBytes(long bytes) {
      checkSize("dram_total", bytes);
      return option("dram_total", Long.toString(bytes));
    }

    public Builder scmBytes(long bytes) {
      checkSize("scm", bytes);
      return option("scm", Long.toString(bytes));
    }

    /** Where the SCM tier lies: a file in /dev/shm or on persistent memory, "numa:N", or "dram". */
    public Builder scmPath(String place) {
      checkOption("scm", place);
      this.place = place;
      return this;
    }

    public Builder policy(String name) {
      return option("policy", name);
    }

    /** Any key of the URI. */
    public Builder option(String key, String value) {
      checkOption(key, value);
      options.put(key, value);
      return this;
    }

    private static void checkOption(String key, String value) {
      if (key == null || value == null) throw new MezzanineException("the cache's " + key + " is " + value);
      if ((key + value).indexOf(';') >= 0) {
        throw new MezzanineException("a semicolon parts the keys, so it can be in none: " + key + "=" + value);
      }
    }

    public String uri() {
      return options.entrySet().stream()
          .map(option -> option.getKey() + "=" + option.getValue()
              + (option.getKey().equals("scm") && place != null ? "@" + place : ""))
          .collect(Collectors.joining(";", "mezzanine://", ""));
    }

    public MezzanineCache build() {
      return MezzanineCache.open(uri());
    }
  }
}
