import com.sun.jdi.Bootstrap;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.event.VMDisconnectEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.MethodEntryRequest;
import io.kvsep.KvStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Prints the calls of kvsep's methods in one put, their number, and how often the package changes
 * from one call to the next. The value has 2,000 bytes, half of them compressible; ten puts precede,
 * so that nothing happens for the first time.
 *
 * <p>{@code java -cp kvsep-server/target/kvsep.jar .ci/Calls.java}
 */
final class Calls {
  private static final String TRACED = "traced";

  public static void main(String[] args) throws Exception {
    if (args.length > 0 && args[0].equals(TRACED)) {
      put();
    } else {
      trace();
    }
  }

  private static void put() throws Exception {
    byte[] value = new byte[2_000];
    new Random(1).nextBytes(value);
    Arrays.fill(value, 0, 1_000, (byte) 1);
    try (KvStore store = KvStore.open(Files.createTempDirectory("kvsep-calls"))) {
      for (int i = 0; i < 10; i++) {
        store.put(("key000" + i).getBytes(), value);
      }
      byte[] key = "key0010".getBytes();
      Begin.touch();
      store.put(key, value);
      End.touch();
    }
  }

  // Their loading tells the tracing JVM where the call begins and ends.

  private static final class Begin {
    static void touch() {}
  }

  private static final class End {
    static void touch() {}
  }

  private static void trace() throws Exception {
    LaunchingConnector connector = Bootstrap.virtualMachineManager().defaultConnector();
    Map<String, Connector.Argument> arguments = connector.defaultArguments();
    arguments.get("options").setValue("-cp " + System.getProperty("java.class.path"));
    arguments.get("main").setValue(".ci/Calls.java " + TRACED);
    VirtualMachine machine = connector.launch(arguments);
    ClassPrepareRequest loading = machine.eventRequestManager().createClassPrepareRequest();
    loading.addClassFilter("Calls$*");
    loading.enable();
    MethodEntryRequest entries = machine.eventRequestManager().createMethodEntryRequest();
    entries.addClassFilter("io.kvsep.*");
    Map<String, Integer> counts = new TreeMap<>();
    int depth = 0;
    int calls = 0;
    int changes = 0;
    String last = "";
    while (true) {
      EventSet events = machine.eventQueue().remove();
      for (Event event : events) {
        if (event instanceof VMDisconnectEvent) {
          counts.entrySet().stream()
              .filter(count -> count.getValue() > 2)
              .forEach(count -> System.out.println(count.getValue() + " times " + count.getKey()));
          System.out.println(calls + " calls, " + changes + " package changes");
          return;
        }
        if (event instanceof ClassPrepareEvent loaded) {
          boolean begins = loaded.referenceType().name().endsWith("$Begin");
          if (begins) {
            entries.addThreadFilter(loaded.thread());
            depth = loaded.thread().frameCount();
          }
          entries.setEnabled(begins);
        } else if (event instanceof MethodEntryEvent entered) {
          String type = entered.method().declaringType().name();
          // The class that the JVM makes of a lambda only calls the lambda's method.
          if (!type.contains("$$Lambda")) {
            String inPackage = type.substring(0, type.lastIndexOf('.'));
            calls++;
            changes += last.isEmpty() || last.equals(inPackage) ? 0 : 1;
            last = inPackage;
            String called = type.substring("io.kvsep.".length()) + "." + entered.method().name();
            counts.merge(called, 1, Integer::sum);
            int deeper = entered.thread().frameCount() - depth;
            System.out.println("  ".repeat(Math.max(0, deeper)) + called);
          }
        }
      }
      events.resume();
    }
  }
}
