// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Kafka with Kafka Streams on three processes of one host, once with each cache. Ends with 0 if the results of all are
 * those that were to come, and equal.
 */
public final class Example {
  private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private Example() {}

  public static void main(String[] arguments) {
    int status = 1;
    try {
      if (arguments.length == 1 && (arguments[0].equals("--help") || arguments[0].equals("-h"))) {
        System.out.print(Flags.USAGE);
        status = 0;
      } else {
        run(new Flags(arguments));
        status = 0;
      }
    } catch (Failure failure) {
      System.err.println("kafka-streams: " + failure.getMessage());
    } catch (Exception error) {
      error.printStackTrace();
    }
    System.exit(status);
  }

  private static void run(Flags flags) throws Exception {
    Path folder = made(flags, "folder", 8 * flags.keys() * flags.valueBytes());
    Path medium = made(flags, "medium", 2 * flags.scmBytes());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      Child.killAll();
      remove(folder);
      remove(medium);
    }));
    Ending.withParent();
    Disk disk = Disk.probed(folder);
    Map<String, Object> head = head(flags, disk, Files.getFileStore(medium).type());
    Report.head(head);
    List<Map<String, Object>> runs = new ArrayList<>();
    for (int round = 1; round <= flags.rounds(); ++round) {
      for (Settings.Cache cache : flags.caches()) {
        Path its = folder.resolve(cache.shown() + round);
        System.out.println("round " + round + " of " + flags.rounds() + ", " + cache.shown());
        try (Run run = new Run(flags, cache, disk.direct(), its, medium)) {
          Map<String, Object> result = run.run();
          result.put("round", round);
          runs.add(result);
        }
        keep(flags, head, runs);
        remove(its);
      }
    }
    Report.table(runs);
    if (!Report.equal(runs)) throw new Failure("the results differ");
  }

  /** What there is so far. */
  private static void keep(Flags flags, Map<String, Object> head, List<Map<String, Object>> runs) throws IOException {
    head.put("equal", Report.equal(runs));
    head.put("runs", runs);
    if (!flags.text("json").isEmpty()) JSON.writeValue(Path.of(flags.text("json")).toFile(), head);
  }

  private static Path made(Flags flags, String name, long bytes) throws IOException {
    Path parent = Path.of(flags.text(name));
    if (!Files.isWritable(parent)) {
      throw new Failure("--" + name + "=" + parent + ": this is no folder to write to; name another");
    }
    long free = Files.getFileStore(parent).getUsableSpace();
    if (free < bytes) {
      throw new Failure("--" + name + "=" + parent + ": " + (bytes >> 20) + " MiB are needed and " + (free >> 20)
          + " are free; name another, or make --state and --scm smaller");
    }
    Path folder = Files.createTempDirectory(parent, "mezzanine-kafka").toRealPath();
    String told = System.getProperty("example.folders");
    if (told != null) Files.writeString(Path.of(told), folder + "\n", StandardOpenOption.APPEND);
    return folder;
  }

  private static Map<String, Object> head(Flags flags, Disk disk, String mediumType) throws IOException {
    Map<String, Object> head = new LinkedHashMap<>();
    head.put("question", "what does the cache give to Kafka Streams on several processes?");
    head.put("date", LocalDate.now(ZoneOffset.UTC).toString());
    head.put("commit", flags.text("commit"));
    head.put("kafka", AppInfoParser.getVersion());
    head.put("rocksdb", Path.of(jar(org.rocksdb.RocksDB.class)).getFileName().toString());
    head.put("java", System.getProperty("java.version"));
    head.put("processor", Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
        .filter(line -> line.startsWith("model name")).map(line -> line.substring(line.indexOf(": ") + 2)).findFirst()
        .orElse("unknown"));
    head.put("processors", Runtime.getRuntime().availableProcessors());
    head.put("flash", disk.shown());
    head.put("scm_medium", "files on " + mediumType + ", which stand for SCM");
    head.put("emulated", true);
    head.put("options", flags.shown());
    return head;
  }

  private static String jar(Class<?> of) {
    return of.getProtectionDomain().getCodeSource().getLocation().getPath();
  }

  /** As JSON writes it again. */
  static Object plain(JsonNode node) {
    return JSON.convertValue(node, Object.class);
  }

  private static void remove(Path folder) {
    try {
      Files.walkFileTree(folder, new SimpleFileVisitor<>() {
        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
          Files.deleteIfExists(file);
          return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException gone) {
          return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult postVisitDirectory(Path visited, IOException error) throws IOException {
          Files.deleteIfExists(visited);
          return FileVisitResult.CONTINUE;
        }
      });
    } catch (IOException error) {
      System.err.println("kafka-streams: " + folder + " cannot be removed: " + error);
    }
  }
}
