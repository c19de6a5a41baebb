// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The way without code: libmezzanine_preload.so under an unmodified JVM, RocksJava and program. */
class PreloadTest {
  @TempDir Path folder;

  @Test
  void anUnawareProgramHasTheCache() throws Exception {
    Preloaded program = new Preloaded(folder, "mezzanine://scm=64M@" + folder.resolve("medium"), true);
    assertEquals(0, program.status, program.said);
    assertTrue(program.said.contains("read all as it was written"), program.said);
    assertTrue(program.said.contains("told of memory that is gone"), program.said);  // SIGBUS is still the JVM's
    String told = program.told();
    Matcher hits = Pattern.compile("^scm.hit: (\\d+)", Pattern.MULTILINE).matcher(told);
    assertTrue(hits.find() && Integer.parseInt(hits.group(1)) > 1000, told);
    assertTrue(told.contains("\nheirs: on, warming arrives: "), told);
    assertTrue(Pattern.compile("^scm.file_forgotten: [1-9]", Pattern.MULTILINE).matcher(told).find(), told);
  }

  @Test
  void theJvmsHandlerIsNotTaken() throws Exception {
    Preloaded program = new Preloaded(folder, "mezzanine://scm=64M@dram;bus_errors=contain", false);
    assertEquals(0, program.status, program.said);
    assertTrue(program.said.contains("SIGBUS"), program.said);
    assertTrue(program.said.contains("the program goes on with its own cache"), program.said);
    assertTrue(program.said.contains("read all as it was written"), program.said);
    assertEquals("", program.told());
  }
}
