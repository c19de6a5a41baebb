// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

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
    reports(runs);
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
