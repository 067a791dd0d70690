package io.kvsep.server;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * The signals that ask a process to stop. By itself the JVM meets them with its shutdown, behind
 * which the exit code tells the signal's number, however the stop went. A program that is told of
 * them ends by itself, and with a code of its own.
 *
 * <p>Java's only way to be told is {@code sun.misc.Signal} of the module {@code jdk.unsupported},
 * which javac warns of wherever it is named. So it is looked up; where it is not there, or the JVM
 * was told to leave signals alone, the shutdown comes as ever.
 */
final class StopSignals {
  private static final String[] NAMES = {"TERM", "INT", "HUP"};

  private StopSignals() {}

  /** Has {@code stop} run by a thread of its own whenever such a signal comes. */
  static void handle(Runnable stop) {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object told =
          Proxy.newProxyInstance(
              StopSignals.class.getClassLoader(),
              new Class<?>[] {handler},
              (proxy, method, arguments) -> {
                if (method.getName().equals("handle")) {
                  stop.run();
                }
                return null;
              });
      Method handle = signal.getMethod("handle", signal, handler);
      for (String name : NAMES) {
        handle.invoke(null, signal.getConstructor(String.class).newInstance(name), told);
      }
    } catch (InvocationTargetException e) {
      // In use by the JVM itself (-Xrs), or unknown to the system: so are those behind it.
      return;
    } catch (ReflectiveOperationException e) {
      return;
    }
  }
}
