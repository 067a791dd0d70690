package io.kvsep.server.redis;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Subcommands that are unknown, or have too few or too many arguments. */
final class SubcommandsTest {
  @TempDir Path directory;
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  private void all(String... linesAndReplies) throws IOException {
    for (int i = 0; i < linesAndReplies.length; i += 2) {
      client.expect(linesAndReplies[i], linesAndReplies[i + 1]);
    }
  }

  /** Before EXEC does the rest: what is wrong with a subcommand is told when it is queued. */
  @Test
  void unknownOrMalformedSubcommandsBreakTransactions() throws IOException {
    String[] commandsAndReplies = {
      "CLIENT FOO", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.^",
      "CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command^",
      "client setname a b", "-ERR wrong number of arguments for 'client|setname' command^",
      "CLIENT SETINFO LIB-NAME", "-ERR wrong number of arguments for 'client|setinfo' command^",
      "CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command^",
      "CLIENT KILL", "-ERR wrong number of arguments for 'client|kill' command^",
      "CONFIG SET a b", "-ERR unknown subcommand 'SET'. Try CONFIG HELP.^",
      "CONFIG GET", "-ERR wrong number of arguments for 'config|get' command^",
      "COMMAND FOO", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.^",
      "COMMAND \"\"", "-ERR unknown subcommand ''. Try COMMAND HELP.^",
      "COMMAND COUNT x", "-ERR wrong number of arguments for 'command|count' command^",
      "COMMAND HELP x", "-ERR wrong number of arguments for 'command|help' command^",
    };
    for (int i = 0; i < commandsAndReplies.length; i += 2) {
      all(
          "MULTI",
          "+OK^",
          "SET a 1",
          "+QUEUED^",
          commandsAndReplies[i],
          commandsAndReplies[i + 1],
          "EXEC",
          "-EXECABORT Transaction discarded because of previous errors.^",
          "EXISTS a",
          ":0^",
          commandsAndReplies[i],
          commandsAndReplies[i + 1]);
    }
    all(
        "MULTI", "+OK^",
        "client setname me", "+QUEUED^",
        "CLIENT GETNAME", "+QUEUED^",
        "CLIENT SETINFO OTHER x", "+QUEUED^",
        "COMMAND INFO none", "+QUEUED^",
        "EXEC", "*4^+OK^$2^me^-ERR Unrecognized option 'OTHER'^*1^$-1^");
  }
}
