// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

/** Ends the example with its sentence. */
final class Failure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Failure(String sentence) {
    super(sentence);
  }
}
