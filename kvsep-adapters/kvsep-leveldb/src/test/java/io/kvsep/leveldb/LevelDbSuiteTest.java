package io.kvsep.leveldb;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.iq80.leveldb.impl.ApiTest;
import org.iq80.leveldb.impl.DbImpl;
import org.iq80.leveldb.impl.DbImplTest;
import org.iq80.leveldb.util.FileUtils;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Runs the tests that come with LevelDB for Java against kvsep, see {@link DbImpl}. */
final class LevelDbSuiteTest {
  private static final String LEVELS = "counts files in LevelDB's levels";
  private static final String ENTRIES = "looks at LevelDB's internal entries";
  private static final String FILES = "tests a class of LevelDB's alone, no database";
  private static final String LONG = "millions of writes; part of the exhaustive run";

  private static final Map<String, String> LEFT_OUT =
      Map.ofEntries(
          entry("testMinorCompactionsHappen", LEVELS),
          entry("testRecoverWithLargeLog", LEVELS),
          entry("testCompactionsGenerateMultipleFiles", LEVELS),
          entry("testSparseMerge", LEVELS),
          entry("testHiddenValuesAreRemoved", ENTRIES),
          entry("testDeletionMarkers1", ENTRIES),
          entry("testDeletionMarkers2", ENTRIES),
          entry("testApproximateSizes", "wants recent writes, which are in memory, not counted"),
          entry("testCustomComparator", "kvsep has one order of keys"),
          entry("testCantCreateDirectoryReturnMessage", "creates /foo if it may"),
          entry("testSymbolicLinkForFileWithoutParent", FILES),
          entry("testSymbolicLinkForFileWithParent", FILES));

  private static final Map<String, String> EXHAUSTIVE =
      Map.of("testCompactionsOnBigDataSet", LONG, "testCompaction", LONG);

  @TestFactory
  Stream<DynamicTest> databaseTests() {
    return tests(DbImplTest.class)
        .filter(LevelDbSuiteTest::isIn)
        .map(test -> dynamicTest(test.getName(), () -> runDatabaseTest(test)));
  }

  @TestFactory
  Stream<DynamicTest> apiTests() {
    return tests(ApiTest.class)
        .filter(LevelDbSuiteTest::isIn)
        .map(test -> dynamicTest(test.getName(), () -> runApiTest(test)));
  }

  @Test
  void onlyTestsThatExistAreLeftOut() {
    Set<String> names =
        Stream.concat(tests(DbImplTest.class), tests(ApiTest.class))
            .map(Method::getName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(40, names.size());
    assertTrue(names.containsAll(LEFT_OUT.keySet()), LEFT_OUT::toString);
    assertTrue(names.containsAll(EXHAUSTIVE.keySet()), EXHAUSTIVE::toString);
  }

  private static Stream<Method> tests(Class<?> suite) {
    return Arrays.stream(suite.getMethods())
        .filter(method -> method.isAnnotationPresent(org.testng.annotations.Test.class));
  }

  private static boolean isIn(Method test) {
    return !LEFT_OUT.containsKey(test.getName())
        && (Boolean.getBoolean("kvsep.exhaustive") || !EXHAUSTIVE.containsKey(test.getName()));
  }

  private static void runDatabaseTest(Method test) throws Throwable {
    DbImplTest suite = new DbImplTest();
    suite.setUp();
    try {
      run(test, suite);
    } finally {
      DbImpl.closeAll();
      suite.tearDown();
    }
  }

  private static void runApiTest(Method test) throws Throwable {
    ApiTest suite = new ApiTest();
    try {
      run(test, suite);
    } finally {
      DbImpl.closeAll();
      Field directory = ApiTest.class.getDeclaredField("databaseDir");
      directory.setAccessible(true);
      FileUtils.deleteRecursively((File) directory.get(suite));
    }
  }

  private static void run(Method test, Object suite) throws Throwable {
    org.testng.annotations.Test wanted = test.getAnnotation(org.testng.annotations.Test.class);
    try {
      test.invoke(suite);
    } catch (InvocationTargetException e) {
      Throwable failure = Objects.requireNonNull(e.getCause());
      if (!Arrays.asList(wanted.expectedExceptions()).contains(failure.getClass())) {
        throw failure;
      }
      String message = String.valueOf(failure.getMessage());
      assertTrue(message.matches(wanted.expectedExceptionsMessageRegExp()), message);
      return;
    }
    assertEquals(0, wanted.expectedExceptions().length, "throws nothing");
  }
}
