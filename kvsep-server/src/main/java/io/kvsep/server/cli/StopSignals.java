package io.kvsep.server.cli;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * Handles the signals that ask the process to stop. By default the JVM shuts down on them and its
 * exit code is that of the signal, even if the stop failed. A program that handles them exits with
 * its own code.
 *
 * <p>Java's only interface is {@code sun.misc.Signal} of the module {@code jdk.unsupported}, and
 * javac warns wherever it is named. So it is looked up by reflection. If it is absent, or the JVM
 * runs with {@code -Xrs}, the default applies.
 */
final class StopSignals {
  private static final String[] NAMES = {"TERM", "INT", "HUP"};

  private StopSignals() {}

  /** Runs {@code stop} on a separate thread whenever such a signal arrives. */
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
      // The signal is reserved by the JVM (-Xrs) or unknown to the system; so are the remaining
      // ones.
      return;
    } catch (ReflectiveOperationException e) {
      return;
    }
  }
}
