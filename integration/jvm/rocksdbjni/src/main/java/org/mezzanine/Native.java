// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

/**
 * The functions of jni.cc. Text is bytes of UTF-8. Those that return an error return null if there is none. A handle is
 * one that {@link #open} gave, and is not given after {@link #close}.
 */
final class Native {
  private Native() {}

  static native byte[] open(byte[] uri, long[] handle);

  static native void close(long handle);

  static native byte[] use(long handle, long options);

  static native byte[] useFor(long handle, long dbOptions, long[] columnFamilyOptions);

  static native byte[] report(long handle);

  static native byte[] statistics(long handle);

  static native long usage(long handle);

  static native long pinnedUsage(long handle);

  static native long dramBytes(long handle);

  static native byte[] setDramBytes(long handle, long bytes);

  static native long scmBytes(long handle);

  static native byte[] setScmBytes(long handle, long bytes);

  static native byte[] policy(long handle);

  static native byte[] setPolicy(long handle, byte[] name);
}
