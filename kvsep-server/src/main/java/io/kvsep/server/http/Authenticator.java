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
 * Decides which requests may proceed. With a token, requests must carry it; the read-only token
 * admits reads. Without a token the server listens on loopback only, but web pages of other origins
 * in a local browser can reach it. Their requests name a foreign origin, or after DNS rebinding a
 * foreign host, and are refused.
 */
final class Authenticator {
  private static final String BEARER = "bearer ";
  private static final AsciiString SITE = AsciiString.cached("sec-fetch-site");
  private static final Set<String> OWN_SITES = Set.of("same-origin", "none");

  private final byte @Nullable [] tokenDigest;
  private final byte @Nullable [] readTokenDigest;

  /** The authority last found to be local. Avoids parsing it for nearly every request. */
  private volatile @Nullable String localAuthority;

  Authenticator(@Nullable String token, @Nullable String readToken) {
    tokenDigest = token == null ? null : digest(token);
    readTokenDigest = readToken == null ? null : digest(readToken);
  }

  /** Returns whether the request may also write. Throws a {@link Problem} if it is refused. */
  boolean check(RequestHeaders headers, boolean isOpen) {
    if (tokenDigest == null) {
      requireLocalName(headers.authority());
    }
    String site = headers.get(SITE);
    // Browsers send this header for links on other sites too; those may lead to open routes.
    boolean isForeign = site != null && !OWN_SITES.contains(site) && !isOpen;
    String origin = headers.get(HttpHeaderNames.ORIGIN);
    if (isForeign || (origin != null && !isOwn(origin, headers.authority()))) {
      throw Problem.of(
          HttpStatus.FORBIDDEN, "foreign-origin", "pages of other origins may not ask here");
    }
    if (tokenDigest == null) {
      return true;
    }
    byte[] shown = shownDigest(headers);
    boolean mayWrite = shown != null && MessageDigest.isEqual(tokenDigest, shown);
    boolean mayRead =
        mayWrite
            || isOpen
            || (shown != null
                && readTokenDigest != null
                && MessageDigest.isEqual(readTokenDigest, shown));
    if (!mayRead) {
      throw Problem.of(HttpStatus.UNAUTHORIZED, "no-token", "a bearer token is needed")
          .header(HttpHeaderNames.WWW_AUTHENTICATE, "Bearer realm=\"kvsep\"");
    }
    return mayWrite;
  }

  /**
   * Null without a bearer token. Digests have one length, so comparison time reveals neither length
   * nor content of the token.
   */
  private static byte @Nullable [] shownDigest(RequestHeaders headers) {
    String shown = headers.get(HttpHeaderNames.AUTHORIZATION);
    return shown != null && shown.regionMatches(true, 0, BEARER, 0, BEARER.length())
        ? digest(shown.substring(BEARER.length()).strip())
        : null;
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
