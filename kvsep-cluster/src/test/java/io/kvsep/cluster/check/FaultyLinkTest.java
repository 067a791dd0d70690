package io.kvsep.cluster.check;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class FaultyLinkTest {
  /** Only a test that fails waits for so long. */
  private static final int WAIT_MILLIS_MAX = 20_000;

  private final AtomicLong now = new AtomicLong();
  private final Echo echo = new Echo();
  private final FaultyLink link = new FaultyLink(echo.address(), now::get);

  /** Answers each byte with the same byte. */
  private static final class Echo implements AutoCloseable {
    final LinkedBlockingQueue<Integer> received = new LinkedBlockingQueue<>();
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final ServerSocket server;
    private final Thread acceptor;

    Echo() {
      try {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
      acceptor =
          start(
              () -> {
                while (true) {
                  Socket socket = server.accept();
                  sockets.add(socket);
                  start(() -> answer(socket));
                }
              });
    }

    private interface Work {
      void run() throws IOException;
    }

    private static Thread start(Work work) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  work.run();
                } catch (IOException e) {
                  // The socket was closed, which ends its thread.
                }
              });
      thread.setDaemon(true);
      thread.start();
      return thread;
    }

    private void answer(Socket socket) throws IOException {
      try (socket) {
        byte[] bytes = new byte[8 << 10];
        for (int count = read(socket, bytes); count > 0; count = read(socket, bytes)) {
          received.add(count);
          socket.getOutputStream().write(bytes, 0, count);
        }
      }
    }

    private static int read(Socket socket, byte[] bytes) throws IOException {
      return socket.getInputStream().read(bytes);
    }

    InetSocketAddress address() {
      return (InetSocketAddress) server.getLocalSocketAddress();
    }

    @Override
    public void close() throws IOException {
      server.close();
      // Until it has ended it may accept another connection.
      try {
        acceptor.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException("interrupted", e);
      }
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @AfterEach
  void close() throws IOException {
    link.close();
    echo.close();
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), link.port());
    socket.setSoTimeout(WAIT_MILLIS_MAX);
    return socket;
  }

  private static void send(Socket socket, int number) throws IOException {
    socket.getOutputStream().write(number);
  }

  private static void assertAnswers(Socket socket, int number) throws IOException {
    send(socket, number);
    assertEquals(number, socket.getInputStream().read());
  }

  /** By the end of the stream or by a reset. */
  private static boolean isCut(Socket socket) {
    try {
      socket.getOutputStream().write(1);
      return socket.getInputStream().read() < 0;
    } catch (IOException e) {
      return true;
    }
  }

  @Test
  void bytesPassInBothDirectionsUntilTheSenderEnds() throws IOException {
    byte[] sent = new byte[3 << 20];
    new Random(1).nextBytes(sent);
    try (Socket socket = connect()) {
      Echo.start(
          () -> {
            socket.getOutputStream().write(sent);
            socket.shutdownOutput();
          });
      assertArrayEquals(sent, socket.getInputStream().readAllBytes());
    }
  }

  @Test
  void connectionsAreIndependent() throws IOException {
    try (Socket one = connect();
        Socket other = connect()) {
      assertAnswers(one, 1);
      assertAnswers(other, 2);
      one.close();
      assertAnswers(other, 3);
    }
  }

  @Test
  void aDroppingLinkCutsConnectionsAndNewOnesUntilItPasses() throws IOException {
    try (Socket before = connect()) {
      assertAnswers(before, 1);
      link.drop();
      assertTrue(isCut(before));
      try (Socket meanwhile = connect()) {
        assertTrue(isCut(meanwhile));
      }
      link.pass();
      assertTrue(isCut(before));
      try (Socket after = connect()) {
        assertAnswers(after, 2);
      }
    }
  }

  @Test
  void aHangingLinkMovesNothingUntilItPassesAndLosesNothing() throws Exception {
    try (Socket before = connect()) {
      assertAnswers(before, 1);
      assertEquals(1, echo.received.take());
      link.hang();
      send(before, 2);
      try (Socket meanwhile = connect()) {
        send(meanwhile, 3);
        link.awaitRounds();
        assertTrue(echo.received.isEmpty());
        assertEquals(0, before.getInputStream().available());
        link.pass();
        assertEquals(2, before.getInputStream().read());
        assertEquals(3, meanwhile.getInputStream().read());
      }
    }
  }

  @Test
  void aDelayedByteArrivesWhenItIsDue() throws Exception {
    try (Socket socket = connect()) {
      assertAnswers(socket, 1);
      assertEquals(1, echo.received.take());
      link.delay(Duration.ofHours(1));
      send(socket, 2);
      link.awaitRounds();
      now.addAndGet(Duration.ofMinutes(59).toNanos());
      link.awaitRounds();
      assertTrue(echo.received.isEmpty());
      now.addAndGet(Duration.ofMinutes(1).toNanos());
      link.awaitRounds();
      assertEquals(1, echo.received.poll(WAIT_MILLIS_MAX, TimeUnit.MILLISECONDS));
      link.awaitRounds();
      link.pass();
      send(socket, 3);
      now.addAndGet(Duration.ofHours(1).toNanos());
      link.awaitRounds();
      assertEquals(2, socket.getInputStream().read());
      assertEquals(3, socket.getInputStream().read());
    }
  }

  @Test
  void aTargetThatIsGoneCutsConnections() throws IOException {
    echo.close();
    try (Socket socket = connect()) {
      assertTrue(isCut(socket));
    }
  }

  @Test
  void aClosedLinkLeavesNeitherConnectionNorPort() throws IOException {
    try (Socket socket = connect()) {
      assertAnswers(socket, 1);
      link.close();
      link.close();
      assertTrue(isCut(socket));
    }
    assertThrows(IOException.class, this::connect);
  }

  @Test
  void oneThreadServesAllConnections() throws IOException {
    try (Socket one = connect();
        Socket other = connect()) {
      assertAnswers(one, 1);
      assertAnswers(other, 1);
      String name = "link-to-" + echo.address().getPort();
      long threads =
          Thread.getAllStackTraces().keySet().stream()
              .filter(thread -> thread.getName().equals(name))
              .count();
      assertEquals(1, threads);
    }
  }
}
