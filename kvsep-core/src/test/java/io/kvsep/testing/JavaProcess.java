package io.kvsep.testing;

import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvsep.KvStore;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import net.jpountz.lz4.LZ4Factory;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.core.Jvm;
import org.slf4j.Logger;

/** Processes of their own for tests of what two processes do to each other. */
public final class JavaProcess {
  private JavaProcess() {}

  /** Starts a class of the tests that opens stores; its errors go nowhere. */
  public static Process start(Class<?> main, String... arguments)
      throws IOException, URISyntaxException {
    // Tests first: their folder may hold the second versions of classes.
    Set<String> classPath = new LinkedHashSet<>();
    for (Class<?> type :
        List.of(
            main,
            KvStore.class,
            Bytes.class,
            Jvm.class,
            LZ4Factory.class,
            Caffeine.class,
            Logger.class)) {
      Path source = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
      classPath.add(source.toString());
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx64m");
    command.add("-cp");
    command.add(String.join(File.pathSeparator, classPath));
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
  }

  /** As {@link #start}, until the class has said its first line; that line. */
  public static String answer(Class<?> main, String... arguments) throws Exception {
    Process process = start(main, arguments);
    try {
      return firstLine(process);
    } finally {
      process.destroyForcibly().waitFor(1, TimeUnit.MINUTES);
    }
  }

  /** The first line that the process says, "null" when it ends without one. */
  public static String firstLine(Process process) throws IOException {
    return String.valueOf(
        new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))
            .readLine());
  }
}
