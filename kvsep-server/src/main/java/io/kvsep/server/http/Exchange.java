package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One request being handled.
 *
 * @param values variables of the route, still encoded
 * @param query null if there is none
 * @param body empty if the operation takes none
 * @param visit null if there is no body
 */
record Exchange(
    ServiceRequestContext context,
    RequestHeaders headers,
    Route route,
    List<String> values,
    @Nullable String query,
    byte[] body,
    AdmissionControl.@Nullable Visit visit) {
  static final int KEY_BYTES_MAX = 65_535;

  Exchange with(byte[] received, AdmissionControl.Visit reserving) {
    return new Exchange(context, headers, route, values, query, received, reserving);
  }

  /**
   * Reserves memory in addition to the body until the request ends; throws if the limit is
   * exceeded.
   */
  void reserve(long bytes) {
    if (visit != null) {
      visit.reserve(bytes);
    }
  }

  boolean isHead() {
    return headers.method() == HttpMethod.HEAD;
  }

  /** Decodes the last variable of the route: percent-encoded, or base64url below {@code keys64}. */
  byte[] key() {
    requireNoQuery();
    String text = values.get(values.size() - 1);
    byte[] key =
        route.hasBase64Key() ? Percent.base64("the key", text) : Percent.decode("the key", text);
    return checked(key);
  }

  /** A query here is most likely part of the key: the path before it would name another entry. */
  void requireNoQuery() {
    if (query != null) {
      throw Problem.malformed("there are no parameters here; a ? in a name is written %3F");
    }
  }

  static byte[] checked(byte[] key) {
    if (key.length == 0) {
      throw Problem.malformed("the key is empty");
    }
    if (key.length > KEY_BYTES_MAX) {
      throw Problem.tooLarge("the key has " + key.length + " bytes, the limit is " + KEY_BYTES_MAX);
    }
    return key;
  }

  /** Null for the default keyspace. */
  @Nullable String keyspace() {
    return route.isInKeyspace() ? Percent.text("the name of the keyspace", values.get(0)) : null;
  }

  Parameters parameters(Set<String> known) {
    return Parameters.of(query, known);
  }
}
