package io.kvsep.server.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvsep.server.cluster.ClusterStatus;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A cluster as a running node tells about it.
 *
 * @param text the answer of the server, one JSON object
 */
record ServedCluster(ClusterStatus status, String text) {
  static final String PATH = "/v1/cluster";

  private static final Duration TIME = Duration.ofSeconds(20);

  static ServedCluster of(ServerConnection server) throws IOException, InterruptedException {
    String text = server.get(PATH, TIME);
    try (JsonParser parser = new JsonFactory().createParser(text)) {
      Reader reader = new Reader(parser);
      reader.expect(JsonToken.START_OBJECT);
      return new ServedCluster(reader.cluster(), text);
    } catch (IOException | IllegalArgumentException e) {
      throw CommandFailure.failed(
          server.server() + " answers with no status of a cluster: " + e.getMessage(), e);
    }
  }

  /** Reads what it knows, and passes over members of other names. */
  private static final class Reader {
    private final JsonParser parser;

    Reader(JsonParser parser) {
      this.parser = parser;
    }

    void expect(JsonToken token) throws IOException {
      if (parser.nextToken() != token) {
        throw new IllegalArgumentException(
            "expected " + token + ", found " + parser.currentToken());
      }
    }

    ClusterStatus cluster() throws IOException {
      String cluster = null;
      String node = null;
      List<ClusterStatus.Group> groups = new ArrayList<>();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        switch (parser.currentName()) {
          case "cluster" -> cluster = parser.nextTextValue();
          case "node" -> node = parser.nextTextValue();
          case "groups" -> {
            expect(JsonToken.START_ARRAY);
            while (parser.nextToken() == JsonToken.START_OBJECT) {
              groups.add(group());
            }
          }
          default -> skip();
        }
      }
      if (groups.isEmpty()) {
        throw new IllegalArgumentException("there are no groups");
      }
      return new ClusterStatus(required("cluster", cluster), required("node", node), groups);
    }

    private ClusterStatus.Group group() throws IOException {
      int shard = 0;
      String leader = null;
      long term = 0;
      long commitIndex = 0;
      List<ClusterStatus.Member> members = new ArrayList<>();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        switch (parser.currentName()) {
          case "shard" -> shard = parser.nextIntValue(0);
          case "leader" -> leader = parser.nextTextValue();
          case "term" -> term = parser.nextLongValue(0);
          case "commitIndex" -> commitIndex = parser.nextLongValue(-1);
          case "members" -> {
            expect(JsonToken.START_ARRAY);
            while (parser.nextToken() == JsonToken.START_OBJECT) {
              members.add(member());
            }
          }
          default -> skip();
        }
      }
      return new ClusterStatus.Group(shard, leader, term, commitIndex, null, members);
    }

    private ClusterStatus.Member member() throws IOException {
      String node = null;
      String address = null;
      String role = null;
      Long appliedIndex = null;
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        switch (parser.currentName()) {
          case "node" -> node = parser.nextTextValue();
          case "address" -> address = parser.nextTextValue();
          case "role" -> role = parser.nextTextValue();
          case "appliedIndex" -> appliedIndex = whole();
          default -> skip();
        }
      }
      return new ClusterStatus.Member(
          required("node", node), required("address", address), role, appliedIndex);
    }

    private @Nullable Long whole() throws IOException {
      return parser.nextToken() == JsonToken.VALUE_NULL
          ? null
          : Long.valueOf(parser.getLongValue());
    }

    private void skip() throws IOException {
      parser.nextToken();
      parser.skipChildren();
    }

    private static String required(String name, @Nullable String value) {
      if (value == null) {
        throw new IllegalArgumentException("it has no " + name);
      }
      return value;
    }
  }
}
