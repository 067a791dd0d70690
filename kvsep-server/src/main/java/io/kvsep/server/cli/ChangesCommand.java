package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.error.ChangesLostException;
import io.kvsep.server.json.ByteText;
import io.kvsep.server.json.ChangeLine;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "changes",
    description = "Print the changes that the log has, in commit order: one JSON object per line.",
    footer = {
      "",
      "A line has sequence, kind (put, delete or deleteRange), keyspaceId, keyspace if",
      "it has a name, more (the next one was committed together with this one), key or",
      "from and to, valueLength, value in base64, expiresAtMillis. The log has them as",
      "long as it is needed for values, and longer only as kvsep serve",
      "--retain-changes or the program says.",
      "",
      "A store is open in one process at a time. --url follows that of a running kvsep",
      "serve until interrupted; without --after it begins with what is committed from",
      "then on."
    })
final class ChangesCommand implements Callable<Integer> {
  private static final Duration WAIT = Duration.ofMillis(200);

  private final Streams streams;
  private final AtomicBoolean stopped = new AtomicBoolean();

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(
      names = "--after",
      paramLabel = "N",
      description =
          "Begin behind sequence number N: of a change, a backup or a snapshot (default: with the"
              + " first change that the log still has).")
  private @Nullable Long after;

  @Option(names = "--follow", description = "Then wait for more, until interrupted.")
  private boolean follow;

  @Option(
      names = "--url",
      paramLabel = "URL",
      description = "Follow the store of a server, such as http://127.0.0.1:8480, not of --dir.")
  private @Nullable URI url;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Show the server the token that is the first line of FILE.")
  private @Nullable Path tokenFile;

  @Option(names = "--max", paramLabel = "N", description = "End after N changes.")
  private @Nullable Long max;

  @Option(
      names = "--until",
      paramLabel = "N",
      description = "End behind the change with sequence number N.")
  private @Nullable Long until;

  @Option(names = "--keys-only", description = "Without values, only their lengths.")
  private boolean keysOnly;

  ChangesCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    requireNotNegative("--after", after);
    requireNotNegative("--max", max);
    requireNotNegative("--until", until);
    if (url == null && tokenFile != null) {
      throw CommandFailure.misused("--token-file needs --url");
    }
    if (url != null) {
      followServer(url);
      return Kvsep.DONE;
    }
    // Opening the store must not remove what is to be printed.
    KvOptions.Builder options = KvOptions.builder().changeRetentionBytes(1L << 50);
    try (KvStore open = store.openExisting(options);
        ChangeFeed feed = feed(open);
        ProgressBar bar =
            ProgressBar.besideOutput(
                streams, "changes", ProgressBar.UNKNOWN, ProgressBar.Unit.ENTRIES)) {
      if (follow) {
        streams.stopSignals().accept(() -> stopped.set(true));
      }
      print(feed, bar);
    }
    return Kvsep.DONE;
  }

  private static void requireNotNegative(String name, @Nullable Long number) {
    if (number != null && number < 0) {
      throw CommandFailure.misused(name + " is negative: " + number);
    }
  }

  private ChangeFeed feed(KvStore open) {
    try {
      return open.changes(after == null ? 0 : after);
    } catch (ChangesLostException e) {
      if (after != null) {
        throw e;
      }
      streams.warn("the log no longer has the changes up to number " + e.lostSequence());
      return open.changes(e.lostSequence());
    } catch (IllegalArgumentException e) {
      throw CommandFailure.failed("--after: " + e.getMessage(), e);
    }
  }

  private void print(ChangeFeed feed, ProgressBar bar) throws IOException {
    long last = until == null ? Long.MAX_VALUE : until;
    long left = max == null ? Long.MAX_VALUE : max;
    long sequence = 0;
    while (left > 0 && sequence < last && !stopped.get()) {
      Change change = feed.poll();
      if (change == null && follow) {
        streams.output().flush();
        change = feed.poll(WAIT);
      } else if (change == null) {
        return;
      }
      if (change != null) {
        sequence = change.sequence();
        if (sequence <= last) {
          write(change);
          left--;
          bar.advance(1);
        }
      }
    }
  }

  private void followServer(URI server) throws IOException, InterruptedException {
    String token = tokenFile == null ? null : ServeCommand.token("--token-file", tokenFile);
    ServerConnection connection = new ServerConnection(server, token);
    String query = "keysOnly=" + keysOnly + (after == null ? "" : "&after=" + after);
    try (ServedChanges changes = new ServedChanges(connection, query)) {
      streams.stopSignals().accept(() -> stop(changes));
      print(changes, server);
    } catch (IOException e) {
      if (!stopped.get() || e instanceof StandardOutput.ReaderGoneException) {
        throw e;
      }
    }
  }

  private void stop(ServedChanges changes) {
    stopped.set(true);
    try {
      changes.close();
    } catch (IOException e) {
      // The reading thread notices.
      return;
    }
  }

  private void print(ServedChanges changes, URI server) throws IOException {
    long last = until == null ? Long.MAX_VALUE : until;
    long left = max == null ? Long.MAX_VALUE : max;
    long sequence = 0;
    while (left > 0 && sequence < last && !stopped.get()) {
      ServedChanges.Event event = changes.next();
      if (event == null) {
        throw CommandFailure.failed(server + " has ended the feed");
      }
      sequence = event.sequence();
      if (event.change() != null && sequence <= last) {
        streams.output().line(event.change());
        streams.output().flush();
        left--;
      }
    }
  }

  private void write(Change change) throws IOException {
    boolean more = !change.endsCommit();
    if (change.kind() == Change.Kind.PUT && !keysOnly) {
      streams.output().write(ChangeLine.upToValue(change, more).getBytes(UTF_8));
      ByteText.writeBase64(ByteBuffer.wrap(change.value()), streams.output());
      streams.output().line(ChangeLine.END);
    } else {
      streams.output().line(ChangeLine.withoutValue(change, more));
    }
  }
}
