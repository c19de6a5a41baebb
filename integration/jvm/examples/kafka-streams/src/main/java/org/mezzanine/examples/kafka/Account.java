// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * The state of a key, as it lies in the store: how many amounts came, their sum, the last eight, and the holder's
 * description. It depends on all amounts of the key and on their order, so that one that is lost, comes twice, or comes
 * in another order shows.
 */
final class Account {
  static final int LAST = 8;
  static final int HEAD_BYTES = 8 * (2 + LAST);

  private static final String[] WORDS = ("account holder since region north south east west street house city harbour"
      + " monthly yearly statement invoice paid open due reminder contact phone letter courier parcel order basket return"
      + " refund voucher member silver golden basic premium trial renewed cancelled blocked active dormant note called"
      + " asked about delivery billing address changed confirmed by mail signed contract number branch adviser credit"
      + " limit raised lowered insurance travel home motor health savings plan child partner joint single owner").split(" ");

  private Account() {}

  /** Key `i` as it is written: neighbours in rank are none in the store. */
  static byte[] key(long i) {
    return ByteBuffer.allocate(8).putLong(mix(i + 1)).array();
  }

  /** The finalizer of SplitMix64 (Steele, Lea and Flood 2014), which maps no two numbers to one. */
  static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  static byte[] opened(byte[] key, int bytes) {
    ByteBuffer account = ByteBuffer.allocate(bytes);
    account.position(HEAD_BYTES);
    SplittableRandom random = new SplittableRandom(ByteBuffer.wrap(key).getLong());
    while (account.remaining() > 0) {
      byte[] word = (WORDS[random.nextInt(WORDS.length)] + ' ').getBytes(StandardCharsets.US_ASCII);
      account.put(word, 0, Math.min(word.length, account.remaining()));
    }
    return account.array();
  }

  /** In place. */
  static void add(byte[] account, long amount) {
    ByteBuffer state = ByteBuffer.wrap(account);
    long count = state.getLong(0);
    state.putLong(0, count + 1);
    state.putLong(8, state.getLong(8) + amount);
    state.putLong(8 * (2 + (int) (count % LAST)), amount);
  }

  static long count(byte[] account) {
    return ByteBuffer.wrap(account).getLong(0);
  }

  /** Of a key and its state. The sum of these over a store is the store's, in whichever order it is read. */
  static long digest(byte[] key, byte[] account) {
    long digest = ByteBuffer.wrap(key).getLong();
    ByteBuffer state = ByteBuffer.wrap(account);
    while (state.remaining() >= 8) digest = mix(digest * 31 + state.getLong());
    while (state.remaining() > 0) digest = mix(digest * 31 + state.get());
    return digest;
  }
}
