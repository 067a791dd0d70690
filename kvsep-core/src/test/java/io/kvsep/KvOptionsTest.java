package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Clock;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The default options of a store. */
final class KvOptionsTest {
  @Test
  void theDefaultsAreThoseThatAreDocumented() {
    for (KvOptions options : List.of(KvOptions.defaults(), KvOptions.builder().build())) {
      assertEquals(Durability.async(Duration.ofSeconds(1)), options.durability());
      assertEquals(256L << 20, options.memoryBudgetBytes());
      assertEquals(256, options.inlineValueBytesMax());
      assertEquals(256L << 20, options.segmentBytes());
      assertEquals(ValueCompression.LZ4, options.valueCompression());
      assertEquals(1 << 10, options.valueCompressionBytesMin());
      assertEquals(ValueCompression.NONE, options.keyBlockCompression());
      assertEquals(1.5, options.spaceAmplificationMax());
      assertEquals(0, options.changeRetentionBytes());
      assertTrue(options.backgroundThreads() >= 2 && options.backgroundThreads() <= 8);
      assertTrue(options.verifyValues());
      assertFalse(options.readOnly());
      assertTrue(options.createIfMissing());
      assertFalse(options.exclusive());
      assertEquals(Clock.systemUTC(), options.clock());
    }
  }

  @Test
  void durabilitiesAreEqualWhenTheyAskForTheSame() {
    Duration second = Duration.ofMillis(500).plusMillis(500);
    Durability async = Durability.async(Duration.ofSeconds(1));
    assertEquals(async, Durability.async(second));
    assertEquals(async.hashCode(), Durability.async(second).hashCode());
    assertNotEquals(async, Durability.async(Duration.ofSeconds(2)));
    assertNotEquals(async, Durability.none());
    assertNotEquals(Durability.sync(), async);
    assertNotEquals(Durability.sync(), Durability.none());
    assertSame(Durability.sync(), Durability.sync());
    assertSame(Durability.none(), Durability.none());
    assertEquals("async(PT1S)", async.toString());
  }
}
