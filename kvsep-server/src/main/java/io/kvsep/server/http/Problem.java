package io.kvsep.server.http;

import static java.util.stream.Collectors.joining;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpHeadersBuilder;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import io.kvsep.server.json.JsonObject;
import java.util.Collection;

/**
 * An error answer as in RFC 9457. Has no stack trace, since it reports a refused request and not a
 * defect.
 */
final class Problem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Values are untrusted bytes; a browser must not interpret one as a page. */
  static final String SNIFFING = "x-content-type-options";

  static final String NO_SNIFFING = "nosniff";

  private static final MediaType TYPE = MediaType.create("application", "problem+json");

  private final transient HttpStatus status;
  private final String kind;
  private final transient JsonObject body;
  private final transient HttpHeadersBuilder headers = HttpHeaders.builder();

  private Problem(HttpStatus status, String kind, String detail) {
    super(detail, null, false, false);
    this.status = status;
    this.kind = kind;
    this.body =
        new JsonObject()
            .put("type", "urn:kvsep:problem:" + kind)
            .put("title", status.reasonPhrase())
            .put("status", status.code())
            .put("detail", detail);
  }

  static Problem of(HttpStatus status, String kind, String detail) {
    return new Problem(status, kind, detail);
  }

  static Problem malformed(String detail) {
    return new Problem(HttpStatus.BAD_REQUEST, "malformed-request", detail);
  }

  static Problem tooLarge(String detail) {
    return new Problem(HttpStatus.REQUEST_ENTITY_TOO_LARGE, "limit-exceeded", detail);
  }

  static Problem noSuchResource() {
    return new Problem(HttpStatus.NOT_FOUND, "no-such-resource", "there is nothing here");
  }

  /**
   * @param allowed the methods of the resource, which RFC 9110 requires in the answer
   */
  static Problem notAllowed(Collection<HttpMethod> allowed) {
    String methods = allowed.stream().sorted().map(HttpMethod::name).collect(joining(", "));
    return new Problem(
            HttpStatus.METHOD_NOT_ALLOWED, "method-not-allowed", "that cannot be done here")
        .header(HttpHeaderNames.ALLOW, methods);
  }

  /** A temporary condition; clients may retry. */
  static Problem overloaded(String detail) {
    return new Problem(HttpStatus.SERVICE_UNAVAILABLE, "overloaded", detail)
        .header(HttpHeaderNames.RETRY_AFTER, "1");
  }

  Problem header(CharSequence name, String value) {
    headers.set(name, value);
    return this;
  }

  /** The body, for members in addition to the detail. */
  JsonObject more() {
    return body;
  }

  HttpStatus status() {
    return status;
  }

  String kind() {
    return kind;
  }

  AggregatedHttpResponse response() {
    ResponseHeaders all =
        ResponseHeaders.builder(status)
            .add(headers.build())
            .contentType(TYPE)
            .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .set(SNIFFING, NO_SNIFFING)
            .build();
    return AggregatedHttpResponse.of(all, HttpData.ofUtf8(body.toString()));
  }
}
