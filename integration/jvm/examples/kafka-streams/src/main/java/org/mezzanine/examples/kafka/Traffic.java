// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.util.SplittableRandom;
import java.util.function.BiConsumer;

/** The amounts that come in, and what they must lead to. */
final class Traffic {
  private final SplittableRandom random;
  private final Settings settings;
  private final double skew;
  /** By key: the state up to its description. */
  private final byte[][] heads;

  private long records;

  /** `skew` is Zipf's exponent, not 1. */
  Traffic(Settings settings, double skew, long seed) {
    this.settings = settings;
    this.skew = skew;
    random = new SplittableRandom(seed);
    heads = new byte[(int) settings.keys()][Account.HEAD_BYTES];
  }

  /** An amount for each key once. */
  void open(BiConsumer<byte[], Long> send) {
    for (int key = 0; key < heads.length; ++key) send(key, send);
  }

  /** Amounts for keys that are drawn anew each time. */
  void draw(long amounts, BiConsumer<byte[], Long> send) {
    for (long i = 0; i < amounts; ++i) send(drawn(), send);
  }

  private void send(int key, BiConsumer<byte[], Long> send) {
    long amount = random.nextLong(1, 10_000);
    Account.add(heads[key], amount);
    ++records;
    send.accept(Account.key(key), amount);
  }

  /** The inverse of the continuous distribution's sum, which is Zipf's but for the first few ranks. */
  private int drawn() {
    double most = Math.pow(heads.length, 1 - skew);
    double rank = Math.pow(1 + random.nextDouble() * (most - 1), 1 / (1 - skew));
    return Math.min(heads.length - 1, (int) rank - 1);
  }

  /** All that were sent. */
  long records() {
    return records;
  }

  /** Of all keys, as {@link Account#digest} has it. */
  long digest() {
    long digest = 0;
    for (int i = 0; i < heads.length; ++i) {
      if (Account.count(heads[i]) == 0) continue;
      byte[] key = Account.key(i);
      byte[] account = Account.opened(key, settings.valueBytes());
      System.arraycopy(heads[i], 0, account, 0, Account.HEAD_BYTES);
      digest += Account.digest(key, account);
    }
    return digest;
  }
}
