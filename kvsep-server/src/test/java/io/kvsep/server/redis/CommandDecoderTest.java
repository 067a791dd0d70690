package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.testing.Seeds;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.redis.ArrayRedisMessage;
import io.netty.handler.codec.redis.FullBulkStringRedisMessage;
import io.netty.handler.codec.redis.RedisEncoder;
import io.netty.handler.codec.redis.RedisMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Commands as Netty's own codec writes them, however the bytes are cut, come out as they went in.
 */
final class CommandDecoderTest {
  private static final CommandTable COMMANDS = new CommandTable();

  private final RequestBudget budget = new RequestBudget(1 << 20);

  /** Of a loop that has several connections. */
  private final WholeCommands whole = new WholeCommands(COMMANDS, RedisLimits.defaults());

  @Test
  void whatAnotherEncoderWritesIsReadHoweverItIsCut() {
    Seeds.each(CommandDecoderTest.class, 60, this::roundTrip);
  }

  private void roundTrip(Random random) throws ProtocolException {
    List<byte[][]> commands = new ArrayList<>();
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      byte[][] command = new byte[1 + random.nextInt(4)][];
      for (int j = 0; j < command.length; j++) {
        command[j] = new byte[random.nextInt(random.nextInt(10) == 0 ? 90_000 : 30)];
        random.nextBytes(command[j]);
      }
      if (random.nextBoolean()) {
        Command known = COMMANDS.all().get(random.nextInt(COMMANDS.all().size()));
        String name = random.nextBoolean() ? known.name() : known.name().toUpperCase(Locale.ROOT);
        command[0] = name.getBytes(US_ASCII);
      }
      commands.add(command);
    }
    ByteBuf wire = encoded(commands);
    CommandDecoder decoder = decoder();
    List<Request> found = new ArrayList<>();
    CommandDecoder neighbour = decoder();
    ByteBuf noise = Unpooled.copiedBuffer("*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n".getBytes(US_ASCII));
    while (wire.isReadable()) {
      int most = random.nextBoolean() ? 7 : 20_000;
      ByteBuf part = wire.readSlice(1 + random.nextInt(Math.min(most, wire.readableBytes())));
      for (Request next = decoder.next(part, true); next != null; ) {
        found.add(next);
        if (random.nextInt(3) == 0) {
          // Another connection of the loop has its turn.
          assertNotNull(neighbour.next(noise.duplicate(), true));
        }
        next = decoder.next(part, true);
      }
    }
    wire.release();

    assertEquals(commands.size(), found.size());
    for (int i = 0; i < found.size(); i++) {
      byte[][] sent = commands.get(i);
      Request request = found.get(i);
      assertEquals(COMMANDS.find(sent[0]), request.command);
      assertEquals(sent.length, request.arguments.length);
      for (int j = request.command == null ? 0 : 1; j < sent.length; j++) {
        assertArrayEquals(sent[j], request.arguments[j]);
      }
      budget.release(found.get(i).reservedBytes);
    }
    assertEquals(1 << 20, budget.left());
  }

  private CommandDecoder decoder() {
    return new CommandDecoder(RedisLimits.defaults(), budget, whole);
  }

  private static ByteBuf encoded(List<byte[][]> commands) {
    EmbeddedChannel channel = new EmbeddedChannel(new RedisEncoder());
    for (byte[][] command : commands) {
      List<RedisMessage> words = new ArrayList<>();
      for (byte[] word : command) {
        words.add(new FullBulkStringRedisMessage(Unpooled.wrappedBuffer(word)));
      }
      channel.writeOutbound(new ArrayRedisMessage(words));
    }
    ByteBuf all = Unpooled.buffer();
    for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
      all.writeBytes(part);
      part.release();
    }
    channel.finishAndReleaseAll();
    return all;
  }

  @Test
  void anUnfinishedCommandGivesBackWhatItReserved() throws ProtocolException {
    CommandDecoder decoder = decoder();
    decoder.next(Unpooled.copiedBuffer("*2\r\n$900000\r\nxyz".getBytes(US_ASCII)), true);
    assertEquals((1 << 20) - 900_000 - 24 + RequestBudget.FREE_BYTES, budget.left());

    decoder.close();

    assertEquals(1 << 20, budget.left());
  }

  @Test
  void whatIsBeyondTheBudgetIsRefusedBeforeItCosts() throws ProtocolException {
    CommandDecoder decoder = decoder();
    ByteBuf wire = Unpooled.copiedBuffer("*1000000\r\n$500000000\r\n".getBytes(US_ASCII));

    assertThrows(ProtocolException.class, () -> decoder.next(wire, true));

    assertEquals(1 << 20, budget.left());
  }
}
