package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpObject;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.stream.SubscriptionOption;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.ServiceRequestContext;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Collects a request body in one array as its pieces arrive, so it is on the heap once. Needs
 * {@code Content-Length}; without it a body may have at most {@value #UNANNOUNCED_BYTES_MAX} bytes,
 * and the array grows.
 *
 * <p>Each piece that arrives extends {@link HttpLimits#requestTime}, so a client that sends nothing
 * cannot keep the memory reserved for it. Reserved bytes are released at the end of the visit.
 */
final class BodyReader implements Subscriber<HttpObject> {
  static final int UNANNOUNCED_BYTES_MAX = 1 << 20;

  private static final int FIRST_BYTES = 4096;
  private static final String IDENTITY = "identity";

  private final AdmissionControl.Visit visit;
  private final int bytesMax;
  private final boolean isAnnounced;
  private final ServiceRequestContext context;
  private final HttpLimits limits;
  private final long startNanos = System.nanoTime();
  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
  private Subscription subscription = NO_SUBSCRIPTION;
  private byte[] bytes;
  private int length;

  /** Value of {@code length} when the timeout was last set. */
  private int timedLength;

  private static final Subscription NO_SUBSCRIPTION =
      new Subscription() {
        @Override
        public void request(long count) {}

        @Override
        public void cancel() {}
      };

  private BodyReader(
      ServiceRequestContext context,
      HttpLimits limits,
      AdmissionControl.Visit visit,
      int bytesMax,
      long announced) {
    this.context = context;
    this.limits = limits;
    this.visit = visit;
    this.bytesMax = bytesMax;
    this.isAnnounced = announced >= 0;
    if (announced > bytesMax) {
      throw tooLong();
    }
    int first = isAnnounced ? (int) announced : FIRST_BYTES;
    visit.reserve(first);
    this.bytes = new byte[first];
  }

  static CompletableFuture<byte[]> read(
      ServiceRequestContext context,
      HttpRequest request,
      HttpLimits limits,
      int bytesMax,
      AdmissionControl.Visit visit) {
    requireWhole(request.headers());
    // Armeria has rejected malformed lengths and bodies that do not match them.
    long announced = request.headers().getLong(HttpHeaderNames.CONTENT_LENGTH, -1);
    BodyReader reader = new BodyReader(context, limits, visit, bytesMax, announced);
    reader.setTime();
    request.subscribe(reader, context.eventLoop(), SubscriptionOption.WITH_POOLED_OBJECTS);
    return reader.whole;
  }

  /** Refuses partial and compressed bodies, which would be stored as if complete. */
  private static void requireWhole(RequestHeaders headers) {
    if (headers.contains(HttpHeaderNames.CONTENT_RANGE)) {
      throw Problem.malformed("Content-Range: a body is taken as a whole only");
    }
    for (String encoding : headers.getAll(HttpHeaderNames.CONTENT_ENCODING)) {
      if (!encoding.strip().equalsIgnoreCase(IDENTITY)) {
        throw Problem.of(
                HttpStatus.UNSUPPORTED_MEDIA_TYPE,
                "unsupported-encoding",
                "Content-Encoding: bodies are taken as they are, and not unpacked")
            .header(HttpHeaderNames.ACCEPT_ENCODING, IDENTITY);
      }
    }
  }

  @Override
  public void onSubscribe(Subscription begun) {
    subscription = begun;
    begun.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(HttpObject part) {
    if (part instanceof HttpData data) {
      try (data) {
        if (!whole.isDone()) {
          append(data);
        }
      } catch (Problem e) {
        whole.completeExceptionally(e);
        subscription.cancel();
      }
    }
  }

  private void append(HttpData data) {
    int count = data.length();
    if (count > bytes.length - length) {
      grow(count);
    }
    data.byteBuf().getBytes(data.byteBuf().readerIndex(), bytes, length, count);
    length += count;
    if (length - timedLength >= limits.bytesPerSecondMin()) {
      setTime();
    }
  }

  /** Allows the received bytes their time, and the rest the time of any request. */
  private void setTime() {
    timedLength = length;
    long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    context.setRequestTimeoutMillis(
        TimeoutMode.SET_FROM_NOW, Math.max(1, limits.millisFor(length) - passed));
  }

  private void grow(int count) {
    if (isAnnounced) {
      throw Problem.malformed("the body is longer than Content-Length says");
    }
    if (count > bytesMax - length) {
      throw tooLong();
    }
    if (count > UNANNOUNCED_BYTES_MAX - length) {
      throw Problem.of(
          HttpStatus.LENGTH_REQUIRED,
          "length-required",
          "a body of more than " + UNANNOUNCED_BYTES_MAX + " bytes needs Content-Length");
    }
    int wanted = Math.min(UNANNOUNCED_BYTES_MAX, Math.max(2 * bytes.length, length + count));
    visit.reserve(wanted - bytes.length);
    bytes = Arrays.copyOf(bytes, wanted);
  }

  private Problem tooLong() {
    return Problem.tooLarge("the body is longer than " + bytesMax + " bytes");
  }

  @Override
  public void onError(Throwable cause) {
    whole.completeExceptionally(cause);
  }

  @Override
  public void onComplete() {
    try {
      if (isAnnounced && length < bytes.length) {
        throw Problem.malformed("the body is shorter than Content-Length says");
      }
      whole.complete(length == bytes.length ? bytes : Arrays.copyOf(bytes, length));
    } catch (Problem | OutOfMemoryError e) {
      // Armeria would ignore the exception, and the visit would never end.
      whole.completeExceptionally(e);
    }
  }
}
