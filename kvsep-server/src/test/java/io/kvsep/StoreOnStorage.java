package io.kvsep;

import io.kvsep.internal.io.Storage;

/** Opens stores on a storage that a test has a hand in; in this package as the API has no such. */
public final class StoreOnStorage {
  private StoreOnStorage() {}

  public static KvStore open(Storage storage, KvOptions options) {
    return OpenStore.open(storage, options);
  }
}
