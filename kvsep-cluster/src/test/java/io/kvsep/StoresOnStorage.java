package io.kvsep;

import io.kvsep.internal.io.Storage;

/** Opens stores on storages that tests crash. */
public final class StoresOnStorage {
  private StoresOnStorage() {}

  public static KvStore open(Storage storage, KvOptions options) {
    return OpenStore.open(storage, options);
  }
}
