package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.JavaProcess;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server that deploys an application with kvsep in it anew: nothing in the JVM holds on to the
 * class loader of the one before, once its stores are closed. In a process of its own, since
 * threads and hooks of other tests would be in the way.
 */
final class RedeployTest {
  @TempDir Path directory;

  @Test
  void theClassLoaderOfAClosedStoreIsCollected() throws Exception {
    assertEquals("0 left", JavaProcess.answer(Server.class, directory.toString()));
  }

  /** Threads of its own call the store, and go on when it is closed. */
  static final class Server {
    private static final int DEPLOYMENTS = 2;
    private static final int TRIES_MAX = 100;
    private static final long TRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final ExecutorService threads =
        Executors.newFixedThreadPool(
            2,
            task -> {
              Thread thread = new Thread(task);
              thread.setDaemon(true);
              thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
              return thread;
            });

    public static void main(String[] arguments) throws Exception {
      System.out.println(new Server().run(Path.of(arguments[0])) + " left");
    }

    private int run(Path directory) throws Exception {
      List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
      for (int i = 0; i < DEPLOYMENTS; i++) {
        loaders.add(deploy(directory.resolve("store" + i)));
      }
      // Java itself keeps the class of a record whose methods it has linked last, in one place of
      // its own, and with it the last loader until another record comes.
      List<WeakReference<ClassLoader>> replaced = loaders.subList(0, DEPLOYMENTS - 1);
      for (int i = 0; i < TRIES_MAX && left(replaced) > 0; i++) {
        System.gc();
        LockSupport.parkNanos(TRY_NANOS);
      }
      threads.shutdown();
      return left(replaced);
    }

    private static int left(List<WeakReference<ClassLoader>> loaders) {
      return (int) loaders.stream().filter(loader -> loader.get() != null).count();
    }

    private WeakReference<ClassLoader> deploy(Path directory) throws Exception {
      List<URL> classPath = new ArrayList<>();
      for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
        classPath.add(Path.of(entry).toUri().toURL());
      }
      ClassLoader own = Thread.currentThread().getContextClassLoader();
      try (URLClassLoader loader =
          new URLClassLoader(classPath.toArray(new URL[0]), ClassLoader.getPlatformClassLoader())) {
        Thread.currentThread().setContextClassLoader(loader);
        deploy(loader, directory);
        return new WeakReference<>(loader);
      } finally {
        Thread.currentThread().setContextClassLoader(own);
      }
    }

    @SuppressWarnings("unchecked")
    private void deploy(ClassLoader loader, Path directory) throws Exception {
      Class<?> type = loader.loadClass(Application.class.getName());
      if (type == Application.class) {
        throw new AssertionError("loaded by the loader of the server");
      }
      for (String phase : List.of("open", "use", "close")) {
        // Each thread of the pool, one after the other.
        threads
            .submit(
                () -> {
                  Object application = type.getDeclaredConstructor().newInstance();
                  ((Consumer<Map.Entry<String, Path>>) application)
                      .accept(Map.entry(phase, directory));
                  return null;
                })
            .get();
      }
    }
  }

  /** What is deployed. */
  public static final class Application implements Consumer<Map.Entry<String, Path>> {
    private static final int KEYS = 3_000;
    private static final AtomicReference<@Nullable KvStore> OPENED = new AtomicReference<>();

    /** For the server. */
    public Application() {}

    private static byte[] key(int i) {
      return String.format("key%06d", i).getBytes(UTF_8);
    }

    @Override
    public void accept(Map.Entry<String, Path> phase) {
      switch (phase.getKey()) {
        case "open" -> open(phase.getValue());
        case "use" -> use(phase.getValue());
        default -> store().close();
      }
    }

    private static void open(Path directory) {
      KvOptions options =
          KvOptions.builder()
              .memoryBudgetBytes(16 << 20)
              .segmentBytes(1 << 20)
              .keyBlockCompression(ValueCompression.LZ4)
              .build();
      OPENED.set(KvStore.open(directory, options));
    }

    private static KvStore store() {
      return Objects.requireNonNull(OPENED.get());
    }

    private static void use(Path directory) {
      KvStore store = store();
      ChangeFeed feed = store.changes(0);
      for (int i = 0; i < KEYS; i++) {
        store.put(key(i), new byte[i % 3_000]);
      }
      store.sync();
      if (feed.poll() == null) {
        throw new AssertionError("no change");
      }
      feed.close();
      store.write(new WriteBatch().put(key(1), new byte[2]).delete(key(2)));
      store.put(key(3), new byte[3], Duration.ofDays(1));
      store.deleteRange(key(10), key(20));
      store.increment(key(KEYS), 3);
      store.compareAndSet(key(4), new byte[4], new byte[2_000]);
      store.transact(
          transaction -> {
            transaction.put(key(5), new byte[1]);
            return transaction.get(key(6));
          });
      Keyspace keyspace = store.keyspace("other");
      store.in(keyspace).put(key(1), new byte[1]);
      Iterator<Map.Entry<byte[], byte[]>> entries =
          IntStream.range(0, KEYS).mapToObj(i -> Map.entry(key(i), new byte[100])).iterator();
      store.bulkLoad(keyspace, entries);
      store.flush();
      store.compact();
      read(store);
      try (Snapshot snapshot = store.snapshot()) {
        read(snapshot);
      }
      store.reclaim();
      copy(store, directory);
      store.dropKeyspace(keyspace);
      store.sync();
      store.stats();
    }

    private static void read(KvReader reader) {
      reader.get(key(7));
      reader.contains(key(7));
      reader.read(key(2_999), ByteBuffer::remaining);
      reader.getAll(IntStream.range(0, KEYS).mapToObj(Application::key).toList());
      try (KvCursor cursor = reader.cursor()) {
        while (cursor.next()) {
          cursor.valueView();
        }
      }
    }

    private static void copy(KvStore store, Path directory) {
      store.verify();
      Path copy = directory.resolveSibling(directory.getFileName() + "-copy");
      store.checkpoint(copy);
      ByteArrayOutputStream backup = new ByteArrayOutputStream();
      store.backup(backup, 0);
      Path restored = directory.resolveSibling(directory.getFileName() + "-restored");
      try (KvStore other = KvStore.open(restored)) {
        other.restore(new ByteArrayInputStream(backup.toByteArray()));
        read(other);
      }
    }
  }
}
