package io.kvsep.server.http;

import com.linecorp.armeria.common.FlagsProvider;

/**
 * Overrides Armeria's defaults that would refuse or cut off valid keys, or cache what clients send.
 * Loaded as a service when the first Armeria class needs a flag, for the whole process; therefore
 * public.
 */
public final class PathFlags implements FlagsProvider {
  /** Armeria's cache specification for no cache. */
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
   * Paths contain keys, so nearly each request would add an entry for good, of up to hundreds of KB
   * with its target and headers. There is only one route, which is found as fast without.
   */
  @Override
  public String routeCacheSpec() {
    return NONE;
  }

  @Override
  public String routeDecoratorCacheSpec() {
    return NONE;
  }

  /** The cache limits the number of paths, not their length. */
  @Override
  public String parsedPathCacheSpec() {
    return NONE;
  }

  /** The cache limits the number of values, not their length. */
  @Override
  public String headerValueCacheSpec() {
    return NONE;
  }
}
