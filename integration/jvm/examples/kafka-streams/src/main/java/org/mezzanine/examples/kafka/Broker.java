// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import kafka.Kafka;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;

/**
 * A broker that is its own controller (KRaft): Kafka's own tool formats its folder, and Kafka's own main runs it. It ends
 * with whoever holds its standard input.
 *
 * <p>Arguments: folder, port, controller's port.
 */
final class Broker {
  private Broker() {}

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    String port = arguments[1];
    String controller = arguments[2];
    Ending.withStandardInput();
    Path file = folder.resolve("server.properties");
    Files.write(file, List.of(
        "process.roles=broker,controller", "node.id=1",
        "controller.quorum.voters=1@127.0.0.1:" + controller,
        "listeners=PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controller,
        "controller.listener.names=CONTROLLER", "log.dirs=" + folder.resolve("log"),
        "offsets.topic.replication.factor=1", "offsets.topic.num.partitions=4",
        "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
        "transaction.state.log.num.partitions=4",
        // What a dead instance left open is ended as soon as its time is over.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
        "group.initial.rebalance.delay.ms=3000"));
    int status = StorageTool.execute(
        new String[] {"format", "--cluster-id", Uuid.randomUuid().toString(), "--config", file.toString()}, System.err);
    if (status != 0) System.exit(status);
    Kafka.main(new String[] {file.toString()});
  }
}
