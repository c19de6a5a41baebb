// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;

/**
 * Where the stores lie.
 *
 * @param direct whether reads may pass by the page cache
 * @param readUs P50 of single reads of 4 KiB, direct ones if they may be; P99 beside it
 */
record Disk(String type, boolean direct, double readUs, double readP99Us) {
  private static final int BLOCK = 4096;
  private static final int BLOCKS = 8192;
  private static final int READS = 1000;

  static Disk probed(Path folder) throws IOException {
    Path file = folder.resolve("probe");
    byte[] block = new byte[BLOCK];
    SplittableRandom random = new SplittableRandom(1);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int i = 0; i < BLOCKS; ++i) {
        random.nextBytes(block);
        channel.write(ByteBuffer.wrap(block));
      }
      channel.force(true);
    }
    String type = Files.getFileStore(folder).type();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, ExtendedOpenOption.DIRECT)) {
      return read(type, true, channel, random);
    } catch (IOException | UnsupportedOperationException none) {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
        return read(type, false, channel, random);
      }
    } finally {
      Files.delete(file);
    }
  }

  private static Disk read(String type, boolean direct, FileChannel channel, SplittableRandom random) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(2 * BLOCK).alignedSlice(BLOCK);
    Histogram took = new Histogram(3);
    for (int i = 0; i < READS; ++i) {
      buffer.clear().limit(BLOCK);
      long begin = System.nanoTime();
      channel.read(buffer, (long) random.nextInt(BLOCKS) * BLOCK);
      took.recordValue(System.nanoTime() - begin);
    }
    return new Disk(type, direct, took.getValueAtPercentile(50) / 1e3, took.getValueAtPercentile(99) / 1e3);
  }

  String shown() {
    return String.format(Locale.ROOT, "this host's disk (%s), %s: a read of 4 KiB takes %.0f us, P99 %.0f us", type,
        direct ? "read past the page cache" : "read from memory, as direct reads are not possible here", readUs,
        readP99Us);
  }
}
