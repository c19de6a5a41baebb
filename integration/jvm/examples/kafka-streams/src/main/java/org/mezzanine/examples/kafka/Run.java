// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.LongSerializer;

/**
 * One cache, from an empty broker to its end: accounts are opened, read and written; one instance of the two is killed
 * while amounts come in, its tasks move to the other, and it is started again.
 */
final class Run implements AutoCloseable {
  private static final int WAIT_MS = 50;
  private static final int RESTART_SECONDS_MAX = 120;

  private final Flags flags;
  private final Settings settings;
  private final Path file;
  private final Traffic traffic;
  private final Child broker;
  private final Child[] instances = new Child[2];
  private Admin admin;
  private KafkaProducer<byte[], Long> producer;
  private final Map<String, Object> result = new LinkedHashMap<>();

  Run(Flags flags, Settings.Cache cache, boolean direct, Path folder, Path medium) throws IOException {
    this.flags = flags;
    Files.createDirectories(folder);
    int[] ports = freePorts();
    settings = flags.settings(cache, "127.0.0.1:" + ports[0], direct, folder, medium);
    file = folder.resolve("settings");
    settings.write(file);
    traffic = new Traffic(settings, flags.skew(), flags.seed());
    broker = new Child("broker", folder, 512, Broker.class, folder.toString(), Integer.toString(ports[0]),
        Integer.toString(ports[1]));
    result.put("cache", cache.shown());
    if (cache.ours()) {
      result.put("uri", settings.uri(1).replace(medium.toString(), "MEDIUM"));
    } else {
      result.put("bytes", settings.stockBytes());
    }
  }

  /** Two that are free now, and different. */
  private static int[] freePorts() throws IOException {
    try (ServerSocket first = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ServerSocket second = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return new int[] {first.getLocalPort(), second.getLocalPort()};
    }
  }

  Map<String, Object> run() throws Exception {
    connect(Integer.parseInt(settings.bootstrap().split(":")[1]));
    start(0);
    start(1);
    awaitBalance("the tasks are not shared by both instances");
    phase("open", () -> traffic.open(this::send));
    phase("warm", () -> traffic.draw(flags.warmup(), this::send));
    phase("steady", () -> traffic.draw(flags.updates(), this::send));
    result.put("reports", List.of(Example.plain(instances[0].ask("report")), Example.plain(instances[1].ask("report"))));
    awaitLag();
    killOne();
    restartIt();
    phase("after", () -> traffic.draw(flags.updates(), this::send));
    awaitLag();
    result.put("total", total());
    restarts();
    for (Child instance : instances) {
      instance.ask("stop");
      instance.awaitEnd();
    }
    return result;
  }

  private void connect(int port) throws Exception {
    await("the broker does not listen", () -> {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        return socket.isConnected();
      } catch (IOException notYet) {
        return false;
      }
    });
    admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, settings.bootstrap()));
    producer = new KafkaProducer<>(Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, settings.bootstrap(),
        ProducerConfig.LINGER_MS_CONFIG, 20, ProducerConfig.BATCH_SIZE_CONFIG, 64 << 10), new ByteArraySerializer(),
        new LongSerializer());
    admin.createTopics(List.of(new NewTopic(Settings.TOPIC, settings.partitions(), (short) 1))).all().get();
  }

  private void start(int at) throws IOException {
    instances[at] =
        new Child("instance-" + (at + 1), settings.folder(), 384, Instance.class, file.toString(), Integer.toString(at + 1));
  }

  private void send(byte[] key, long amount) {
    producer.send(new ProducerRecord<>(Settings.TOPIC, key, amount));
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  /** Seconds until it holds. */
  private double await(String otherwise, Condition condition) throws Exception {
    long begin = System.nanoTime();
    while (true) {
      if (condition.holds()) return (System.nanoTime() - begin) / 1e9;
      if (System.nanoTime() - begin > flags.limitSeconds() * 1_000_000_000L) {
        throw instances[0] == null ? broker.failure(": " + otherwise + " within " + flags.limitSeconds() + " seconds")
            : instances[0].failure(": " + otherwise + " within " + flags.limitSeconds() + " seconds");
      }
      broker.checkAlive();
      Thread.sleep(WAIT_MS);
    }
  }

  /** Amounts whose effect is committed. */
  private long committed() throws Exception {
    return admin.listConsumerGroupOffsets(Settings.APPLICATION).partitionsToOffsetAndMetadata().get().values().stream()
        .filter(offset -> offset != null).mapToLong(OffsetAndMetadata::offset).sum();
  }

  private boolean allCommitted() throws Exception {
    return committed() == traffic.records();
  }

  private boolean hasTasks(int at, int active) throws Exception {
    JsonNode state = instances[at].ask("state");
    return state.path("state").asText().equals("RUNNING") && state.path("active").size() == active;
  }

  private double awaitBalance(String otherwise) throws Exception {
    return await(otherwise,
        () -> hasTasks(0, settings.partitions() / 2) && hasTasks(1, settings.partitions() - settings.partitions() / 2));
  }

  /** Until each copy has all, but for the marker at the end of the last transaction, which no copy takes. */
  private double awaitLag() throws Exception {
    return await("the standby replicas do not follow", () -> {
      for (Child instance : instances) {
        if (instance.ask("state").path("lag").asLong(Long.MAX_VALUE) > settings.partitions()) return false;
      }
      return true;
    });
  }

  /** What was measured since the last time. */
  private record Taken(Histogram latency, long diskReadBytes) {}

  private Taken take(Child... from) throws IOException, InterruptedException, DataFormatException {
    Histogram latency = new Histogram(3);
    long bytes = 0;
    for (Child instance : from) {
      JsonNode taken = instance.ask("take");
      latency.add(Histogram.decodeFromCompressedByteBuffer(
          ByteBuffer.wrap(Base64.getDecoder().decode(taken.path("latency").asText())), 0));
      bytes += taken.path("disk_read_bytes").asLong();
    }
    return new Taken(latency, bytes);
  }

  private void phase(String name, Runnable sending) throws Exception {
    long before = traffic.records();
    long bytesBefore = take(instances).diskReadBytes();
    long begin = System.nanoTime();
    sending.run();
    producer.flush();
    double sent = (System.nanoTime() - begin) / 1e9;
    await(name + ": the amounts are not worked off", this::allCommitted);
    double seconds = (System.nanoTime() - begin) / 1e9;
    Taken taken = take(instances);
    long records = traffic.records() - before;
    Map<String, Object> phase = new LinkedHashMap<>();
    phase.put("records", records);
    phase.put("seconds", seconds);
    phase.put("sent_seconds", sent);
    phase.put("records_per_s", records / seconds);
    for (double percent : new double[] {50, 95, 99}) {
      phase.put("p" + (int) percent + "_us", taken.latency.getValueAtPercentile(percent) / 1e3);
    }
    phase.put("disk_read_bytes_per_record", (double) (taken.diskReadBytes - bytesBefore) / records);
    result.put(name, phase);
    System.out.println("  " + settings.cache().shown() + ", " + name + ": " + records + " records, " + Math.round(records / seconds)
        + " a second");
  }

  /** SIGKILL for the second, in the midst of its work. */
  private void killOne() throws Exception {
    long before = traffic.records();
    traffic.draw(flags.updates(), this::send);
    producer.flush();
    await("the amounts before the kill are not worked off", () -> committed() > before + flags.updates() / 4);
    instances[1].kill();
    Map<String, Object> killed = new LinkedHashMap<>();
    long begin = System.nanoTime();
    killed.put("left", traffic.records() - committed());
    await("the tasks of the killed instance do not move", () -> hasTasks(0, settings.partitions()));
    killed.put("moved_seconds", (System.nanoTime() - begin) / 1e9);
    await("the amounts of the killed instance are not worked off", this::allCommitted);
    killed.put("done_seconds", (System.nanoTime() - begin) / 1e9);
    result.put("killed", killed);
  }

  /** Where the restarts of a pair have a medium to lose, the one with it and the one without take turns at the first place. */
  private void restarts() throws Exception {
    List<Map<String, Object>> all = new ArrayList<>();
    result.put("restarts", all);
    for (int pair = 0; pair < flags.closes() + flags.kills(); ++pair) {
      boolean killed = pair >= flags.closes();
      if (!settings.cache().ours()) {
        all.add(restart(killed, "none"));
        continue;
      }
      for (int turn = 0; turn < 2; ++turn) all.add(restart(killed, (pair + turn) % 2 == 0 ? "kept" : "removed"));
    }
    if (all.isEmpty()) return;
    await("the amounts after the restarts are not worked off", this::allCommitted);
    awaitLag();
    total();  // how many they were depends on the machine
  }

  /** Of the second instance. It ends with nothing left to do, and comes back to a topic that is never empty. */
  private Map<String, Object> restart(boolean killed, String medium) throws Exception {
    work(flags.warmup());
    take(instances[1]);
    double seconds = work(flags.updates());
    Restart restart = new Restart(killed, medium, take(instances[1]).latency.getTotalCount() / seconds);
    producer.flush();
    await("the amounts before a restart are not worked off", this::allCommitted);
    awaitLag();
    if (killed) {
      instances[1].kill();
    } else {
      instances[1].ask("stop");
      instances[1].awaitEnd();
    }
    await("the tasks of the instance that ended do not move", () -> hasTasks(0, settings.partitions()));
    if (medium.equals("removed")) removeMedium();
    long begin = System.nanoTime();
    load();
    start(1);
    while (!restart.isOver() && seconds(begin) < RESTART_SECONDS_MAX) {
      Taken taken = take(instances[1]);
      restart.sample(seconds(begin), taken.latency, taken.diskReadBytes);
      if (!restart.isActive() && hasTasks(1, settings.partitions() - settings.partitions() / 2)) {
        restart.active(seconds(begin), instances[1].ask("state"));
      }
      load();
      Thread.sleep(2 * WAIT_MS);
    }
    Map<String, Object> restarted = restart.result(instances[1].ask("report"));
    System.out.println("  " + Report.restart(settings.cache().shown(), restarted));
    awaitBalance("the instance that was started again does not get its tasks back");
    producer.flush();
    return restarted;
  }

  private static double seconds(long since) {
    return (System.nanoTime() - since) / 1e9;
  }

  /** The topic has as many amounts that are not worked off as a measured part has. */
  private void load() throws Exception {
    traffic.draw(Math.max(0, flags.updates() - (traffic.records() - committed())), this::send);
  }

  /** Seconds until so many amounts are worked off, behind which there are always others. */
  private double work(long amounts) throws Exception {
    load();
    long end = committed() + amounts;
    return await("the amounts are not worked off", () -> {
      load();
      return committed() >= end;
    });
  }

  private void removeMedium() throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(settings.medium(), settings.cache().shown() + "-2*")) {
      for (Path file : files) Files.delete(file);
    }
  }

  private void restartIt() throws Exception {
    long begin = System.nanoTime();
    start(1);
    awaitBalance("the instance that was killed does not get its tasks back");
    Map<String, Object> restarted = new LinkedHashMap<>();
    restarted.put("active_seconds", (System.nanoTime() - begin) / 1e9);
    awaitLag();
    restarted.put("seconds", (System.nanoTime() - begin) / 1e9);
    restarted.put("restored_records", instances[1].ask("state").path("restored").asLong());
    result.put("restarted", restarted);
  }

  /** Of all accounts: as they were read from the stores, and as they must be. */
  private Map<String, Object> total() throws Exception {
    long keys = 0;
    long amounts = 0;
    long digest = 0;
    for (Child instance : instances) {
      JsonNode total = instance.ask("total");
      if (total.has("error")) throw instance.failure("cannot read its accounts: " + total.path("error").asText());
      keys += total.path("keys").asLong();
      amounts += total.path("amounts").asLong();
      digest += total.path("digest").asLong();
    }
    Map<String, Object> total = new LinkedHashMap<>();
    total.put("keys", keys);
    total.put("amounts", amounts);
    total.put("digest", Long.toHexString(digest));
    total.put("right", keys == settings.keys() && amounts == traffic.records() && digest == traffic.digest());
    if (!(Boolean) total.get("right")) {
      throw new Failure(settings.cache().shown() + ": " + keys + " accounts with " + amounts + " amounts, and it should be "
          + settings.keys() + " with " + traffic.records() + "; digest " + Long.toHexString(digest) + ", should be "
          + Long.toHexString(traffic.digest()));
    }
    return total;
  }

  @Override
  public void close() {
    if (producer != null) producer.close(Duration.ZERO);
    if (admin != null) admin.close(Duration.ZERO);
    List<Child> children = new ArrayList<>(List.of(broker));
    for (Child instance : instances) {
      if (instance != null) children.add(instance);
    }
    children.forEach(Child::close);
  }
}
