package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.Sample;
import io.kvsep.testing.Seeds;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A hundred thousand calls, in any order and from two threads, on what is closed: store, views,
 * snapshots, cursors, closed themselves or with their store. Each is a {@link
 * StoreClosedException}, and none harms another store that is open beside it. The exhaustive run
 * makes a million.
 */
final class ClosedHandlesTest {
  private static final int CALLS = Sample.EXHAUSTIVE ? 1_000_000 : 100_000;
  private static final int THREADS = 2;
  private static final int KEYS = 200;

  @TempDir Path parent;

  /** One closed object and the methods that have to refuse. */
  private record Handle(Object target, List<Method> methods) {
    static Handle of(Class<?> type, Object target) {
      List<Method> methods = new ArrayList<>();
      for (Method method : type.getMethods()) {
        if (!Modifier.isStatic(method.getModifiers()) && !method.getName().equals("close")) {
          methods.add(method);
        }
      }
      return new Handle(target, methods);
    }
  }

  @Test
  void everyCallOnSomethingClosedSaysSo() throws InterruptedException {
    KvStore sound = KvStore.open(parent.resolve("sound"), options());
    fill(sound);
    List<Handle> handles = new ArrayList<>();
    KvStore other = KvStore.open(parent.resolve("other"), options());
    fill(other);
    Keyspace space = other.keyspace("space");
    closeSomeOf(sound, handles);
    addAll(other, space, handles);
    other.close();
    List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
    Seeds.each(
        getClass(),
        1,
        random -> {
          List<Thread> threads = new ArrayList<>();
          for (int i = 0; i < THREADS; i++) {
            Random own = new Random(random.nextLong());
            threads.add(new Thread(() -> calls(handles, CALLS / THREADS, space, own, wrong)));
          }
          threads.forEach(Thread::start);
          for (Thread thread : threads) {
            thread.join();
          }
        });
    if (!wrong.isEmpty()) {
      throw new AssertionError(wrong.size() + " calls were not refused", wrong.get(0));
    }
    check(sound);
    sound.close();
  }

  private static KvOptions options() {
    return KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();
  }

  /** Closed themselves, on a store that goes on; what they hand out goes with them. */
  private static void closeSomeOf(KvStore store, List<Handle> handles) {
    for (int i = 0; i < 3; i++) {
      Snapshot snapshot = store.snapshot();
      KvCursor cursor = snapshot.cursor(i == 1 ? ScanOptions.all().reverse() : ScanOptions.all());
      for (int step = 0; step < i * 50; step++) {
        assertTrue(cursor.next());
      }
      handles.add(Handle.of(KvCursor.class, cursor));
      handles.add(Handle.of(KvReader.class, snapshot));
      cursor.close();
      snapshot.close();
      Transaction transaction = store.begin();
      KvCursor merged = transaction.cursor();
      assertTrue(merged.next());
      handles.add(Handle.of(KvCursor.class, merged));
      handles.add(Handle.of(KvReader.class, transaction));
      handles.add(Handle.of(KvView.class, transaction));
      transaction.close();
      WriteBuffer buffer = store.buffer();
      handles.add(Handle.of(KvView.class, buffer));
      handles.add(Handle.of(KvView.class, buffer.in(store.keyspace("space"))));
      buffer.close();
    }
  }

  private static void addAll(KvStore store, Keyspace space, List<Handle> handles) {
    handles.add(Handle.of(KvStore.class, store));
    handles.add(Handle.of(KeyspaceView.class, store.in(space)));
    Snapshot snapshot = store.snapshot();
    handles.add(Handle.of(Snapshot.class, snapshot));
    handles.add(Handle.of(KvReader.class, snapshot.in(space)));
    Transaction transaction = store.begin();
    handles.add(Handle.of(KvView.class, transaction.in(space)));
    handles.add(Handle.of(KvCursor.class, transaction.cursor()));
    WriteBuffer buffer = store.buffer();
    handles.add(Handle.of(WriteBuffer.class, buffer));
    handles.add(Handle.of(KvCursor.class, buffer.cursor()));
    for (KvReader reader : List.of(store, store.in(space), snapshot, snapshot.in(space))) {
      KvCursor fresh = reader.cursor();
      KvCursor inside = reader.cursor();
      assertTrue(inside.next());
      handles.add(Handle.of(KvCursor.class, fresh));
      handles.add(Handle.of(KvCursor.class, inside));
    }
  }

  private void calls(
      List<Handle> handles, int count, Keyspace space, Random random, List<Throwable> wrong) {
    for (int i = 0; i < count; i++) {
      Handle handle = handles.get(random.nextInt(handles.size()));
      Method method = handle.methods().get(random.nextInt(handle.methods().size()));
      try {
        Object[] arguments = new Object[method.getParameterCount()];
        for (int n = 0; n < arguments.length; n++) {
          arguments[n] = argument(method.getParameterTypes()[n], space, random);
        }
        Object result = method.invoke(handle.target(), arguments);
        wrong.add(new AssertionError(method + " returned " + result));
      } catch (InvocationTargetException e) {
        if (!(e.getCause() instanceof StoreClosedException)) {
          wrong.add(new AssertionError(method.toString(), e.getCause()));
        }
      } catch (IllegalAccessException | AssertionError e) {
        wrong.add(e);
      }
    }
  }

  private Object argument(Class<?> type, Keyspace space, Random random) {
    byte[] key = key(random.nextInt(2 * KEYS));
    if (type == byte[].class) {
      return key;
    } else if (type == long.class) {
      return 1L;
    } else if (type == int.class) {
      return 100;
    } else if (type == String.class) {
      return "space";
    } else if (type == Keyspace.class) {
      return space;
    } else if (type == Collection.class) {
      return List.of("space");
    } else if (type == List.class) {
      return List.of(key, key(random.nextInt(KEYS)));
    } else if (type == Function.class) {
      Function<ByteBuffer, Object> reader = ByteBuffer::remaining;
      return reader;
    } else if (type == BiFunction.class) {
      BiFunction<EntryInfo, ByteBuffer, Object> reader = (info, view) -> info;
      return reader;
    } else if (type == BytesStore.class) {
      return BytesStore.wrap(key);
    } else if (type == ByteBuffer.class) {
      return ByteBuffer.allocate(random.nextInt(100));
    } else if (type == BiConsumer.class) {
      BiConsumer<byte[], byte[]> action = (at, value) -> Objects.requireNonNull(value);
      return action;
    } else if (type == UnaryOperator.class) {
      return UnaryOperator.identity();
    } else if (type == Bytes.class) {
      return Bytes.allocateElasticOnHeap();
    } else if (type == ScanOptions.class) {
      return random.nextBoolean() ? ScanOptions.prefix(key) : ScanOptions.all().prefetch(10);
    } else if (type == Duration.class) {
      return Duration.ofMinutes(1);
    } else if (type == WriteBatch.class) {
      return new WriteBatch().put(key, key).delete(key);
    } else if (type == Durability.class) {
      return random.nextBoolean() ? Durability.none() : Durability.sync();
    } else if (type == Path.class) {
      return parent.resolve("copy");
    } else if (type == OutputStream.class) {
      return OutputStream.nullOutputStream();
    } else if (type == InputStream.class) {
      return InputStream.nullInputStream();
    } else if (type == Iterator.class) {
      return Collections.emptyIterator();
    } else if (type == Stream.class) {
      return Stream.empty();
    }
    throw new AssertionError("an argument is needed for " + type);
  }

  private static void fill(KvStore store) {
    KvView view = store.in(store.keyspace("space"));
    for (int i = 0; i < KEYS; i++) {
      store.put(key(i), value(i));
      view.put(key(i), value(i));
      if (i == KEYS / 2) {
        store.flush();
      }
    }
  }

  private static void check(KvStore store) {
    KvView view = store.in(store.keyspace("space"));
    for (int i = 0; i < KEYS; i++) {
      assertArrayEquals(value(i), store.get(key(i)));
      assertArrayEquals(value(i), view.get(key(i)));
    }
  }

  private static byte[] key(int number) {
    return "key-%04d".formatted(number).getBytes(UTF_8);
  }

  private static byte[] value(int number) {
    byte[] value = new byte[number % 3 == 0 ? 40 : 3_000];
    Arrays.fill(value, (byte) number);
    return value;
  }

  /** The check itself: a handle that answers is reported. */
  @Test
  void canaryAHandleThatStillAnswersIsNoticed() {
    try (KvStore store = KvStore.open(parent.resolve("open"), options())) {
      fill(store);
      List<Throwable> wrong = new ArrayList<>();
      Handle open = new Handle(store, List.of(method("get"), method("contains")));
      calls(List.of(open), 100, store.keyspace("space"), new Random(1), wrong);
      assertEquals(100, wrong.size());
    }
  }

  private static Method method(String name) {
    return Arrays.stream(KvReader.class.getMethods())
        .filter(method -> method.getName().equals(name) && method.getParameterCount() == 1)
        .findFirst()
        .orElseThrow();
  }
}
