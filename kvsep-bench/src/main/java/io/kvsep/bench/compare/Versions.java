package io.kvsep.bench.compare;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Versions of the engines, from a resource written by the build. */
final class Versions {
  private static final Properties VERSIONS = load();

  private Versions() {}

  static String of(String engine) {
    return VERSIONS.getProperty(engine, "unknown");
  }

  private static Properties load() {
    Properties versions = new Properties();
    try (InputStream stream = Versions.class.getResourceAsStream("versions.properties")) {
      if (stream != null) {
        versions.load(stream);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return versions;
  }
}
