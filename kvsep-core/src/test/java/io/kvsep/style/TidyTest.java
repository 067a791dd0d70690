package io.kvsep.style;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Holds every Java file of every module to the conventions that neither the formatter nor the
 * compiler checks.
 *
 * <p>Each rule is a function from one source text to findings, so that a canary can show that it
 * finds something. An exemption names a file and carries its reason; one that is no longer needed
 * fails the test, so the lists can only shrink unless a reviewer agrees.
 */
final class TidyTest {
  private static final int FILE_LINES_MAX = 900;

  /** A longer file says in {@link #LONG_FILES} why. About 400 is meant. */
  private static final int FILE_LINES_UNEXPLAINED_MAX = 600;

  private static final int CONSTRUCTOR_PARAMETERS_MAX = 7;
  private static final int FUNCTION_LINES_MAX = 70;
  private static final int LINE_COLUMNS_MAX = 100;

  private static final String CORE = "kvsep-core/src/main/java/io/kvsep/";
  private static final String SERVER = "kvsep-server/src/main/java/io/kvsep/server/";

  /** File to reason. Paths start at the project directory and use forward slashes. */
  private static final Map<String, String> LONG_FILES =
      Map.of(
          CORE + "internal/engine/StorageEngine.java",
          "opens, wires and closes all parts of a store, in the order of their needs",
          CORE + "internal/version/VersionSet.java",
          "one lock guards it: edits, the manifest they go to, and what is left of failed ones",
          "kvsep-cluster/src/main/java/io/kvsep/cluster/GroupStateMachine.java",
          "one lock guards it: entries that wait, the store they go to, snapshots that replace it");

  /** Constructors with more parameters than others may have, and how many: each may only lose. */
  private static final Map<String, Integer> WIDE_CONSTRUCTORS =
      Map.ofEntries(
          entry(CORE + "Change.java", 8),
          entry(CORE + "internal/background/CompactionScheduler.java", 9),
          entry(CORE + "internal/backup/StoreBackups.java", 10),
          entry(CORE + "internal/load/BulkLoads.java", 8),
          entry(CORE + "internal/load/LoadInstallation.java", 14),
          entry(CORE + "internal/load/LoadMerge.java", 8),
          entry(SERVER + "cli/Serving.java", 8),
          entry(SERVER + "http/Routes.java", 8),
          entry(SERVER + "http/ScanPieces.java", 8));

  private static final Map<String, String> LONG_FUNCTIONS = Map.of();
  private static final Map<String, String> LONG_LINES = Map.of();
  private static final Map<String, String> BANNED_TOKENS = Map.of();
  private static final Map<String, String> BANNED_NAMES =
      Map.of(
          "kvsep-adapters/kvsep-leveldb/src/test/java/org/iq80/leveldb/impl/DbImpl.java",
          "takes the place of LevelDB's class in LevelDB's own tests");

  /** All sources, read once. */
  private static List<Source> read = List.of();

  private static final List<Ban> BANS =
      List.of(
          new Ban("\\bSystem\\.out\\b", "return it or count it", in(CORE)),
          new Ban("\\bThread\\.sleep\\b", "a condition or the scheduler", path -> true),
          new Ban("\\bnew Random\\(\\)", "new Random(seed)", path -> true),
          new Ban(
              "\\bsun\\.misc\\.Unsafe\\b|\\bUnsafeMemory\\b",
              "internal.memory.Region",
              path -> isMain(path) && !path.startsWith(CORE + "internal/memory/")),
          new Ban(
              "\\bFileChannel\\b",
              "internal.io.Storage",
              in(CORE)
                  .and(path -> !path.startsWith(CORE + "internal/io/"))
                  .and(path -> !path.equals(CORE + "internal/memory/MappedFiles.java"))),
          new Ban(
              "\\bByteBuffer\\.allocateDirect\\b",
              "internal.memory.Region",
              in(CORE)
                  .and(path -> !path.startsWith(CORE + "internal/memory/"))
                  .and(path -> !path.startsWith(CORE + "internal/io/"))),
          new Ban(
              "\\bLockSupport(\\.|::)parkNanos\\b",
              "internal.concurrent.Uninterrupted, which waits in an interrupted thread, too",
              in(CORE).and(path -> !path.startsWith(CORE + "internal/concurrent/"))),
          new Ban(
              "\\bSystem\\.(currentTimeMillis|nanoTime)\\b",
              "the injected clock of internal.concurrent",
              in(CORE).and(path -> !path.startsWith(CORE + "internal/concurrent/"))));

  /** Plain technical English names the thread, caller or reader. */
  private static final Pattern BANNED_WORD =
      Pattern.compile(
          "\\b(whoever|nobody|somebody|anybody|everybody|himself|of which|by itself|is had)\\b",
          Pattern.CASE_INSENSITIVE);

  private static final Map<String, String> BANNED_WORDS = Map.of();

  private static final Pattern COMMENT_OR_LITERAL =
      Pattern.compile(
          "//[^\\n]*|/\\*.*?\\*/|\"\"\".*?(?<!\\\\)\"\"\""
              + "|\"(?:\\\\.|[^\"\\\\\\n])*+\"|'(?:\\\\.|[^'\\\\\\n])*+'",
          Pattern.DOTALL);

  /** Written in two halves, or this file would break its own rule. */
  private static final Pattern UNFINISHED = Pattern.compile("\\b(TO" + "DO|FIX" + "ME)\\b");

  private static final Pattern BANNED_NAME =
      Pattern.compile(
          "\\b(?:class|interface|enum|record)\\s+(\\w+(?:Manager|Utils?|Helper|Impl))\\b");

  /** A call with a block behind it, such as that of an anonymous class, begins with new. */
  private static final Pattern CONSTRUCTOR =
      Pattern.compile(
          "(?<![\\w.])(?<!new )([A-Z]\\w*)\\s*\\(([^()]*(?:\\([^()]*\\)[^()]*)*)\\)"
              + "\\s*(?:throws [\\w\\s,.]+)?\\{");

  private static final Pattern CLASS = Pattern.compile("\\b(?:class|enum)\\s+(\\w+)");

  private static final Pattern TYPE_HEADER =
      Pattern.compile(
          "\\b(class|interface|enum)\\s+\\w+|\\brecord\\s+\\w+\\s*[(<]"
              + "|\\bnew\\s+[\\w.<>?,\\s@]+\\([^{}]*\\)\\s*$"
              + "|^[,\\s]*[A-Z][A-Z0-9_]*\\s*(\\([^{}]*\\))?\\s*$",
          Pattern.DOTALL);

  @Test
  void filesAreShort() {
    check(source -> longFiles(source, FILE_LINES_MAX), Map.of());
  }

  @Test
  void longFilesHaveAReason() {
    check(source -> longFiles(source, FILE_LINES_UNEXPLAINED_MAX), LONG_FILES);
  }

  /** Records are excepted: their components are named where they are declared, and group data. */
  @Test
  void constructorsHaveFewParameters() {
    List<String> findings = wideConstructors(sources(), WIDE_CONSTRUCTORS);
    assertTrue(findings.isEmpty(), () -> "\n" + String.join("\n", findings));
  }

  @Test
  void functionsAreShort() {
    check(TidyTest::longFunctions, LONG_FUNCTIONS);
  }

  @Test
  void linesAreShort() {
    check(TidyTest::longLines, LONG_LINES);
  }

  @Test
  void bannedTokensAreAbsent() {
    check(TidyTest::bannedTokens, BANNED_TOKENS);
  }

  @Test
  void typeNamesSayWhatTheTypeIs() {
    check(TidyTest::bannedNames, BANNED_NAMES);
  }

  @Test
  void commentsAreInPlainWords() {
    check(TidyTest::bannedWords, BANNED_WORDS);
  }

  @Test
  void canaryBannedWordIsFoundInCommentsAlone() {
    assertEquals(
        List.of("line 2: nobody", "line 3: of which"),
        bannedWords(core("A", "class A {\n  // Nobody\n  /** Of which. */\n}\n")).stream()
            .map(finding -> finding.toLowerCase(Locale.ROOT))
            .toList());
    assertEquals(List.of(), bannedWords(core("A", "class A { String s = \"nobody\"; }")));
    assertEquals(List.of("line 1: nobody"), bannedWords(test("A", "// nobody")));
  }

  @Test
  void canaryLongFileIsFound() {
    assertEquals(
        List.of("601 lines, at most 600"),
        longFiles(core("internal/x/A", "\n".repeat(600) + "x"), 600));
    assertEquals(List.of(), longFiles(core("internal/x/A", "\n".repeat(599) + "x"), 600));
    assertEquals(1, longFiles(test("internal/x/A", "\n".repeat(600) + "x"), 600).size());
  }

  @Test
  void canaryWideConstructorIsFound() {
    String eight =
        "@Nullable List<Map<String, int[]>> a, int b, int c, int d, int e, int f, int g, int h";
    Source wide = core("A", "class A {\n  A(" + eight + ") throws IOException, B {}\n}\n");
    String found = wide.path() + ": constructor with 8 parameters, at most ";

    assertEquals(List.of(found + 7), wideConstructors(List.of(wide), Map.of()));
    assertEquals(List.of(), wideConstructors(List.of(wide), Map.of(wide.path(), 8)));
    assertEquals(
        List.of(wide.path() + ": no longer needs its exemption"),
        wideConstructors(List.of(core("A", "class A { A(int a) {} }")), Map.of(wide.path(), 8)));
    for (String narrow :
        List.of(
            "class A { A(Map<Long, Long> a, int b, int c, int d, int e, int f, int g) {} }",
            "class A { void f(" + eight + ") {} }",
            "record A(" + eight + ") { A { } }",
            "class A { A a = new A(1, 2, 3, 4, 5, 6, 7, 8) { }; }")) {
      assertEquals(List.of(), wideConstructors(List.of(core("A", narrow)), Map.of()));
    }
  }

  @Test
  void canaryLongFunctionIsFound() {
    String body = "    int i = 1;\n".repeat(70);
    String function = "  @Deprecated\n  int f(int a,\n      int b) {\n" + body + "  }\n";

    assertEquals(
        List.of("line 2: function of 74 lines, at most 70"),
        longFunctions(core("A", "class A {\n" + function + "}\n")));
    assertEquals(
        List.of("line 3: function of 74 lines, at most 70"),
        longFunctions(core("A", "enum A {\n  ONE(1) {\n" + function + "  };\n}\n")));
    assertEquals(
        List.of(), longFunctions(core("A", "class A {\n  int[] t = {\n" + body + "  };\n}\n")));
    assertEquals(List.of(), longFunctions(test("A", "class A {\n" + function + "}\n")));
  }

  @Test
  void canaryFunctionsOfShortLengthAreNotAddedUp() {
    String function = "  void f() {\n" + "    g(\"}\", '{'); // {\n".repeat(60) + "  }\n";

    assertEquals(
        List.of(), longFunctions(core("A", "record A(int b) {\n" + function.repeat(3) + "}\n")));
  }

  @Test
  void canaryLongLineIsFound() {
    String wide = "x".repeat(101);

    assertEquals(
        List.of("line 2: 101 columns, at most 100"), longLines(core("A", "\n" + wide + "\n")));
    assertEquals(List.of(), longLines(core("A", "import " + wide + ";\n")));
    assertEquals(List.of(), longLines(core("A", "// https://example.org/" + wide + "\n")));
  }

  @Test
  void canaryBannedTokensAreFoundInCodeOnly() {
    assertBanned("System.out", core("A", "void f() { System.out.println(); }"));
    assertBanned("Thread.sleep", test("A", "void f() { Thread.sleep(1); }"));
    assertBanned("new Random()", core("A", "Random r = new Random();"));
    assertBanned("sun.misc.Unsafe", core("internal/io/A", "import sun.misc.Unsafe;"));
    assertBanned("UnsafeMemory", core("internal/io/A", "UnsafeMemory.INSTANCE.f();"));
    assertBanned("FileChannel", core("internal/vlog/A", "FileChannel c;"));
    assertBanned("ByteBuffer.allocateDirect", core("A", "ByteBuffer.allocateDirect(1);"));
    assertBanned("System.nanoTime", core("A", "long t = System.nanoTime();"));
    assertBanned("System.currentTimeMillis", core("A", "System.currentTimeMillis();"));
    assertBanned("LockSupport.parkNanos", core("A", "LockSupport.parkNanos(1);"));
    assertBanned("LockSupport::parkNanos", core("A", "f(LockSupport::parkNanos);"));
    assertBanned("TO" + "DO", core("A", "// TO" + "DO later"));
    assertBanned("FIX" + "ME", test("A", "/* FIX" + "ME */"));

    assertEquals(List.of(), bannedTokens(core("internal/io/A", "FileChannel c;")));
    assertEquals(List.of(), bannedTokens(core("internal/concurrent/A", "System.nanoTime();")));
    assertEquals(List.of(), bannedTokens(core("internal/memory/A", "UnsafeMemory.f();")));
    assertEquals(List.of(), bannedTokens(core("A", "/** Not {@code Thread.sleep}. */")));
    assertEquals(List.of(), bannedTokens(core("A", "f(\"\"\"\n Thread.sleep \" \n\"\"\");")));
  }

  @Test
  void canaryBannedNamesAreFound() {
    assertEquals(
        List.of("line 1: CacheManager names no role", "line 2: KeyUtils names no role"),
        bannedNames(core("A", "class CacheManager {\n  record KeyUtils(int a) {}\n}\n")));
    assertEquals(List.of(), bannedNames(core("A", "class Implementation { } // class AImpl")));
  }

  @Test
  void canaryExemptionsHideTheirFileAndGoStale() {
    Source wide = core("Wide", "x".repeat(101));
    Source narrow = core("Narrow", "x");
    String reason = "generated table";

    assertEquals(1, findings(List.of(wide), TidyTest::longLines, Map.of()).size());
    assertEquals(
        List.of(), findings(List.of(wide), TidyTest::longLines, Map.of(wide.path(), reason)));
    assertEquals(
        List.of(narrow.path() + ": no longer needs its exemption"),
        findings(List.of(narrow), TidyTest::longLines, Map.of(narrow.path(), reason)));
  }

  @Test
  void canaryTheWalkSeesMainAndTestSources() {
    List<Source> sources = sources();

    assertTrue(sources.stream().anyMatch(source -> isMain(source.path())));
    assertTrue(sources.stream().anyMatch(source -> source.path().endsWith("style/TidyTest.java")));
  }

  private static void check(Rule rule, Map<String, String> exemptions) {
    List<String> findings = findings(sources(), rule, exemptions);
    assertTrue(findings.isEmpty(), () -> "\n" + String.join("\n", findings));
  }

  private static List<String> findings(
      List<Source> sources, Rule rule, Map<String, String> exemptions) {
    List<String> findings = new ArrayList<>();
    for (Source source : sources) {
      List<String> found = rule.findings(source);
      if (!exemptions.containsKey(source.path())) {
        found.forEach(finding -> findings.add(source.path() + ": " + finding));
      } else if (found.isEmpty()) {
        findings.add(source.path() + ": no longer needs its exemption");
      }
    }
    for (String path : exemptions.keySet()) {
      if (sources.stream().noneMatch(source -> source.path().equals(path))) {
        findings.add(path + ": exempted, but there is no such file");
      }
    }
    return findings;
  }

  private static List<String> longFiles(Source source, int linesMax) {
    long count = source.text().lines().count();
    return count <= linesMax ? List.of() : List.of(count + " lines, at most " + linesMax);
  }

  private static List<String> wideConstructors(
      List<Source> sources, Map<String, Integer> exemptions) {
    List<String> findings = new ArrayList<>();
    for (Source source : sources) {
      int widest = isMain(source.path()) ? parametersOfWidestConstructor(source) : 0;
      Integer exempted = exemptions.get(source.path());
      int max = exempted == null ? CONSTRUCTOR_PARAMETERS_MAX : exempted;
      if (widest > max) {
        findings.add(
            source.path() + ": constructor with " + widest + " parameters, at most " + max);
      } else if (exempted != null && widest <= CONSTRUCTOR_PARAMETERS_MAX) {
        findings.add(source.path() + ": no longer needs its exemption");
      }
    }
    return findings;
  }

  private static int parametersOfWidestConstructor(Source source) {
    List<String> classes = CLASS.matcher(source.code()).results().map(m -> m.group(1)).toList();
    int widest = 0;
    Matcher constructor = CONSTRUCTOR.matcher(source.code());
    while (constructor.find()) {
      if (classes.contains(constructor.group(1)) && !constructor.group(2).isBlank()) {
        widest = Math.max(widest, parameters(constructor.group(2)));
      }
    }
    return widest;
  }

  private static int parameters(String list) {
    int count = 1;
    int depth = 0;
    for (int i = 0; i < list.length(); i++) {
      switch (list.charAt(i)) {
        case '<', '(' -> depth++;
        case '>', ')' -> depth--;
        case ',' -> count += depth == 0 ? 1 : 0;
        default -> {}
      }
    }
    return count;
  }

  private static List<String> longLines(Source source) {
    List<String> findings = new ArrayList<>();
    List<String> lines = source.text().lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      boolean isUnbreakable = line.startsWith("import ") || line.matches(".*https?://.*");
      if (line.length() > LINE_COLUMNS_MAX && !isUnbreakable) {
        findings.add(
            "line " + (i + 1) + ": " + line.length() + " columns, at most " + LINE_COLUMNS_MAX);
      }
    }
    return findings;
  }

  private static List<String> bannedTokens(Source source) {
    List<String> findings = new ArrayList<>();
    String code = source.code();
    for (Ban ban : BANS) {
      if (ban.scope().test(source.path())) {
        Matcher matcher = Pattern.compile(ban.token()).matcher(code);
        while (matcher.find()) {
          findings.add(
              at(code, matcher.start()) + matcher.group() + " is banned: use " + ban.instead());
        }
      }
    }
    Matcher matcher = UNFINISHED.matcher(source.text());
    while (matcher.find()) {
      findings.add(
          at(source.text(), matcher.start())
              + matcher.group()
              + " is banned: finish it or open an issue");
    }
    return findings;
  }

  private static List<String> bannedWords(Source source) {
    List<String> findings = new ArrayList<>();
    Matcher part = COMMENT_OR_LITERAL.matcher(source.text());
    while (part.find()) {
      Matcher word = BANNED_WORD.matcher(part.group());
      while (part.group().startsWith("/") && word.find()) {
        findings.add(at(source.text(), part.start() + word.start()) + word.group());
      }
    }
    return findings;
  }

  private static List<String> bannedNames(Source source) {
    List<String> findings = new ArrayList<>();
    String code = source.code();
    Matcher matcher = BANNED_NAME.matcher(code);
    while (matcher.find()) {
      findings.add(at(code, matcher.start()) + matcher.group(1) + " names no role");
    }
    return findings;
  }

  /**
   * Finds functions by their braces: a block that stands directly in a type body and is neither a
   * type nor an array is a function, from its first annotation to its closing brace.
   */
  private static List<String> longFunctions(Source source) {
    if (!isMain(source.path())) {
      return List.of();
    }
    List<String> findings = new ArrayList<>();
    String code = source.code();
    Deque<Block> open = new ArrayDeque<>();
    int headerStart = 0;
    for (int i = 0; i < code.length(); i++) {
      char c = code.charAt(i);
      if (c == '{') {
        open.push(block(code, headerStart, i, open.peek()));
      } else if (c == '}' && !open.isEmpty()) {
        Block block = open.pop();
        int lines = line(code, i) - block.firstLine() + 1;
        if (block.kind() == BlockKind.FUNCTION && lines > FUNCTION_LINES_MAX) {
          findings.add(
              "line "
                  + block.firstLine()
                  + ": function of "
                  + lines
                  + " lines, at most "
                  + FUNCTION_LINES_MAX);
        }
      }
      if (c == '{' || c == '}' || c == ';') {
        headerStart = i + 1;
      }
    }
    return findings;
  }

  private static Block block(String code, int headerStart, int brace, Block enclosing) {
    String header = code.substring(headerStart, brace);
    int blanks = header.length() - header.stripLeading().length();
    int firstLine = line(code, headerStart + blanks);
    if (TYPE_HEADER.matcher(header).find()) {
      return new Block(BlockKind.TYPE, firstLine);
    }
    boolean isArray = header.strip().endsWith("=") || header.strip().endsWith("]");
    boolean isInType = enclosing != null && enclosing.kind() == BlockKind.TYPE;
    return new Block(isInType && !isArray ? BlockKind.FUNCTION : BlockKind.OTHER, firstLine);
  }

  /** Blanks comments and the insides of literals, keeping every line break and every offset. */
  private static String code(String text) {
    Matcher matcher = COMMENT_OR_LITERAL.matcher(text);
    return matcher.replaceAll(match -> match.group().replaceAll("[^\\n]", " "));
  }

  private static String at(String text, int offset) {
    return "line " + line(text, offset) + ": ";
  }

  private static int line(String text, int offset) {
    int line = 1;
    for (int i = 0; i < offset; i++) {
      line += text.charAt(i) == '\n' ? 1 : 0;
    }
    return line;
  }

  private static void assertBanned(String token, Source source) {
    List<String> findings = bannedTokens(source);
    assertEquals(1, findings.size(), () -> token + ": " + findings);
    assertTrue(findings.get(0).startsWith("line 1: " + token + " is banned: "), findings.get(0));
  }

  private static Predicate<String> in(String folder) {
    return path -> path.startsWith(folder);
  }

  private static boolean isMain(String path) {
    return path.contains("/src/main/");
  }

  private static Source core(String name, String text) {
    return new Source(CORE + name + ".java", text);
  }

  private static Source test(String name, String text) {
    return new Source(CORE.replace("main", "test") + name + ".java", text);
  }

  private static List<Source> sources() {
    if (read.isEmpty()) {
      read = Sources.all().stream().map(file -> new Source(file.path(), file.text())).toList();
    }
    return read;
  }

  private interface Rule {
    List<String> findings(Source source);
  }

  private enum BlockKind {
    TYPE,
    FUNCTION,
    OTHER
  }

  private record Block(BlockKind kind, int firstLine) {}

  /** The code is the text without comments and the insides of literals. */
  private record Source(String path, String text, String code) {
    Source(String path, String text) {
      this(path, text, TidyTest.code(text));
    }
  }

  /** A regular expression that code must not match, and what to write instead. */
  private record Ban(String token, String instead, Predicate<String> scope) {}
}
