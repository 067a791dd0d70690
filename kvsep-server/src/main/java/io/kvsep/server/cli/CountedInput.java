package io.kvsep.server.cli;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

final class CountedInput extends FilterInputStream {
  private final ProgressBar bar;
  private long bytes;

  CountedInput(InputStream input, ProgressBar bar) {
    super(input);
    this.bar = bar;
  }

  long bytes() {
    return bytes;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int from, int count) throws IOException {
    int read = in.read(target, from, count);
    if (read > 0) {
      bytes += read;
      bar.advance(read);
    }
    return read;
  }
}
