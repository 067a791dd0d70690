package io.kvsep.server.http;

import com.linecorp.armeria.common.FlagsProvider;

/**
 * What of Armeria's defaults does not do here: it would refuse or cut off what is a proper part of
 * a key, and keep what strangers have sent. Found by the library through its service file when the
 * first of its classes asks for a flag, whoever uses that, and therefore public.
 */
public final class PathFlags implements FlagsProvider {
  /** The library's word for no cache. */
  private static final String NONE = "off";

  @Override
  public int priority() {
    return 100;
  }

  @Override
  public Boolean allowSemicolonInPathComponent() {
    return true;
  }

  @Override
  public Boolean allowDoubleDotsInQueryString() {
    return true;
  }

  /**
   * Keys are a part of the path here, so that nearly each request would be an entry of its own:
   * with its target and all its headers, hundreds of KB of each, for good. There is one route, and
   * to find it takes no longer.
   */
  @Override
  public String routeCacheSpec() {
    return NONE;
  }

  @Override
  public String routeDecoratorCacheSpec() {
    return NONE;
  }

  /** Bounded by the number of paths, whatever their length. */
  @Override
  public String parsedPathCacheSpec() {
    return NONE;
  }

  /** Bounded by the number of values, whatever their length. */
  @Override
  public String headerValueCacheSpec() {
    return NONE;
  }
}
