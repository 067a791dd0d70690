package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Records of CSV with two columns, a key and a value. */
final class CsvEntries implements EntryFile {
  private final CsvRecords<Columns> records;
  private boolean isHeaderNext;

  /**
   * @param withHeader whether the first record names the columns and is skipped
   */
  CsvEntries(BufferedInputStream input, char separator, boolean withHeader) throws IOException {
    records = new CsvRecords<>(input, separator, new ColumnsHandler());
    isHeaderNext = withHeader;
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    if (isHeaderNext) {
      records.next();
      isHeaderNext = false;
    }
    Columns columns = records.next();
    if (columns == null) {
      return null;
    }
    String where = "line " + columns.line();
    if (columns.count() != 2) {
      throw new BadEntryException(
          where, "a key and a value are wanted, not " + columns.count() + " columns");
    }
    byte[] key = columns.first().getBytes(UTF_8);
    EntryFile.checkKey(where, key);
    return Map.entry(key, columns.second().getBytes(UTF_8));
  }

  /** The first two columns of a record, and its number of columns. */
  private record Columns(long line, int count, String first, String second) {}

  /** Keeps only the first two columns; a bad record is still reported with their number. */
  private static final class ColumnsHandler extends AbstractBaseCsvCallbackHandler<Columns> {
    private String first = "";
    private String second = "";

    @Override
    protected void handleBegin(long line) {
      first = "";
      second = "";
    }

    @Override
    protected void handleField(int index, char[] text, int from, int length, boolean quoted) {
      if (index == 0) {
        first = new String(text, from, length);
      } else if (index == 1) {
        second = new String(text, from, length);
      }
    }

    @Override
    protected Columns buildRecord() {
      return new Columns(getStartingLineNumber(), getFieldCount(), first, second);
    }
  }
}
