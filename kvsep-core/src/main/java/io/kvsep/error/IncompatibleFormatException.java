package io.kvsep.error;

/** This version cannot use the files: they are foreign, too old or too new. Nothing was changed. */
public final class IncompatibleFormatException extends KvException {
  private static final long serialVersionUID = 1L;

  /** Why the files cannot be used. */
  public enum Reason {
    /** Not a kvsep file, or a file of another store. */
    FOREIGN,
    /** Written by a version whose format this one no longer reads. */
    TOO_OLD,
    /** Written by a later version. */
    TOO_NEW
  }

  /** Name of the file. */
  private final String file;

  /** Why it cannot be used. */
  private final Reason reason;

  /**
   * Creates the exception.
   *
   * @param file name of the file
   * @param reason why it cannot be used
   * @param message what happened
   */
  public IncompatibleFormatException(String file, Reason reason, String message) {
    super(file + ": " + message, null);
    this.file = file;
    this.reason = reason;
  }

  /** {@return name of the incompatible file} */
  public String file() {
    return file;
  }

  /** {@return why the file cannot be used} */
  public Reason reason() {
    return reason;
  }
}
