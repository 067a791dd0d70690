package io.kvsep.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ContentTooLargeException;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ProtocolViolationException;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseCompleteException;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.HttpResponseException;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.RequestTimeoutException;
import com.linecorp.armeria.server.ServerErrorHandler;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.ConflictException;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.error.StoreNotFoundException;
import io.kvsep.server.cluster.ClusterNode;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.Locale;
import java.util.Objects;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Maps errors to answers: one row for each kind of error. */
final class Problems implements ServerErrorHandler {
  private static final Logger LOG = Logger.getLogger("io.kvsep.server.http");
  private static final Pattern FULL_DISK =
      Pattern.compile("no space left|not enough space|disk quota", Pattern.CASE_INSENSITIVE);

  private final @Nullable ClusterNode node;

  /** Set for good when a sync has failed, so that /health reports it without a write. */
  private volatile boolean storeFailed;

  /**
   * @param node null on a server of one store
   */
  Problems(@Nullable ClusterNode node) {
    this.node = node;
  }

  boolean storeFailed() {
    return storeFailed;
  }

  @Override
  public HttpResponse onServiceException(ServiceRequestContext context, Throwable cause) {
    return response(context, cause).toHttpResponse();
  }

  /** Errors that Armeria finds, such as a request line that is too long. */
  @Override
  public AggregatedHttpResponse renderStatus(
      @Nullable ServiceRequestContext context,
      ServiceConfig config,
      @Nullable RequestHeaders headers,
      HttpStatus status,
      @Nullable String description,
      @Nullable Throwable cause) {
    if (cause instanceof Problem problem) {
      return problem.response();
    }
    if (cause instanceof HttpStatusException wrapped && wrapped.getCause() != null) {
      return response(context, wrapped.getCause());
    }
    String detail = Objects.requireNonNullElse(description, status.reasonPhrase());
    return switch (status.code()) {
      case 400 -> Problem.malformed(detail + pathHint(detail)).response();
      case 413 -> Problem.tooLarge("the body is longer than any that is taken").response();
      case 414 ->
          Problem.of(status, "limit-exceeded", "the target of the request is too long").response();
      case 431 ->
          Problem.of(status, "limit-exceeded", "the headers of the request are too long")
              .response();
      default -> Problem.of(status, kind(status), detail).response();
    };
  }

  AggregatedHttpResponse response(@Nullable ServiceRequestContext context, Throwable failure) {
    Throwable cause = Exceptions.peel(failure);
    if (cause instanceof RequestTimeoutException
        && context != null
        && !Dispatcher.hasBegun(context)) {
      return Problem.of(
              HttpStatus.REQUEST_TIMEOUT, "slow-request", "the request did not come fast enough")
          .header(HttpHeaderNames.CONNECTION, "close")
          .response();
    }
    if (cause instanceof Problem problem) {
      return problem.response();
    }
    if (cause instanceof HttpStatusException && cause.getCause() != null) {
      return response(context, cause.getCause());
    }
    if (cause instanceof HttpResponseException || cause instanceof HttpStatusException) {
      HttpStatus status =
          cause instanceof HttpStatusException known
              ? known.httpStatus()
              : HttpStatus.INTERNAL_SERVER_ERROR;
      return Problem.of(status, kind(status), status.reasonPhrase()).response();
    }
    return of(cause).response();
  }

  private Problem of(Throwable cause) {
    String unavailable = node == null ? null : node.unavailable(cause);
    if (unavailable != null) {
      return ClusterRequests.unavailable(unavailable);
    }
    String crossShard = node == null ? null : node.crossShard(cause);
    if (crossShard != null) {
      return Problem.of(HttpStatus.CONFLICT, "cross-shard", crossShard);
    } else if (cause instanceof KvException error) {
      return of(error);
    } else if (cause instanceof ContentTooLargeException) {
      return Problem.tooLarge("the body is longer than any that is taken");
    } else if (cause instanceof RequestTimeoutException) {
      return Problem.of(
          HttpStatus.SERVICE_UNAVAILABLE,
          "timeout",
          "the request took too long; a write may have been carried out or not");
    } else if (cause instanceof IllegalArgumentException) {
      return Problem.malformed(detail(cause));
    } else if (cause instanceof IllegalStateException) {
      return Problem.of(HttpStatus.CONFLICT, "wrong-state", detail(cause));
    } else if (cause instanceof UnsupportedOperationException) {
      return Problem.of(HttpStatus.NOT_IMPLEMENTED, "not-supported", detail(cause));
    } else if (cause instanceof OutOfMemoryError) {
      return Problem.overloaded("not enough memory for this request");
    }
    if (cause instanceof ProtocolViolationException
        || cause instanceof ResponseCompleteException
        || Exceptions.isExpected(cause)
        || Exceptions.isStreamCancelling(cause)) {
      // Mostly a client that left during its request and will not see the answer.
      return Problem.malformed("the request is not complete, or is no HTTP");
    }
    LOG.log(Level.WARNING, "a request failed: " + cause, cause);
    return Problem.of(
        HttpStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "an unexpected error; the server's log tells");
  }

  /** The error table, row by row. */
  private Problem of(KvException error) {
    if (error instanceof CorruptionException damage) {
      LOG.log(Level.WARNING, damage.getMessage());
      Problem problem = Problem.of(HttpStatus.INTERNAL_SERVER_ERROR, "corruption", detail(damage));
      problem
          .more()
          .put("file", damage.file())
          .put("offset", damage.offset())
          .put("expected", damage.expected())
          .put("found", damage.found());
      return problem;
    } else if (error instanceof StorageException) {
      return isFullDisk(error)
          ? Problem.of(HttpStatus.INSUFFICIENT_STORAGE, "disk-full", detail(error))
          : Problem.of(HttpStatus.INTERNAL_SERVER_ERROR, "storage", detail(error));
    } else if (error instanceof StoreFailedException) {
      storeFailed = true;
      return Problem.of(HttpStatus.SERVICE_UNAVAILABLE, "store-failed", detail(error));
    } else if (error instanceof StoreClosedException) {
      return Problem.of(HttpStatus.SERVICE_UNAVAILABLE, "store-closed", detail(error));
    } else if (error instanceof StoreLockedException) {
      return Problem.of(HttpStatus.SERVICE_UNAVAILABLE, "store-locked", detail(error));
    } else if (error instanceof ChangesLostException lost) {
      Problem problem = Problem.of(HttpStatus.GONE, "changes-lost", detail(lost));
      problem.more().put("position", lost.position()).put("lostSequence", lost.lostSequence());
      return problem;
    } else if (error instanceof ConflictException) {
      return Problem.of(HttpStatus.CONFLICT, "conflict", detail(error));
    } else if (error instanceof LimitExceededException) {
      return Problem.tooLarge(detail(error));
    } else if (error instanceof ReadOnlyStoreException) {
      return Problem.of(HttpStatus.CONFLICT, "wrong-state", detail(error));
    } else if (error instanceof StoreNotFoundException) {
      return Problem.of(HttpStatus.INTERNAL_SERVER_ERROR, "store-not-found", detail(error));
    } else if (error instanceof IncompatibleFormatException format) {
      Problem problem =
          Problem.of(HttpStatus.INTERNAL_SERVER_ERROR, "incompatible-format", detail(error));
      problem.more().put("file", format.file()).put("reason", format.reason().name());
      return problem;
    }
    throw new AssertionError(error);
  }

  /** The JDK has no type for it, but every system's message names space or quota. */
  private static boolean isFullDisk(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException refusal && FULL_DISK.matcher(words(refusal)).find()) {
        return true;
      }
    }
    return false;
  }

  /** Without the path, which may contain any words. */
  private static String words(IOException refusal) {
    return String.valueOf(
        refusal instanceof FileSystemException file ? file.getReason() : refusal.getMessage());
  }

  private static String detail(Throwable error) {
    return Objects.requireNonNullElse(error.getMessage(), error.getClass().getSimpleName());
  }

  private static String pathHint(String detail) {
    return detail.contains("path")
        ? "; keys with control characters or with .. between slashes go by /v1/keys64/,"
            + " and a % takes two hexadecimal digits"
        : "";
  }

  private static String kind(HttpStatus status) {
    return status.reasonPhrase().toLowerCase(Locale.ROOT).replace(' ', '-');
  }
}
