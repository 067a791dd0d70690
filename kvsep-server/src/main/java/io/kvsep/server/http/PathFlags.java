package io.kvsep.server.http;

import com.linecorp.armeria.common.FlagsProvider;

/**
 * What Armeria's defaults would refuse or cut off although it is a proper part of a key. Found by
 * the library through its service file, and therefore public.
 */
public final class PathFlags implements FlagsProvider {
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
}
