// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * An instance that was started again, watched until it takes as many records a second as before. All times are seconds
 * since its process was begun, and each is absent if it did not come.
 */
final class Restart {
  /** Of the rate before: what the machine's noise leaves of it now and then, too. */
  private static final double ENOUGH = 0.9;
  private static final double WINDOW_SECONDS = 1;
  /** Of work, from the first record on. */
  private static final double FIRST_SECONDS = 10;

  /** Since the process began; `storeUs` is what reading and writing the accounts took. */
  private record Sample(double at, long records, double storeUs, long diskReadBytes) {}

  private final double before;
  private final Map<String, Object> result = new LinkedHashMap<>();
  private final List<Sample> samples = new ArrayList<>();
  private int oldest;  // of the window
  private Sample last = new Sample(0, 0, 0, 0);

  /** `before` is the rate before, of this instance alone. */
  Restart(boolean killed, String medium, double before) {
    this.before = before;
    result.put("ended", killed ? "killed" : "closed");
    result.put("medium", medium);
    result.put("before_records_per_s", before);
  }

  boolean isActive() {
    return result.containsKey("active_seconds");
  }

  /** RUNNING with all its tasks, which are restored then. */
  void active(double at, JsonNode state) {
    result.put("active_seconds", at);
    result.put("restored_records", state.path("restored").asLong());
  }

  /** What it took since the last sample, and what it has read since it began. */
  void sample(double at, Histogram latency, long diskReadBytes) {
    result.putIfAbsent("up_seconds", at);
    long records = latency.getTotalCount();
    last = new Sample(at, last.records + records, last.storeUs + latency.getMean() * records / 1e3, diskReadBytes);
    samples.add(last);
    if (last.records > 0) result.putIfAbsent("first_record_seconds", at);
    while (at - samples.get(oldest + 1 < samples.size() ? oldest + 1 : oldest).at >= WINDOW_SECONDS) ++oldest;
    double window = at - samples.get(oldest).at;
    if (window >= WINDOW_SECONDS && last.records - samples.get(oldest).records >= ENOUGH * before * window) {
      result.putIfAbsent("rate_seconds", at);
      result.putIfAbsent("rate_after_first_record_seconds", at - (double) result.get("first_record_seconds"));
    }
  }

  /** The rate of before is there, and the first seconds of work are over. */
  boolean isOver() {
    return isActive() && result.containsKey("rate_seconds")
        && last.at - (double) result.get("first_record_seconds") >= FIRST_SECONDS;
  }

  /** `answer` is the instance's to "report". */
  Map<String, Object> result(JsonNode answer) {
    Object first = result.get("first_record_seconds");
    if (first != null) {
      Sample begin = samples.stream().filter(each -> each.at >= (double) first).findFirst().orElseThrow();
      Sample end = samples.stream().filter(each -> each.at >= begin.at + FIRST_SECONDS).findFirst().orElse(last);
      double records = Math.max(1, end.records - begin.records);
      result.put("first_over_before", records / (end.at - begin.at) / before);
      result.put("first_store_us_per_record", (end.storeUs - begin.storeUs) / records);
      result.put("first_disk_read_bytes_per_record", (end.diskReadBytes - begin.diskReadBytes) / records);
    }
    for (String name : List.of("dram.hit", "scm.hit", "miss")) {
      if (answer.path("statistics").has(name)) result.put(name, answer.path("statistics").path(name).asLong());
    }
    answer.path("report").asText().lines().filter(line -> line.startsWith("recovery."))
        .forEach(line -> result.put(line.split(": ")[0], line.split(": ")[1]));
    result.put("timeline", samples.stream().map(each -> List.of(each.at, each.records, each.diskReadBytes)).toList());
    return result;
  }
}
