package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.Supplier;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Values that are appended to whatever kind of bytes a user has, behind what is there. */
final class UserBytesTest {
  private static final int ROOM = 6_000;
  private static final byte[] BEFORE = {1, 2, 3};

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region source = ledger.allocate(MemoryPurpose.READ, ROOM);
  private final byte[] content = new byte[ROOM];

  UserBytesTest() {
    new Random(5).nextBytes(content);
    source.put(0, content, 0, ROOM);
  }

  @AfterEach
  void free() {
    source.free();
    assertEquals(0, ledger.totalBytes());
  }

  private static Map<String, Supplier<Bytes<?>>> kinds() {
    Map<String, Supplier<Bytes<?>>> kinds = new LinkedHashMap<>();
    kinds.put("elastic, on the heap", () -> Bytes.allocateElasticOnHeap(8));
    kinds.put("an array", () -> Bytes.wrapForWrite(new byte[ROOM]));
    kinds.put("a buffer", () -> Bytes.wrapForWrite(ByteBuffer.allocate(ROOM)));
    kinds.put("a part of a buffer", () -> Bytes.wrapForWrite(slice(ByteBuffer.allocate(2 * ROOM))));
    kinds.put(
        "a part of an array",
        () -> BytesStore.wrap(new byte[2 * ROOM]).subBytes(9, ROOM).bytesForWrite());
    kinds.put("elastic, off the heap", Bytes::allocateElasticDirect);
    return kinds;
  }

  private static ByteBuffer slice(ByteBuffer whole) {
    return whole.position(100).slice();
  }

  @Test
  void bytesOfAnyKindGetTheValueBehindWhatTheyHave() {
    kinds()
        .forEach(
            (name, kind) -> {
              for (int length : new int[] {0, 1, 7, 8, 9, 31, 300, 5_000}) {
                Bytes<?> target = kind.get();
                target.write(BEFORE);
                UserBytes.append(source, 13, length, target);
                byte[] expected = new byte[BEFORE.length + length];
                System.arraycopy(BEFORE, 0, expected, 0, BEFORE.length);
                System.arraycopy(content, 13, expected, BEFORE.length, length);
                assertArrayEquals(expected, target.toByteArray(), () -> name + ", " + length);
                target.releaseLast();
              }
            });
  }

  @Test
  void anArrayWithoutRoomIsLeftAsItIs() {
    byte[] array = new byte[20];
    Bytes<?> target = Bytes.wrapForWrite(array);
    target.write(BEFORE);
    assertThrows(BufferOverflowException.class, () -> UserBytes.append(source, 0, 18, target));
    assertArrayEquals(BEFORE, target.toByteArray());
    assertEquals(0, array[BEFORE.length]);
    UserBytes.append(source, 0, 17, target);
    assertEquals(content[16], array[19]);
  }

  @Test
  void releasedBytesAreRefusedAndTheirFormerMemoryIsLeftAlone() {
    Bytes<?> gone = Bytes.allocateElasticDirect(100);
    gone.write(BEFORE);
    BytesStore<?, ?> store = Objects.requireNonNull(gone.bytesStore());
    gone.releaseLast();
    Region target = ledger.allocate(MemoryPurpose.READ, 100);
    assertThrows(IllegalStateException.class, () -> UserBytes.append(source, 0, 17, gone));
    assertThrows(IllegalStateException.class, () -> UserBytes.copy(gone, target, 0));
    assertThrows(IllegalStateException.class, () -> UserBytes.copy(store, target, 0));
    target.free();
  }
}
