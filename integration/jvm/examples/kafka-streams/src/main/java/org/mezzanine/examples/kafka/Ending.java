// SPDX-License-Identifier: Apache-2.0
package org.mezzanine.examples.kafka;

import java.io.IOException;

/** Nobody outlives who started it. */
final class Ending {
  private Ending() {}

  /** For who needs no standard input. */
  static void withStandardInput() {
    daemon(() -> {
      try {
        while (System.in.read() >= 0) {}
      } catch (IOException gone) {
        // so is who wrote to it
      }
      Runtime.getRuntime().halt(3);
    });
  }

  /** Runs the shutdown hooks when the parent has gone. */
  static void withParent() {
    ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
    parent.onExit().thenRun(() -> System.exit(3));
  }

  static void daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }
}
