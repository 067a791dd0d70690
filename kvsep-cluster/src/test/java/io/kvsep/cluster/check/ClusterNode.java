package io.kvsep.cluster.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import io.kvsep.cluster.ClusterException;
import io.kvsep.cluster.ClusterOptions;
import io.kvsep.cluster.Consistency;
import io.kvsep.cluster.ReplicatedStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One node in a process of its own, which {@link NodeProcess} starts and asks. Says {@code ready}
 * when its store is open. Ends when its input does, because its parent is gone then.
 *
 * <p>Answers of calls: {@code done}, {@code found value}, {@code absent}, {@code met}, {@code
 * unmet}, {@code failed} if the call certainly took no effect, {@code unknown} if it may have.
 */
final class ClusterNode {
  private static final int FAILED = 3;

  private final ReplicatedStore node;
  private final KvStore store;
  private final KvStore staleStore;

  ClusterNode(ReplicatedStore node) {
    this.node = node;
    this.store = node.store();
    this.staleStore = node.store(Consistency.stale(0));
  }

  /**
   * Runs a node.
   *
   * @param words directory, name, {@code name=address} of all nodes with commas between, and
   *     options, each {@code name} or {@code name=value}
   */
  public static void main(String[] words) throws IOException {
    List<String> options = Arrays.asList(words).subList(3, words.length);
    ReplicatedStore opened;
    try {
      opened = ReplicatedStore.open(options(Path.of(words[0]), words[1], words[2], options));
    } catch (Throwable e) {
      e.printStackTrace();
      System.err.flush();
      Runtime.getRuntime().halt(FAILED);
      return;
    }
    ClusterNode node = new ClusterNode(opened);
    say("ready");
    ExecutorService workers = Executors.newCachedThreadPool();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] question = line.split(" ");
      workers.execute(() -> say(question[0] + " " + node.answer(question)));
    }
    Runtime.getRuntime().halt(FAILED);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  /** Small limits, so that everything happens often. */
  static ClusterOptions options(Path directory, String name, String peers, List<String> options) {
    Map<String, String> addresses = new LinkedHashMap<>();
    for (String peer : peers.split(",", -1)) {
      addresses.put(peer.substring(0, peer.indexOf('=')), peer.substring(peer.indexOf('=') + 1));
    }
    ClusterOptions.Builder builder =
        ClusterOptions.builder(name, addresses, directory).requestBytesMax(1 << 20);
    long retention = 0;
    for (String option : options) {
      String value = option.substring(option.indexOf('=') + 1);
      switch (option.substring(0, option.length() - value.length())) {
        case "election=" -> {
          Duration min = Duration.ofMillis(Long.parseLong(value));
          builder.electionTimeout(min, min.multipliedBy(2));
        }
        case "request=" -> builder.requestTimeout(Duration.ofMillis(Long.parseLong(value)));
        case "snapshot=" -> builder.snapshotLogBytes(Long.parseLong(value));
        case "preserved=" -> builder.preservedEntries(Long.parseLong(value));
        case "joining=" -> builder.joining(Boolean.parseBoolean(value));
        case "retention=" -> retention = Long.parseLong(value);
        default -> throw new IllegalArgumentException("option: " + option);
      }
    }
    long retained = retention;
    builder.store(
        store ->
            store.memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).changeRetentionBytes(retained));
    return builder.build();
  }

  /** The answer to {@code number word...}. */
  String answer(String[] question) {
    String word = question[1];
    boolean writes = word.equals("put") || word.equals("delete") || word.equals("cas");
    try {
      return answer(word, Arrays.copyOfRange(question, 2, question.length));
    } catch (ClusterException e) {
      return (writes && e.isOutcomeUnknown() ? "unknown " : "failed ") + causes(e);
    } catch (Exception e) {
      return (writes ? "unknown " : "failed ") + causes(e);
    } catch (Error e) {
      e.printStackTrace();
      System.err.flush();
      Runtime.getRuntime().halt(FAILED);
      return "failed";
    }
  }

  private static String causes(Throwable failure) {
    StringBuilder text = new StringBuilder();
    for (Throwable e = failure; e != null; e = e.getCause()) {
      text.append(e).append("; ");
    }
    return text.toString().replaceAll("\\s+", " ");
  }

  private String answer(String word, String[] words) {
    return switch (word) {
      case "get" -> found(store.get(bytes(words[0])));
      case "stale" -> found(staleStore.get(bytes(words[0])));
      case "put" -> {
        store.put(bytes(words[0]), bytes(words[1]));
        yield "done";
      }
      case "delete" -> {
        store.delete(bytes(words[0]));
        yield "done";
      }
      case "cas" -> compareAndSet(words[0], words[1], words[2]);
      case "load" -> load(words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2]));
      case "missing" -> missing(words[0], Integer.parseInt(words[1]));
      case "leader" -> node.leader().orElse("-");
      case "role" -> node.role() + " " + node.term();
      case "applied" -> Long.toString(node.appliedIndex());
      case "members" -> String.join(",", node.members().keySet());
      case "digest" -> digest();
      case "snapshot" -> Long.toString(node.takeSnapshot());
      case "transfer" -> {
        node.transferLeadership(words[0]);
        yield "done";
      }
      case "add" -> {
        node.add(words[0], words[1]);
        yield "done";
      }
      case "remove" -> {
        node.remove(words[0]);
        yield "done";
      }
      case "close" -> {
        node.close();
        yield "done";
      }
      default -> throw new IllegalArgumentException("no such question: " + word);
    };
  }

  private static String found(byte @Nullable [] value) {
    return value == null ? "absent" : "found " + new String(value, UTF_8);
  }

  private String compareAndSet(String key, String expected, String value) {
    boolean met =
        value.equals("-")
            ? store.compareAndDelete(bytes(key), bytes(expected))
            : store.compareAndSet(
                bytes(key), expected.equals("-") ? null : bytes(expected), bytes(value));
    return met ? "met" : "unmet";
  }

  /** So many values with random bytes of so many, so that there is something to send. */
  private String load(String prefix, int count, int valueBytes) {
    Random random = new Random(prefix.hashCode());
    for (int i = 0; i < count; ) {
      WriteBatch batch = new WriteBatch();
      for (long bytes = 0; i < count && bytes < 500_000; i++, bytes += valueBytes) {
        byte[] value = new byte[valueBytes];
        random.nextBytes(value);
        batch.put(bytes(prefix + i), value);
      }
      node.write(batch);
    }
    return "done";
  }

  /** How many of the first so many keys with this prefix are absent, and one of them. */
  private String missing(String prefix, int count) {
    KvReader reader = node.reader(Consistency.LINEARIZABLE);
    List<Integer> absent =
        IntStream.range(0, count).filter(i -> !reader.contains(bytes(prefix + i))).boxed().toList();
    return absent.isEmpty() ? "none" : absent.size() + ", such as " + prefix + absent.get(0);
  }

  /** Index and hash of all that this node has. */
  private String digest() {
    MessageDigest hash;
    try {
      hash = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
    long index = node.appliedIndex();
    int count = 0;
    try (KvCursor cursor = node.cursor(ScanOptions.all(), Consistency.stale(0))) {
      while (cursor.next()) {
        for (byte[] bytes : List.of(cursor.key(), cursor.value())) {
          hash.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, bytes.length));
          hash.update(bytes);
        }
        count++;
      }
    }
    return index + " " + count + " " + HexFormat.of().formatHex(hash.digest(), 0, 8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
