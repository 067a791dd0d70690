package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CloseableIterator;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Comma-separated values as in RFC 4180, in UTF-8: each record is a key and a value. */
final class CsvEntries implements EntryFile {
  /** Length of the longest value. */
  private static final int FIELD_CHARACTERS_MAX = 1 << 30;

  /** Some programs write this before UTF-8 text. */
  private static final byte[] BYTE_ORDER_MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

  private final CloseableIterator<Columns> records;
  private boolean isHeaderNext;

  /**
   * @param withHeader whether the first record names the columns and is skipped
   */
  CsvEntries(BufferedInputStream input, char separator, boolean withHeader) throws IOException {
    skipByteOrderMark(input);
    // Malformed UTF-8 is an error, not a replacement character.
    InputStreamReader text =
        new InputStreamReader(
            input,
            UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT));
    CsvReader<Columns> reader =
        CsvReader.builder()
            .fieldSeparator(separator)
            .maxBufferSize(FIELD_CHARACTERS_MAX)
            .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
            .missingFieldStrategy(FieldMismatchStrategy.IGNORE)
            .allowUnclosedQuote(false)
            .build(new ColumnsHandler(), text);
    records = reader.iterator();
    isHeaderNext = withHeader;
  }

  static boolean maySeparate(char separator) {
    return separator != '"' && separator != '\r' && separator != '\n';
  }

  /** It would become part of the first key. */
  private static void skipByteOrderMark(BufferedInputStream input) throws IOException {
    input.mark(BYTE_ORDER_MARK.length);
    if (!Arrays.equals(input.readNBytes(BYTE_ORDER_MARK.length), BYTE_ORDER_MARK)) {
      input.reset();
    }
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    Columns columns;
    try {
      if (isHeaderNext && records.hasNext()) {
        records.next();
      }
      isHeaderNext = false;
      if (!records.hasNext()) {
        return null;
      }
      columns = records.next();
    } catch (UncheckedIOException e) {
      throw e.getCause() instanceof CharacterCodingException cause
          ? new IOException("no UTF-8: " + cause.getMessage(), cause)
          : e.getCause();
    } catch (CsvParseException e) {
      throw new IOException(reason(e), e);
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

  /** Some messages only give the line; their cause gives the reason. */
  private static String reason(CsvParseException failure) {
    Throwable cause = failure.getCause();
    return failure.getMessage() + (cause == null ? "" : ": " + cause.getMessage());
  }

  /** The first two columns of a record, and its number of columns. */
  private record Columns(long line, int count, String first, String second) {}

  /**
   * Keeps only the first two columns. A bad record may have any number of columns, each as long as
   * the buffer, and is still reported with their number. The library's own records have lower
   * limits for both.
   */
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
