// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A JVM of ours with this one's class path. It ends with this one. */
final class Child implements AutoCloseable {
  private static final Set<Child> ALL = ConcurrentHashMap.newKeySet();
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int ANSWER_SECONDS_MAX = 120;
  private static final int LINES_SHOWN_MAX = 30;

  private final String name;
  private final Path log;
  private final Process process;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

  /** `folder` takes what it says and its temporary files. */
  Child(String name, Path folder, int heapMiB, Class<?> main, String... arguments) throws IOException {
    this.name = name;
    log = folder.resolve(name + ".log");
    List<String> command = new ArrayList<>(List.of(
        ProcessHandle.current().info().command().orElse("java"), "-cp", System.getProperty("java.class.path"),
        "-Xmx" + heapMiB + "m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4", "-Djava.io.tmpdir=" + folder,
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", main.getName()));
    command.addAll(List.of(arguments));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
    ALL.add(this);
    Ending.daemon(this::hear);
  }

  private void hear() {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null;) {
        if (line.startsWith("{")) answers.add(line);
      }
    } catch (IOException gone) {
      // it has ended
    }
  }

  /** The answer of an {@link Instance}. */
  JsonNode ask(String question) throws IOException, InterruptedException {
    try {
      OutputStream questions = process.getOutputStream();
      questions.write((question + "\n").getBytes(StandardCharsets.UTF_8));
      questions.flush();
    } catch (IOException gone) {
      throw failure("has ended");
    }
    for (int waited = 0; waited < ANSWER_SECONDS_MAX; ++waited) {
      String answer = answers.poll(1, TimeUnit.SECONDS);
      if (answer != null) return JSON.readTree(answer);
      if (!process.isAlive() && answers.isEmpty()) throw failure("has ended");
    }
    throw failure("does not answer \"" + question + "\" in " + ANSWER_SECONDS_MAX + " seconds");
  }

  void checkAlive() {
    if (!process.isAlive()) throw failure("has ended");
  }

  /** With the last lines that it said. */
  Failure failure(String what) {
    StringBuilder sentence = new StringBuilder(name + " " + what + "; the end of what it said:");
    try {
      List<String> lines = Files.readAllLines(log, StandardCharsets.ISO_8859_1);
      lines.subList(Math.max(0, lines.size() - LINES_SHOWN_MAX), lines.size())
          .forEach(line -> sentence.append("\n  ").append(line));
    } catch (IOException error) {
      sentence.append(" ").append(error);
    }
    return new Failure(sentence.toString());
  }

  /** SIGKILL. */
  void kill() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
    ALL.remove(this);
  }

  void awaitEnd() throws InterruptedException {
    if (!process.waitFor(60, TimeUnit.SECONDS)) throw failure("does not end");
    ALL.remove(this);
  }

  @Override
  public void close() {
    kill();
  }

  static void killAll() {
    ALL.forEach(Child::kill);
  }
}
