// SPDX-License-Identifier: Apache-2.0
package org.mezzanine;

/** What is wrong, and what to do about it, in a sentence. */
public final class MezzanineException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  MezzanineException(String sentence) {
    super(sentence);
  }

  MezzanineException(String sentence, Throwable cause) {
    super(sentence, cause);
  }
}
