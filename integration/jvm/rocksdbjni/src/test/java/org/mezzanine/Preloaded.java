// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rocksdb.RocksDB;

/** Unaware in a JVM of its own under libmezzanine_preload.so, with the rocksdbjni that the test has. */
final class Preloaded {
  private static final String LIBRARY = System.getProperty("mezzanine.preload", "");

  final Path report;
  final int status;
  final String said;

  Preloaded(Path folder, String uri, boolean strict) throws Exception {
    assumeFalse(LIBRARY.isEmpty(), "mezzanine.preload does not say where libmezzanine_preload.so lies");
    report = folder.resolve("report");
    String classes = where(Unaware.class) + File.pathSeparator + where(RocksDB.class);
    ProcessBuilder program = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Djava.io.tmpdir=" + folder, "-cp", classes, Unaware.class.getName(), folder.toString());
    program.environment().put("LD_PRELOAD", LIBRARY);
    program.environment().put("MEZZANINE_CACHE", uri);
    program.environment().put("MEZZANINE_REPORT", report.toString());
    if (strict) program.environment().put("MEZZANINE_STRICT", "1");
    Path out = folder.resolve("out");
    status = program.redirectErrorStream(true).redirectOutput(out.toFile()).start().waitFor();
    said = Files.readString(out);
  }

  private static Path where(Class<?> type) throws Exception {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  /** What the cache reported, or nothing. */
  String told() throws IOException {
    return Files.exists(report) ? Files.readString(report) : "";
  }
}
