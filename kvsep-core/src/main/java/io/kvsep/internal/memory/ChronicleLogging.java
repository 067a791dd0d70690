package io.kvsep.internal.memory;

import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Silences messages of Chronicle's libraries on standard error that users cannot act on: a missing
 * SLF4J provider, and a missing JVM flag for parts of Chronicle that kvsep does not use.
 */
public final class ChronicleLogging {
  private static final String SLF4J_PROVIDERS =
      "META-INF/services/org.slf4j.spi.SLF4JServiceProvider";
  private static final String SLF4J_VERBOSITY = "slf4j.internal.verbosity";

  /** Strongly referenced, because a collected logger loses its level. */
  private static final Logger CLEANER =
      Logger.getLogger(
          "net.openhft.chronicle.core.internal.cleaner.ReflectionBasedByteBufferCleanerService");

  private static final boolean HAS_PROVIDER = hasProvider();

  private ChronicleLogging() {}

  private static boolean hasProvider() {
    ClassLoader loader = ChronicleLogging.class.getClassLoader();
    return loader != null && loader.getResource(SLF4J_PROVIDERS) != null;
  }

  /** Affects only messages not printed yet; idempotent. */
  public static void silence() {
    if (CLEANER.getLevel() == null) {
      CLEANER.setLevel(Level.OFF);
    }
    // With a provider SLF4J prints nothing; the program's own verbosity is kept.
    if (!HAS_PROVIDER && System.getProperty(SLF4J_VERBOSITY) == null) {
      System.setProperty(SLF4J_VERBOSITY, "ERROR");
    }
  }
}
