package io.kvsep.server.cli;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The library of another engine. The user brings its jars, because they are larger than kvsep, so
 * its classes are only known by name. They see the JDK and each other, but no class of kvsep.
 */
final class ForeignLibrary implements AutoCloseable {
  private final String engine;
  private final URLClassLoader loader;

  /** In the order in which they are closed. */
  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  /**
   * @throws IOException if a jar is missing
   */
  ForeignLibrary(String engine, List<Path> jars) throws IOException {
    this.engine = engine;
    List<URL> urls = new ArrayList<>();
    for (Path jar : jars) {
      if (!Files.exists(jar)) {
        throw new NoSuchFileException(jar.toString());
      }
      urls.add(jar.toUri().toURL());
    }
    loader =
        opened(new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader()));
  }

  Class<?> type(String name) {
    try {
      return loader.loadClass(name);
    } catch (ClassNotFoundException e) {
      throw CommandFailure.failed("--class-path: no class " + name + " of " + engine, e);
    }
  }

  Object create(String type, List<Class<?>> types, @Nullable Object... arguments)
      throws IOException {
    return result(
        () -> type(type).getConstructor(types.toArray(Class<?>[]::new)).newInstance(arguments));
  }

  Object create(String type) throws IOException {
    return create(type, List.of());
  }

  Method method(Class<?> type, String name, Class<?>... types) {
    try {
      return type.getMethod(name, types);
    } catch (NoSuchMethodException e) {
      throw CommandFailure.failed("--class-path: another version of " + engine, e);
    }
  }

  /**
   * Calls a method.
   *
   * @param target null for a static method
   * @throws IOException if the method throws, with its message
   */
  Object call(Method method, @Nullable Object target, @Nullable Object... arguments)
      throws IOException {
    return result(() -> method.invoke(target, arguments));
  }

  /** A call by name. */
  interface Call {
    Object result() throws ReflectiveOperationException;
  }

  private Object result(Call call) throws IOException {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    // LevelDB looks for Snappy there.
    thread.setContextClassLoader(loader);
    try {
      return call.result();
    } catch (InvocationTargetException e) {
      throw failure(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw CommandFailure.failed("--class-path: another version of " + engine + ": " + e, e);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  /** An exception of the library as one that says so. */
  IOException failure(@Nullable Throwable cause) {
    if (cause instanceof LinkageError missing) {
      throw CommandFailure.failed("--class-path: incomplete for " + engine + ": " + missing, cause);
    }
    if (cause instanceof Error error) {
      throw error;
    }
    String message = cause == null ? null : cause.getMessage();
    return new IOException(engine + ": " + (message == null ? cause : message), cause);
  }

  /**
   * {@return the resource} It is closed with the library, before those that were opened earlier.
   */
  <T extends AutoCloseable> T opened(T resource) {
    open.push(resource);
    return resource;
  }

  /**
   * Closes all resources, although one fails.
   *
   * @throws IOException the first failure; the others are suppressed ones of it or of its cause
   */
  @Override
  public void close() throws IOException {
    Throwable failure = null;
    for (AutoCloseable resource : open) {
      try {
        resource.close();
      } catch (Throwable e) {
        if (failure == null) {
          failure = e;
        } else if (failure != e) {
          failure.addSuppressed(e);
        }
      }
    }
    open.clear();
    if (failure instanceof IOException e) {
      throw e;
    }
    if (failure != null) {
      throw failure(failure);
    }
  }
}
