package io.kvsep.bench;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A process whose device says of one write of frames to the log that it is done and does not do it;
 * some writes later, when that has been acknowledged for certain, the process stops to be killed.
 */
final class ForgetfulDevice {
  private static final int SOUND = 20;
  private static final int LATER = 30;
  private static final int FRAME_MAGIC = 0x3146564b;

  /** Frames that were written, the forgotten ones included. */
  private static final AtomicInteger WRITES = new AtomicInteger();

  private ForgetfulDevice() {}

  public static void main(String[] words) throws IOException {
    KillChild.run(words, ForgetfulDevice::forgetting, /* lies= */ false);
  }

  private static Storage forgetting(Storage storage) {
    return (Storage)
        Proxy.newProxyInstance(
            Storage.class.getClassLoader(),
            new Class<?>[] {Storage.class},
            (proxy, method, arguments) -> {
              // A flush would make good what the log has lost.
              if (method.getName().equals("create")
                  && String.valueOf(arguments[0]).endsWith(".sst")
                  && WRITES.get() >= SOUND - 1) {
                park();
              }
              try {
                Object result = method.invoke(storage, arguments);
                return result instanceof StorageFile file && file.name().endsWith(".vlog")
                    ? forgetting(file)
                    : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static StorageFile forgetting(StorageFile file) {
    return (StorageFile)
        Proxy.newProxyInstance(
            StorageFile.class.getClassLoader(),
            new Class<?>[] {StorageFile.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("write")
                  && arguments[0] instanceof ByteBuffer source
                  && isFrame(source)) {
                int number = WRITES.incrementAndGet();
                if (number == SOUND) {
                  source.position(source.limit());
                  return null;
                } else if (number > SOUND + LATER) {
                  stop();
                }
              }
              try {
                return method.invoke(file, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static boolean isFrame(ByteBuffer source) {
    return source.remaining() > 32
        && source.duplicate().order(ByteOrder.LITTLE_ENDIAN).getInt(source.position() + 4)
            == FRAME_MAGIC;
  }

  private static void stop() {
    System.out.println("stopped");
    System.out.flush();
    park();
  }

  private static void park() {
    while (true) {
      LockSupport.park();
    }
  }
}
