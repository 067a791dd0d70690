package io.kvsep.internal.memory;

import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Keeps Chronicle's libraries quiet where they would print to standard error about matters that no
 * user of kvsep can do anything about: the lack of an SLF4J provider, and of a JVM flag that only
 * parts of Chronicle which kvsep does not use would need.
 */
public final class ChronicleLogging {
  private static final String SLF4J_PROVIDERS =
      "META-INF/services/org.slf4j.spi.SLF4JServiceProvider";
  private static final String SLF4J_VERBOSITY = "slf4j.internal.verbosity";

  /** Kept, because a logger nobody holds is collected together with its level. */
  private static final Logger CLEANER =
      Logger.getLogger(
          "net.openhft.chronicle.core.internal.cleaner.ReflectionBasedByteBufferCleanerService");

  private static final boolean HAS_PROVIDER = hasProvider();

  private ChronicleLogging() {}

  private static boolean hasProvider() {
    ClassLoader loader = ChronicleLogging.class.getClassLoader();
    return loader != null && loader.getResource(SLF4J_PROVIDERS) != null;
  }

  /** Takes effect for what Chronicle has not printed yet; calling it again does nothing more. */
  public static void silence() {
    if (CLEANER.getLevel() == null) {
      CLEANER.setLevel(Level.OFF);
    }
    // With a provider SLF4J has nothing to say; a program that set the verbosity itself keeps it.
    if (!HAS_PROVIDER && System.getProperty(SLF4J_VERBOSITY) == null) {
      System.setProperty(SLF4J_VERBOSITY, "ERROR");
    }
  }
}
