package io.kvsep.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import de.siegmar.fastcsv.reader.CloseableIterator;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.CsvRecord;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.CodingErrorAction;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Comma-separated values as in RFC 4180, in UTF-8: a key and a value in each record. */
final class CsvEntries implements EntryFile {
  /** As long as the longest value may be. */
  private static final int FIELD_CHARACTERS_MAX = 1 << 30;

  /** What some programs write in front of UTF-8. */
  private static final byte[] BYTE_ORDER_MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

  private final CsvReader<CsvRecord> reader;
  private final CloseableIterator<CsvRecord> records;
  private boolean isHeaderNext;

  /**
   * @param withHeader whether the first record only names the columns
   */
  CsvEntries(BufferedInputStream input, char separator, boolean withHeader) throws IOException {
    skipByteOrderMark(input);
    // What is no UTF-8 is an error, and not a question mark.
    InputStreamReader text =
        new InputStreamReader(
            input,
            UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT));
    reader =
        CsvReader.builder()
            .fieldSeparator(separator)
            .maxBufferSize(FIELD_CHARACTERS_MAX)
            .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
            .missingFieldStrategy(FieldMismatchStrategy.IGNORE)
            .allowUnclosedQuote(false)
            .ofCsvRecord(text);
    records = reader.iterator();
    isHeaderNext = withHeader;
  }

  static boolean maySeparate(char separator) {
    return separator != '"' && separator != '\r' && separator != '\n';
  }

  /** It would become a part of the first key. */
  private static void skipByteOrderMark(BufferedInputStream input) throws IOException {
    input.mark(BYTE_ORDER_MARK.length);
    if (!Arrays.equals(input.readNBytes(BYTE_ORDER_MARK.length), BYTE_ORDER_MARK)) {
      input.reset();
    }
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    CsvRecord record;
    try {
      if (isHeaderNext && records.hasNext()) {
        records.next();
      }
      isHeaderNext = false;
      if (!records.hasNext()) {
        return null;
      }
      record = records.next();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    } catch (CsvParseException e) {
      throw new IOException(e.getMessage(), e);
    }
    String where = "line " + record.getStartingLineNumber();
    if (record.getFieldCount() != 2) {
      throw new BadEntryException(
          where, "a key and a value are wanted, not " + record.getFieldCount() + " columns");
    }
    byte[] key = record.getField(0).getBytes(UTF_8);
    EntryFile.checkKey(where, key);
    return Map.entry(key, record.getField(1).getBytes(UTF_8));
  }
}
