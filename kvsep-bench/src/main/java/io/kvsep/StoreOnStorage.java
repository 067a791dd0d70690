package io.kvsep;

import io.kvsep.internal.io.Storage;

/**
 * Opens stores on a storage of one's own, for programs that stop or watch what a store does to its
 * files. In this package because the API has no such call, and needs none.
 */
public final class StoreOnStorage {
  private StoreOnStorage() {}

  public static KvStore open(Storage storage, KvOptions options) {
    return OpenStore.open(storage, options);
  }
}
