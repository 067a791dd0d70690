package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who may ask. With a token, who shows it. Without one the server is reachable from this machine
 * only, but that includes pages of strangers in a browser on it: their requests name where they
 * come from, or, after tricks with names, reach us under a name that is not ours.
 */
final class Access {
  private static final String BEARER = "bearer ";
  private static final AsciiString SITE = AsciiString.cached("sec-fetch-site");
  private static final Set<String> OWN_SITES = Set.of("same-origin", "none");

  private final byte @Nullable [] tokenDigest;

  /** The name found to be local last, by which nearly all requests come. */
  private volatile @Nullable String localAuthority;

  Access(@Nullable String token) {
    tokenDigest = token == null ? null : digest(token);
  }

  /** Throws a {@link Problem} unless the request may go on. */
  void check(RequestHeaders headers, boolean isOpen) {
    if (tokenDigest == null) {
      requireLocalName(headers.authority());
    }
    String site = headers.get(SITE);
    // Without this header a link on another page could still lead to the page itself.
    boolean isForeign = site != null && !OWN_SITES.contains(site) && !isOpen;
    String origin = headers.get(HttpHeaderNames.ORIGIN);
    if (isForeign || (origin != null && !isOwn(origin, headers.authority()))) {
      throw Problem.of(
          HttpStatus.FORBIDDEN, "foreign-origin", "pages of other origins may not ask here");
    }
    if (tokenDigest != null && !isOpen && !showsToken(headers, tokenDigest)) {
      throw Problem.of(HttpStatus.UNAUTHORIZED, "no-token", "a bearer token is needed")
          .header(HttpHeaderNames.WWW_AUTHENTICATE, "Bearer realm=\"kvsep\"");
    }
  }

  /** Digests have one length, so that the time it takes tells neither length nor content. */
  private static boolean showsToken(RequestHeaders headers, byte[] expected) {
    String shown = headers.get(HttpHeaderNames.AUTHORIZATION);
    boolean isBearer = shown != null && shown.regionMatches(true, 0, BEARER, 0, BEARER.length());
    String token = shown != null && isBearer ? shown.substring(BEARER.length()).strip() : "";
    return MessageDigest.isEqual(expected, digest(token)) && isBearer;
  }

  private static boolean isOwn(String origin, @Nullable String authority) {
    int host = origin.indexOf("://");
    return host >= 0 && authority != null && origin.substring(host + 3).equals(authority);
  }

  private void requireLocalName(@Nullable String authority) {
    if (authority != null && authority.equals(localAuthority)) {
      return;
    }
    String name = authority == null ? "" : authority.toLowerCase(Locale.ROOT);
    int port = name.lastIndexOf(':');
    if (port > name.lastIndexOf(']')) {
      name = name.substring(0, port);
    }
    boolean isLocal =
        name.equals("localhost")
            || name.equals("[::1]")
            || (name.startsWith("127.") && NetUtil.isValidIpV4Address(name));
    if (!isLocal) {
      throw Problem.of(
          HttpStatus.FORBIDDEN,
          "foreign-host",
          "without a token this server answers to localhost and loopback addresses only");
    }
    localAuthority = authority;
  }

  private static byte[] digest(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
