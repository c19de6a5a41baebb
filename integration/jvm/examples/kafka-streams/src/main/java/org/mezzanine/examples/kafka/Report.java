// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What the example prints. */
final class Report {
  /** Of our report's lines; the JSON has all of them. */
  private static final List<String> LINES = List.of("policy", "medium", "medium.model", "dram.tier_bytes",
      "dram.beside_tier_bytes", "scm.capacity_bytes", "scm.usage_bytes", "heirs", "pack.codec", "scm.packed_ratio",
      "scm.packed_hit_share", "dram.hit", "scm.hit", "miss", "served.in_place", "served.copied", "scm.written_bytes",
      "scm.file_forgotten", "scm.checksum_mismatch");

  private Report() {}

  static void head(Map<String, Object> head) {
    System.out.printf("Kafka %s, a broker and two instances, each a process; %s, Java %s; %s, %s processors%n",
        head.get("kafka"), head.get("rocksdb"), head.get("java"), head.get("processor"), head.get("processors"));
    System.out.println("flash: " + head.get("flash"));
    System.out.println("SCM:   " + head.get("scm_medium"));
    System.out.println("options: " + head.get("options"));
  }

  static boolean equal(List<Map<String, Object>> runs) {
    return runs.stream().map(run -> run.get("total")).distinct().count() == 1;
  }

  private static double number(Map<String, Object> run, String part, String name) {
    return ((Number) ((Map<?, ?>) run.get(part)).get(name)).doubleValue();
  }

  private static void line(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }

  static void table(List<Map<String, Object>> runs) {
    line("");
    line("| round | cache | records/s | to the first | P50 / P99 us | disk KiB a record | tasks moved, s | back, s |"
        + " records/s after | result |");
    line("|---:|---|---:|---:|---:|---:|---:|---:|---:|---|");
    double first = 0;
    for (Map<String, Object> run : runs) {
      double rate = number(run, "steady", "records_per_s");
      if (run.get("cache").equals(runs.get(0).get("cache"))) first = rate;
      line("| %s | %s | %.0f | %.2f | %.1f / %.0f | %.2f | %.1f | %.1f | %.0f | %s |", run.get("round"), run.get("cache"), rate,
          rate / first, number(run, "steady", "p50_us"), number(run, "steady", "p99_us"),
          number(run, "steady", "disk_read_bytes_per_record") / 1024, number(run, "killed", "moved_seconds"),
          number(run, "restarted", "seconds"), number(run, "after", "records_per_s"),
          ((Map<?, ?>) run.get("total")).get("digest"));
    }
    restarts(runs);
    reports(runs);
  }

  /** A row of {@link #restarts}. */
  static String restart(Object cache, Map<String, Object> restart) {
    return String.format(Locale.ROOT, "| %s | %s | %s | %.0f | %s | %s | %s | %s | %s | %.2f | %.0f | %.2f |", cache,
        restart.get("ended"), restart.get("medium"), (double) restart.get("before_records_per_s"),
        restart.getOrDefault("restored_records", "-"), shown(restart, "up_seconds"), shown(restart, "active_seconds"),
        shown(restart, "first_record_seconds"), shown(restart, "rate_seconds"),
        (double) restart.getOrDefault("first_over_before", 0.0),
        (double) restart.getOrDefault("first_store_us_per_record", 0.0),
        (double) restart.getOrDefault("first_disk_read_bytes_per_record", 0.0) / 1024);
  }

  private static String shown(Map<String, Object> restart, String seconds) {
    return restart.containsKey(seconds) ? String.format(Locale.ROOT, "%.1f", (double) restart.get(seconds)) : "not reached";
  }

  private static void restarts(List<Map<String, Object>> runs) {
    if (runs.stream().allMatch(run -> restartsOf(run).isEmpty())) return;
    line("");
    line("| cache | ended | medium | records/s before | restored | up, s | has its tasks, s | first record, s |"
        + " rate of before, s | first 10 s over before | store us a record in them | disk KiB a record in them |");
    line("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (Map<String, Object> run : runs) restartsOf(run).forEach(each -> System.out.println(restart(run.get("cache"), each)));
    for (String ended : List.of("closed", "killed")) {
      for (String seconds : List.of("rate_seconds", "rate_after_first_record_seconds")) {
        ratios(runs, ended, seconds);
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> restartsOf(Map<String, Object> run) {
    return (List<Map<String, Object>>) run.get("restarts");
  }

  /** Of the pairs: the restart with the medium over the one without. */
  private static void ratios(List<Map<String, Object>> runs, String ended, String seconds) {
    for (Object cache : runs.stream().map(run -> run.get("cache")).distinct().toList()) {
      List<Double> ratios = new ArrayList<>();
      for (Map<String, Object> run : runs) {
        if (!run.get("cache").equals(cache)) continue;
        List<Double> kept = times(run, ended, "kept", seconds);
        List<Double> removed = times(run, ended, "removed", seconds);
        for (int pair = 0; pair < kept.size(); ++pair) ratios.add(kept.get(pair) / removed.get(pair));
      }
      if (ratios.isEmpty()) continue;
      ratios.sort(null);
      line("%s, %s: %s, kept over removed: median %.2f (%.2f-%.2f) of %d", cache, ended, seconds,
          ratios.get(ratios.size() / 2), ratios.get(0), ratios.get(ratios.size() - 1), ratios.size());
    }
  }

  private static List<Double> times(Map<String, Object> run, String ended, String medium, String seconds) {
    return restartsOf(run).stream().filter(each -> each.get("ended").equals(ended) && each.get("medium").equals(medium))
        .map(each -> (Double) each.getOrDefault(seconds, Double.NaN)).toList();
  }

  private static void reports(List<Map<String, Object>> runs) {
    for (Map<String, Object> run : runs) {
      int instance = 0;
      for (Object report : (List<?>) run.get("reports")) {
        ++instance;
        Object text = ((Map<?, ?>) report).get("report");
        if (text == null) continue;
        line("");
        line("%s, round %s, instance %d, after \"steady\":", run.get("cache"), run.get("round"), instance);
        text.toString().lines().filter(each -> LINES.contains(each.split(":", 2)[0])).forEach(each -> line("  %s", each));
      }
    }
  }
}
