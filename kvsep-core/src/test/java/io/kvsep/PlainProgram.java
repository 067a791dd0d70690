package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Path;
import net.openhft.chronicle.bytes.Bytes;

/**
 * A program as an embedding service might be; {@link PlainDependencyTest} runs it in its own JVM.
 */
final class PlainProgram {
  private PlainProgram() {}

  public static void main(String[] arguments) {
    try (KvStore store = KvStore.open(Path.of(arguments[0]))) {
      byte[] key = "key".getBytes(UTF_8);
      store.put(key, new byte[10_000]);
      Bytes<?> offHeapKey = Bytes.allocateElasticDirect(16);
      offHeapKey.write(key);
      Bytes<?> target = Bytes.allocateElasticOnHeap(16);
      long length = store.get(offHeapKey, target);
      offHeapKey.releaseLast();
      store.compact();
      byte[] copy = store.get(key);
      System.out.println(length + " " + (copy == null ? -1 : copy.length));
    }
  }
}
