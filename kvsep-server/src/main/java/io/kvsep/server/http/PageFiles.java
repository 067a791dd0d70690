package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Objects;

/** The dashboard at {@code /} and the OpenAPI document: static files of the jar. */
final class PageFiles {
  /** Loads only these files and answers of this server; forbids framing. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
          + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private PageFiles() {}

  /**
   * @param name resource next to this class
   */
  static Route.Handler file(String name, String contentType) {
    byte[] content = content(name);
    String tag = tag(content);
    ResponseHeaders headers =
        ResponseHeaders.of(
                HttpStatus.OK,
                HttpHeaderNames.CONTENT_TYPE,
                contentType,
                HttpHeaderNames.ETAG,
                tag,
                HttpHeaderNames.CACHE_CONTROL,
                "no-cache")
            .toBuilder()
            .contentLength(content.length)
            .set(HttpHeaderNames.CONTENT_SECURITY_POLICY, POLICY)
            .set(HttpHeaderNames.REFERRER_POLICY, "no-referrer")
            .set("cross-origin-opener-policy", "same-origin")
            .build();
    ResponseHeaders same = ResponseHeaders.of(HttpStatus.NOT_MODIFIED, HttpHeaderNames.ETAG, tag);
    return exchange -> {
      if (Preconditions.of(exchange.headers()).isNotModified(tag)) {
        return HttpResponse.of(same);
      }
      return exchange.isHead()
          ? HttpResponse.of(headers)
          : HttpResponse.of(headers, HttpData.wrap(content));
    };
  }

  private static String tag(byte[] content) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(content);
      return '"' + Base64.getUrlEncoder().withoutPadding().encodeToString(digest) + '"';
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  private static byte[] content(String name) {
    try (InputStream file =
        Objects.requireNonNull(PageFiles.class.getResourceAsStream(name), name)) {
      return file.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
