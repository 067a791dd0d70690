package io.kvsep.collections;

import com.google.common.collect.testing.AbstractTester;
import com.google.common.collect.testing.ConcurrentMapTestSuiteBuilder;
import com.google.common.collect.testing.NavigableMapTestSuiteBuilder;
import com.google.common.collect.testing.NavigableSetTestSuiteBuilder;
import com.google.common.collect.testing.TestStringSortedMapGenerator;
import com.google.common.collect.testing.TestStringSortedSetGenerator;
import com.google.common.collect.testing.features.CollectionFeature;
import com.google.common.collect.testing.features.CollectionSize;
import com.google.common.collect.testing.features.Feature;
import com.google.common.collect.testing.features.MapFeature;
import io.kvsep.testing.Sample;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map.Entry;
import java.util.stream.Stream;
import junit.framework.Test;
import junit.framework.TestCase;
import junit.framework.TestSuite;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The collection test suites of Guava, with every feature of a sorted concurrent map that refuses
 * nulls. No test is suppressed. The suite of sorted maps repeats its tests for sub-maps of
 * sub-maps; a run draws some of them.
 */
final class GuavaSuitesTest {
  private static final Keyspaces KEYSPACES = new Keyspaces();

  private static final int NAVIGABLE_MAP_COUNT = 3_000;

  /** General: all operations that add and remove. Not serializable, no nulls. */
  private static final List<Feature<?>> MAP_FEATURES =
      List.of(
          MapFeature.GENERAL_PURPOSE,
          MapFeature.ALLOWS_NULL_ENTRY_QUERIES,
          CollectionFeature.SUPPORTS_ITERATOR_REMOVE,
          CollectionFeature.KNOWN_ORDER,
          CollectionSize.ANY);

  private static final TestStringSortedMapGenerator MAPS =
      new TestStringSortedMapGenerator() {
        @Override
        protected KvMap<String, String> create(Entry<String, String>[] entries) {
          KvMap<String, String> map =
              KvMap.open(KEYSPACES.next(), Codecs.string(), Codecs.plainString());
          for (Entry<String, String> entry : entries) {
            map.put(entry.getKey(), entry.getValue());
          }
          return map;
        }
      };

  private static final TestStringSortedSetGenerator SETS =
      new TestStringSortedSetGenerator() {
        @Override
        protected KvSet<String> create(String[] elements) {
          KvSet<String> set = KvSet.open(KEYSPACES.next(), Codecs.string());
          set.addAll(List.of(elements));
          return set;
        }
      };

  @AfterAll
  static void close() {
    KEYSPACES.close();
  }

  @TestFactory
  Stream<DynamicTest> concurrentMap() {
    return tests(
        ConcurrentMapTestSuiteBuilder.using(MAPS)
            .named("KvMap as ConcurrentMap")
            .withFeatures(MAP_FEATURES)
            .createTestSuite());
  }

  @TestFactory
  Stream<DynamicTest> navigableMap() {
    List<TestCase> all =
        cases(
                NavigableMapTestSuiteBuilder.using(MAPS)
                    .named("KvMap as NavigableMap")
                    .withFeatures(MAP_FEATURES)
                    .createTestSuite())
            .toList();
    List<TestCase> drawn = new ArrayList<>();
    Sample.of(all)
        .meeting(test -> ((AbstractTester<?>) test).getTestMethodName())
        .run(
            GuavaSuitesTest.class,
            "navigableMap",
            NAVIGABLE_MAP_COUNT,
            (cases, seed) -> drawn.addAll(cases));
    return drawn.stream().map(GuavaSuitesTest::dynamic);
  }

  @TestFactory
  Stream<DynamicTest> navigableSet() {
    return tests(
        NavigableSetTestSuiteBuilder.using(SETS)
            .named("KvSet")
            .withFeatures(
                CollectionFeature.GENERAL_PURPOSE,
                CollectionFeature.KNOWN_ORDER,
                CollectionSize.ANY)
            .createTestSuite());
  }

  private static Stream<DynamicTest> tests(TestSuite suite) {
    return cases(suite).map(GuavaSuitesTest::dynamic);
  }

  private static DynamicTest dynamic(TestCase test) {
    return DynamicTest.dynamicTest(test.toString(), test::runBare);
  }

  private static Stream<TestCase> cases(Test test) {
    return test instanceof TestSuite suite
        ? Collections.list(suite.tests()).stream().flatMap(GuavaSuitesTest::cases)
        : Stream.of((TestCase) test);
  }
}
