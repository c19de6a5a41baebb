// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The command line: NAME=VALUE each, behind two dashes. {@link #USAGE} says what they are. */
final class Flags {
  static final String USAGE = """
      --dram=8M             DRAM of the block cache of an instance; its write buffers take a quarter of that
      --scm=64M             SCM of an instance, for the caches that have it
      --caches=stock,all_dram,mezzanine,mezzanine_cxl
                            which are run, one after the other, and compared with the first:
                            stock: RocksDB's LRU cache of the DRAM, set up as Kafka's guide to bounded memory has it;
                            all_dram: the same of DRAM and SCM together; mezzanine; mezzanine_cxl: on modelled CXL memory
      --state=80M           state of the application: --state / --value accounts
      --value=1000          bytes of an account
      --skew=0.99           Zipf's exponent of which account an amount is for; not 1
      --warmup=40000        amounts before what is measured
      --updates=40000       amounts in each measured part
      --partitions=4        of the topic; as many tasks
      --threads=2           of each instance
      --closes=0            how often the second instance is also closed, and started with its SCM as it is and with none,
                            and watched until it takes as many records a second as before
      --kills=0             the same with SIGKILL
      --rounds=1            how often all caches are run
      --seed=1
      --folder=/var/tmp     where a folder for broker and stores is made: it stands for flash. Reads pass by the page
                            cache, unless the folder is in memory
      --medium=/dev/shm     where a folder for the files is made that stand for SCM
      --limit=240           seconds that any one step may take
      --json=FILE           takes the run as it came
      """;

  private static final Map<String, String> DEFAULTS = defaults();

  private final Map<String, String> values = new LinkedHashMap<>(DEFAULTS);

  Flags(String[] arguments) {
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      String name = argument.startsWith("--") && equals > 0 ? argument.substring(2, equals) : "";
      if (!DEFAULTS.containsKey(name)) {
        throw new Failure("unknown option " + argument + "; the options are\n" + USAGE);
      }
      values.put(name, argument.substring(equals + 1));
    }
    check(keys() >= 100, "--state=" + values.get("state") + ": fewer than a hundred accounts");
    check(keys() <= 50_000_000, "--state=" + values.get("state") + ": more than 50 million accounts");
    check(valueBytes() >= Account.HEAD_BYTES, "--value=" + valueBytes() + ": an account has " + Account.HEAD_BYTES
        + " bytes at least");
    check(skew() != 1 && skew() >= 0, "--skew=" + skew() + ": it is not negative, and not 1");
    check(partitions() >= 2, "--partitions=" + partitions() + ": each instance has one at least");
    check(updates() >= 100, "--updates=" + updates() + ": a hundred at least");
    caches();
  }

  private static Map<String, String> defaults() {
    Map<String, String> defaults = new LinkedHashMap<>();
    for (String line : USAGE.split("\n")) {
      if (!line.startsWith("--")) continue;
      String flag = line.split(" ", 2)[0];
      int equals = flag.indexOf('=');
      defaults.put(flag.substring(2, equals), flag.substring(equals + 1));
    }
    defaults.put("json", "");
    defaults.put("commit", "unknown");
    return defaults;
  }

  private static void check(boolean good, String otherwise) {
    if (!good) throw new Failure(otherwise);
  }

  private long number(String name) {
    String text = values.get(name);
    int shift = switch (text.isEmpty() ? ' ' : text.charAt(text.length() - 1)) {
      case 'K' -> 10;
      case 'M' -> 20;
      case 'G' -> 30;
      default -> 0;
    };
    try {
      long number = Long.parseLong(shift == 0 ? text : text.substring(0, text.length() - 1));
      if (number >= 0 && number <= Long.MAX_VALUE >> (shift + 1)) return number << shift;
    } catch (NumberFormatException error) {
      // told below
    }
    throw new Failure("--" + name + "=" + text + ": it is a number, or one with K, M or G behind it");
  }

  private int small(String name) {
    long number = number(name);
    check(number >= 1 && number <= 1_000_000_000, "--" + name + "=" + values.get(name) + ": 1 to a billion");
    return (int) number;
  }

  long keys() {
    return number("state") / valueBytes();
  }

  int valueBytes() {
    return small("value");
  }

  double skew() {
    try {
      return Double.parseDouble(values.get("skew"));
    } catch (NumberFormatException error) {
      throw new Failure("--skew=" + values.get("skew") + ": it is a number");
    }
  }

  int partitions() {
    return small("partitions");
  }

  long warmup() {
    return number("warmup");
  }

  long updates() {
    return number("updates");
  }

  long closes() {
    return number("closes");
  }

  long kills() {
    return number("kills");
  }

  int rounds() {
    return small("rounds");
  }

  long seed() {
    return number("seed");
  }

  long limitSeconds() {
    return number("limit");
  }

  long dramBytes() {
    return number("dram");
  }

  long scmBytes() {
    return number("scm");
  }

  String text(String name) {
    return values.get(name);
  }

  List<Settings.Cache> caches() {
    List<Settings.Cache> caches = new ArrayList<>();
    for (String name : values.get("caches").split(",")) {
      try {
        caches.add(Settings.Cache.valueOf(name.toUpperCase(Locale.ROOT)));
      } catch (IllegalArgumentException error) {
        throw new Failure("--caches: " + name + " is none of stock, all_dram, mezzanine, mezzanine_cxl");
      }
    }
    return caches;
  }

  Settings settings(Settings.Cache cache, String bootstrap, boolean direct, Path folder, Path medium) {
    return new Settings(cache, dramBytes(), scmBytes(), keys(), valueBytes(), partitions(), small("threads"), direct,
        bootstrap, folder, medium);
  }

  /** But for where files lie on this machine. */
  Map<String, String> shown() {
    Map<String, String> shown = new LinkedHashMap<>(values);
    shown.keySet().removeAll(List.of("folder", "medium", "json", "commit", "limit"));
    return shown;
  }
}
