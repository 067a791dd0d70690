package io.kvsep.server.http;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Address, credentials and limits of a server. Immutable; {@code HttpOptions.builder()…build()}.
 */
public final class HttpOptions {
  private static final int TOKEN_CHARACTERS_MIN = 8;

  private final Builder values;

  private HttpOptions(Builder values) {
    this.values = values;
  }

  public static Builder builder() {
    return new Builder();
  }

  InetSocketAddress address() {
    return new InetSocketAddress(values.bind, values.port);
  }

  @Nullable String token() {
    return values.token;
  }

  @Nullable String readToken() {
    return values.readToken;
  }

  HttpLimits limits() {
    return values.limits;
  }

  /** Whether clients must use TLS. */
  public boolean isEncrypted() {
    return values.certificate != null;
  }

  @Nullable Path certificate() {
    return values.certificate;
  }

  @Nullable Path key() {
    return values.key;
  }

  @Nullable Path checkpoints() {
    return values.checkpoints;
  }

  Map<String, String> redirects() {
    return values.redirects;
  }

  /** Collects options; not thread safe. */
  public static final class Builder {
    private InetAddress bind = InetAddress.getLoopbackAddress();
    private int port;
    private @Nullable String token;
    private @Nullable String readToken;
    private HttpLimits limits = HttpLimits.defaults();
    private @Nullable Path certificate;
    private @Nullable Path key;
    private @Nullable Path checkpoints;
    private Map<String, String> redirects = Map.of();

    private Builder() {}

    /** The local address to listen on. Default: loopback. Other addresses require a token. */
    public Builder bind(InetAddress address) {
      bind = Objects.requireNonNull(address, "address");
      return this;
    }

    /** The port; 0, the default, picks a free one. */
    public Builder port(int number) {
      port = number;
      return this;
    }

    /** The bearer token that clients must send: at least 8 visible ASCII characters. */
    public Builder token(@Nullable String secret) {
      token = secret;
      return this;
    }

    /** A second token that permits reading only. Requires {@code token} and must differ from it. */
    public Builder readToken(@Nullable String secret) {
      readToken = secret;
      return this;
    }

    public Builder limits(HttpLimits bounds) {
      limits = Objects.requireNonNull(bounds, "limits");
      return this;
    }

    /** Encrypts all connections; certificate chain and private key (PKCS #8) in PEM. */
    public Builder tls(Path certificateChain, Path privateKey) {
      certificate = Objects.requireNonNull(certificateChain, "certificateChain");
      key = Objects.requireNonNull(privateKey, "privateKey");
      return this;
    }

    /** The directory in which clients may create checkpoints; null, the default, forbids them. */
    public Builder checkpoints(@Nullable Path directory) {
      checkpoints = directory;
      return this;
    }

    /**
     * Addresses of the servers of a cluster, such as {@code http://10.0.0.1:8480}, by the names of
     * their nodes: clients are redirected to that of the leader. Empty, the default, lets each node
     * forward what the leader has to do.
     */
    public Builder redirects(Map<String, String> addresses) {
      redirects = Map.copyOf(addresses);
      return this;
    }

    /** Returns the options; throws {@link IllegalArgumentException} if they are inconsistent. */
    public HttpOptions build() {
      if (port < 0 || port > 65_535) {
        throw new IllegalArgumentException("port must be from 0 to 65535, is " + port);
      }
      if (token == null && !bind.isLoopbackAddress()) {
        throw new IllegalArgumentException(
            "serving at " + bind.getHostAddress() + " needs a token: others can reach it");
      }
      checkToken("the token", token);
      checkToken("the token that only reads", readToken);
      if (readToken != null && (token == null || token.equals(readToken))) {
        throw new IllegalArgumentException(
            "a token that only reads needs another one beside it that may write");
      }
      Builder copy = new Builder();
      copy.bind = bind;
      copy.port = port;
      copy.token = token;
      copy.readToken = readToken;
      copy.limits = limits;
      copy.certificate = certificate;
      copy.key = key;
      copy.checkpoints = checkpoints;
      copy.redirects = redirects;
      return new HttpOptions(copy);
    }

    private static void checkToken(String name, @Nullable String token) {
      if (token != null
          && (token.length() < TOKEN_CHARACTERS_MIN
              || !token.chars().allMatch(character -> character > ' ' && character < 0x7f))) {
        throw new IllegalArgumentException(
            name
                + " must have at least "
                + TOKEN_CHARACTERS_MIN
                + " characters, all of them visible ASCII");
      }
    }
  }
}
