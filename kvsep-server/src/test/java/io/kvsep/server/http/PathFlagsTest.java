package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertNull;

import com.linecorp.armeria.common.Flags;
import org.junit.jupiter.api.Test;

/** What the library makes of them. */
final class PathFlagsTest {
  @Test
  void nothingOfARequestIsKept() {
    assertNull(Flags.routeCacheSpec());
    assertNull(Flags.routeDecoratorCacheSpec());
    assertNull(Flags.parsedPathCacheSpec());
    assertNull(Flags.headerValueCacheSpec());
  }
}
