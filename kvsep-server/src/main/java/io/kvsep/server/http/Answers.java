package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import io.kvsep.server.json.JsonObject;

/** Answers of few bytes that are not an entry and no problem. */
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

  /** Nothing to say but that it was done. */
  static HttpResponse done() {
    return HttpResponse.of(DONE);
  }

  /** The same, and something is there that was not. */
  static HttpResponse created() {
    return HttpResponse.of(CREATED);
  }

  static HttpResponse json(JsonObject object) {
    return HttpResponse.of(JSON, HttpData.ofUtf8(object.toString()));
  }

  /** One that is text already, in UTF-8. */
  static HttpResponse json(byte[] object) {
    return HttpResponse.of(JSON, HttpData.wrap(object));
  }
}
