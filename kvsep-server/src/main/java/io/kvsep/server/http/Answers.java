package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import io.kvsep.server.json.JsonObject;

/** Short answers that are neither entries nor problems. */
final class Answers {
  private static final ResponseHeaders DONE = ResponseHeaders.of(HttpStatus.NO_CONTENT);
  private static final ResponseHeaders CREATED =
      ResponseHeaders.of(HttpStatus.CREATED, HttpHeaderNames.CONTENT_LENGTH, 0);
  private static final ResponseHeaders JSON =
      ResponseHeaders.builder(HttpStatus.OK)
          .contentType(MediaType.JSON)
          .set(HttpHeaderNames.CACHE_CONTROL, "no-store")
          .build();

  private Answers() {}

  static HttpResponse done() {
    return HttpResponse.of(DONE);
  }

  static HttpResponse created() {
    return HttpResponse.of(CREATED);
  }

  static HttpResponse json(JsonObject object) {
    return HttpResponse.of(JSON, HttpData.ofUtf8(object.toString()));
  }

  static HttpResponse json(byte[] object) {
    return HttpResponse.of(JSON, HttpData.wrap(object));
  }
}
