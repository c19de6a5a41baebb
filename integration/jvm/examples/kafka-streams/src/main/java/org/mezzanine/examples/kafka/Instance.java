// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.LagInfo;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.mezzanine.MezzanineCache;
import org.mezzanine.kafka.MezzanineConfigSetter;

/**
 * One instance of the application, a process of its own: it adds each amount to the account of its key. Each line that it
 * reads is a question, and each line that it writes is the answer, in JSON.
 *
 * <p>Arguments: the file of {@link Settings}, the instance's number.
 */
final class Instance {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Settings settings;
  private final int number;
  private final KafkaStreams streams;
  private final Recorder latency = new Recorder(3);  // of nanoseconds
  private final AtomicLong restored = new AtomicLong();

  private Instance(Settings settings, int number) {
    this.settings = settings;
    this.number = number;
    StreamsBuilder builder = new StreamsBuilder();
    builder.addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(Settings.STORE), Serdes.ByteArray(),
        Serdes.ByteArray()).withCachingDisabled().withLoggingEnabled(Map.of()));
    builder.stream(Settings.TOPIC, Consumed.with(Serdes.ByteArray(), Serdes.Long())).process(Ledger::new, Settings.STORE);
    streams = new KafkaStreams(builder.build(), properties());
    streams.setGlobalStateRestoreListener(new Restores());
  }

  public static void main(String[] arguments) throws Exception {
    Instance instance = new Instance(Settings.read(Path.of(arguments[0])), Integer.parseInt(arguments[1]));
    instance.streams.start();
    instance.answer();
    Runtime.getRuntime().halt(3);  // nobody asks any more
  }

  private Properties properties() {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, Settings.APPLICATION);
    properties.put(StreamsConfig.CLIENT_ID_CONFIG, "instance-" + number);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.bootstrap());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, settings.folder().resolve("state-" + number).toString());
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, settings.threads());
    properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
    properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    // An instance that is back gets its tasks at once, and restores them: a probing rebalance is a minute away at least.
    properties.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, Long.MAX_VALUE);
    properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6000);
    properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 1000);
    properties.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 6000);
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, CacheSetter.class);
    properties.put(CacheSetter.DIRECT_READS, Boolean.toString(settings.directReads()));
    properties.put(CacheSetter.STOCK_BYTES, Long.toString(settings.stockBytes()));
    properties.put(MezzanineConfigSetter.WRITE_BUFFER_BYTES, Long.toString(settings.writeBufferBytes()));
    if (settings.cache().ours()) properties.put(MezzanineConfigSetter.URI, settings.uri(number));
    return properties;
  }

  private final class Ledger implements Processor<byte[], Long, Void, Void> {
    private KeyValueStore<byte[], byte[]> accounts;

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      accounts = context.getStateStore(Settings.STORE);
    }

    @Override
    public void process(Record<byte[], Long> amount) {
      long begin = System.nanoTime();
      byte[] account = accounts.get(amount.key());
      if (account == null) account = Account.opened(amount.key(), settings.valueBytes());
      Account.add(account, amount.value());
      accounts.put(amount.key(), account);
      latency.recordValue(System.nanoTime() - begin);
    }
  }

  private final class Restores implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long to, long records) {
      restored.addAndGet(records);
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {}
  }

  private void answer() throws IOException {
    BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String question; (question = questions.readLine()) != null;) {
      Map<String, Object> answer;
      try {
        answer = switch (question) {
          case "state" -> state();
          case "take" -> take();
          case "total" -> total();
          case "report" -> report();
          case "stop" -> stop();
          default -> throw new IllegalArgumentException(question);
        };
      } catch (RuntimeException error) {  // a store that just moves, for example: ask again
        answer = Map.of("error", error.toString());
      }
      System.out.println(JSON.writeValueAsString(answer));
      if (question.equals("stop")) System.exit(0);
    }
  }

  private Map<String, Object> state() {
    TreeSet<Integer> active = new TreeSet<>();
    TreeSet<Integer> standby = new TreeSet<>();
    for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
      thread.activeTasks().forEach(task -> active.add(task.taskId().partition()));
      thread.standbyTasks().forEach(task -> standby.add(task.taskId().partition()));
    }
    long lag = streams.allLocalStorePartitionLags().values().stream().flatMap(lags -> lags.values().stream())
        .mapToLong(LagInfo::offsetLag).sum();
    return Map.of("state", streams.state().toString(), "active", active, "standby", standby, "lag", lag, "restored",
        restored.get());
  }

  /** Since it was asked last. */
  private Map<String, Object> take() throws IOException {
    Histogram taken = latency.getIntervalHistogram();
    ByteBuffer encoded = ByteBuffer.allocate(taken.getNeededByteBufferCapacity());
    int bytes = taken.encodeIntoCompressedByteBuffer(encoded);
    return Map.of("latency", Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(encoded.array(), bytes)),
        "disk_read_bytes", diskReadBytes());
  }

  /** What this process had read from block devices since it began. */
  private static long diskReadBytes() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/io")).stream().filter(line -> line.startsWith("read_bytes: "))
        .mapToLong(line -> Long.parseLong(line.substring("read_bytes: ".length()))).sum();
  }

  /** Of the accounts of the tasks that are active here. */
  private Map<String, Object> total() {
    long keys = 0;
    long amounts = 0;
    long digest = 0;
    for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
      for (var task : thread.activeTasks()) {
        ReadOnlyKeyValueStore<byte[], byte[]> accounts = streams.store(StoreQueryParameters
            .fromNameAndType(Settings.STORE, QueryableStoreTypes.<byte[], byte[]>keyValueStore())
            .withPartition(task.taskId().partition()));
        try (KeyValueIterator<byte[], byte[]> all = accounts.all()) {
          while (all.hasNext()) {
            KeyValue<byte[], byte[]> account = all.next();
            ++keys;
            amounts += Account.count(account.value);
            digest += Account.digest(account.key, account.value);
          }
        }
      }
    }
    return Map.of("keys", keys, "amounts", amounts, "digest", digest);
  }

  private Map<String, Object> report() {
    Map<String, Object> report = new LinkedHashMap<>();
    MezzanineCache cache = settings.cache().ours() ? MezzanineConfigSetter.cache(settings.uri(number)) : null;
    report.put("report", cache == null ? null : cache.report());
    report.put("statistics", cache == null ? null : cache.statistics());
    return report;
  }

  private Map<String, Object> stop() {
    streams.close(java.time.Duration.ofSeconds(30));
    return Map.of("state", streams.state().toString());
  }
}
