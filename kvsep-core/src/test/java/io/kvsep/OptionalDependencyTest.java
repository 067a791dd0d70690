package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Micrometer is there for programs that want it; others do not miss it. */
final class OptionalDependencyTest {
  @TempDir Path directory;

  private static URLClassLoader withoutMicrometer() throws IOException {
    List<URL> entries = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (!entry.contains("micrometer")) {
        entries.add(Path.of(entry).toUri().toURL());
      }
    }
    return new URLClassLoader(entries.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
  }

  @Test
  void theStoreWorksWithoutMicrometer() throws Exception {
    try (URLClassLoader loader = withoutMicrometer()) {
      Class<?> type = loader.loadClass(KvStore.class.getName());
      Object store = type.getMethod("open", Path.class).invoke(null, directory);
      byte[] key = "key".getBytes(UTF_8);
      byte[] value = new byte[5_000];
      type.getMethod("put", byte[].class, byte[].class).invoke(store, key, value);
      type.getMethod("compact").invoke(store);
      Object found = type.getMethod("get", byte[].class).invoke(store, key);
      Object stats = type.getMethod("stats").invoke(store);
      type.getMethod("close").invoke(store);

      assertArrayEquals(value, (byte[]) found);
      assertTrue(stats.toString().startsWith("StoreStats["));
    }
  }

  @Test
  void canaryTheMetersNeedMicrometer() throws Exception {
    try (URLClassLoader loader = withoutMicrometer()) {
      Class<?> metrics = loader.loadClass(KvMetrics.class.getName());
      assertThrows(NoClassDefFoundError.class, metrics::getMethods);
    }
  }
}
