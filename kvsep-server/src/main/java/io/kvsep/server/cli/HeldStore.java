package io.kvsep.server.cli;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.error.StoreNotFoundException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A store that several commands use one after the other. The first that needs it opens it; none of
 * them closes it. For one thread at a time. Not final: tests override {@link #open}.
 */
class HeldStore implements AutoCloseable {
  private final Path directory;
  private final boolean readOnly;
  private @Nullable KvStore store;

  HeldStore(Path directory, boolean readOnly) {
    this.directory = directory;
    this.readOnly = readOnly;
  }

  Path directory() {
    return directory;
  }

  /**
   * Returns the store, whose {@code close} does nothing.
   *
   * @param mayCreate whether to create the store if there is none
   */
  KvStore open(boolean mayCreate) {
    if (store == null) {
      KvOptions.Builder options = KvOptions.builder().durability(Durability.sync());
      if (readOnly) {
        options.readOnly(true);
      } else {
        options.createIfMissing(mayCreate);
      }
      store = KvStore.open(directory, options.build());
    }
    return unclosed(store);
  }

  /** As {@link #open}, null if there is no store. */
  @Nullable KvStore openIfThere() {
    try {
      return open(false);
    } catch (StoreNotFoundException e) {
      return null;
    }
  }

  private static KvStore unclosed(KvStore store) {
    return (KvStore)
        Proxy.newProxyInstance(
            HeldStore.class.getClassLoader(),
            new Class<?>[] {KvStore.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("close")) {
                return null;
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Override
  public void close() {
    if (store != null) {
      store.close();
    }
  }
}
