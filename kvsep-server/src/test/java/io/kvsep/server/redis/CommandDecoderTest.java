package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Commands as Netty's own codec writes them, however the bytes are cut, come out as they went in.
 */
final class CommandDecoderTest {
  private final RequestBudget budget = new RequestBudget(1 << 20);

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
      commands.add(command);
    }
    ByteBuf wire = encoded(commands);
    CommandDecoder decoder = new CommandDecoder(RedisLimits.defaults(), budget);
    List<Request> found = new ArrayList<>();
    while (wire.isReadable()) {
      int most = random.nextBoolean() ? 7 : 20_000;
      ByteBuf part = wire.readSlice(1 + random.nextInt(Math.min(most, wire.readableBytes())));
      for (Request next = decoder.next(part, true); next != null; ) {
        found.add(next);
        next = decoder.next(part, true);
      }
    }
    wire.release();

    assertEquals(commands.size(), found.size());
    for (int i = 0; i < found.size(); i++) {
      assertArrayEquals(commands.get(i), found.get(i).arguments);
      budget.release(found.get(i).reservedBytes);
    }
    assertEquals(1 << 20, budget.left());
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
    CommandDecoder decoder = new CommandDecoder(RedisLimits.defaults(), budget);
    decoder.next(Unpooled.copiedBuffer("*2\r\n$900000\r\nxyz".getBytes(US_ASCII)), true);
    assertEquals((1 << 20) - 900_000 - 24 + RequestBudget.FREE_BYTES, budget.left());

    decoder.close();

    assertEquals(1 << 20, budget.left());
  }

  @Test
  void whatIsBeyondTheBudgetIsRefusedBeforeItCosts() throws ProtocolException {
    CommandDecoder decoder = new CommandDecoder(RedisLimits.defaults(), budget);
    ByteBuf wire = Unpooled.copiedBuffer("*1000000\r\n$500000000\r\n".getBytes(US_ASCII));

    assertThrows(ProtocolException.class, () -> decoder.next(wire, true));

    assertEquals(1 << 20, budget.left());
  }
}
