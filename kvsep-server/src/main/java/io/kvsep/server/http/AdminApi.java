package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import io.kvsep.KvStore;
import io.kvsep.server.json.JsonObject;
import io.kvsep.server.json.StoreFigures;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** {@code /v1/admin/…}: maintenance of the store. Runs one operation at a time, except syncs. */
final class AdminApi {
  private static final String NAME = "[A-Za-z0-9_][A-Za-z0-9._-]{0,99}";

  private final KvStore store;
  private final @Nullable Path checkpoints;
  private final ReentrantLock one = new ReentrantLock();

  AdminApi(KvStore store, @Nullable Path checkpoints) {
    this.store = store;
    this.checkpoints = checkpoints;
  }

  HttpResponse sync(Exchange exchange) {
    store.sync();
    return Answers.done();
  }

  HttpResponse flush(Exchange exchange) {
    return alone(
        () -> {
          store.flush();
          return Answers.done();
        });
  }

  HttpResponse compact(Exchange exchange) {
    return alone(
        () -> {
          store.compact();
          return Answers.done();
        });
  }

  HttpResponse reclaim(Exchange exchange) {
    return alone(() -> Answers.json(StoreFigures.json(store.reclaim())));
  }

  /** Answers 200 even if it finds damage: the report is the result. */
  HttpResponse verify(Exchange exchange) {
    return alone(() -> Answers.json(StoreFigures.json(store.verify())));
  }

  HttpResponse checkpoint(Exchange exchange) {
    Path parent = checkpoints;
    if (parent == null) {
      throw Problem.of(
          HttpStatus.FORBIDDEN,
          "no-checkpoints",
          "the server was started without a directory for checkpoints");
    }
    Document document = Document.one(exchange);
    document.allow(Set.of("name"));
    String name = document.requiredText("name");
    if (!name.matches(NAME)) {
      throw Problem.malformed(
          "a name has 1 to 100 letters, digits, dots, dashes and underscores of ASCII, and begins"
              + " with none of dot and dash");
    }
    Path target = parent.resolve(name);
    return alone(
        () -> {
          if (Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
            throw Problem.of(HttpStatus.CONFLICT, "exists", "there is a " + name + " already");
          }
          store.checkpoint(target);
          return Answers.json(new JsonObject().put("name", name));
        });
  }

  /** Refuses at once if another operation runs; waiting would occupy a thread. */
  private HttpResponse alone(Supplier<HttpResponse> work) {
    if (!one.tryLock()) {
      throw Problem.of(
          HttpStatus.CONFLICT, "upkeep-under-way", "another of these is under way; try again");
    }
    try {
      return work.get();
    } finally {
      one.unlock();
    }
  }
}
