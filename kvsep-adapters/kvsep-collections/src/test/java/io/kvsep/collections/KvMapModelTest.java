package io.kvsep.collections;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random operations on maps and their sub-maps and descending maps, compared with {@link
 * ConcurrentSkipListMap}: results, exceptions and contents.
 */
final class KvMapModelTest {
  private static final int STEPS = 400;
  private static final int KEYS = 24;

  private interface Step {
    @Nullable Object apply(ConcurrentNavigableMap<Integer, String> map);
  }

  private interface Derivation
      extends Function<
          ConcurrentNavigableMap<Integer, String>, ConcurrentNavigableMap<Integer, String>> {}

  @Test
  void mapsBehaveAsSkipListMaps() {
    try (Keyspaces keyspaces = new Keyspaces()) {
      Seeds.each(
          KvMapModelTest.class,
          60,
          random -> {
            Codec<Integer> keys =
                random.nextBoolean() ? Codecs.int32() : Codecs.reversed(Codecs.int32());
            compare(
                new ConcurrentSkipListMap<>(keys.comparator()),
                KvMap.open(keyspaces.next(), keys, Codecs.string()),
                random);
          });
    }
  }

  private static void compare(
      ConcurrentNavigableMap<Integer, String> model,
      ConcurrentNavigableMap<Integer, String> map,
      Random random) {
    ConcurrentNavigableMap<Integer, String> modelView = model;
    ConcurrentNavigableMap<Integer, String> view = map;
    for (int i = 0; i < STEPS; i++) {
      if (random.nextInt(8) == 0) {
        Derivation derivation = drawDerivation(random);
        Object expected = result(derivation::apply, modelView);
        Object found = result(derivation::apply, view);
        assertEquals(expected, found);
        if (expected instanceof Map) {
          modelView = derivation.apply(modelView);
          view = derivation.apply(view);
        }
      } else if (random.nextInt(16) == 0) {
        modelView = model;
        view = map;
      } else {
        Step step = drawStep(random);
        assertEquals(result(step, modelView), result(step, view), "step " + i);
      }
    }
    assertEquals(List.copyOf(model.entrySet()), List.copyOf(map.entrySet()));
    assertEquals(List.copyOf(modelView.entrySet()), List.copyOf(view.entrySet()));
  }

  /** What the step returns, or the class of what it throws. */
  private static @Nullable Object result(Step step, ConcurrentNavigableMap<Integer, String> map) {
    try {
      return step.apply(map);
    } catch (RuntimeException e) {
      return e.getClass();
    }
  }

  private static Derivation drawDerivation(Random random) {
    int a = random.nextInt(KEYS);
    int b = random.nextInt(KEYS);
    boolean isFirst = random.nextBoolean();
    boolean isSecond = random.nextBoolean();
    return switch (random.nextInt(5)) {
      case 0 -> map -> map.headMap(a, isFirst);
      case 1 -> map -> map.tailMap(a, isFirst);
      case 2 -> ConcurrentNavigableMap::descendingMap;
      default -> map -> map.subMap(a, isFirst, b, isSecond);
    };
  }

  private static Step drawStep(Random random) {
    int key = random.nextInt(KEYS);
    String value = "v" + random.nextInt(3);
    String other = "v" + random.nextInt(3);
    return switch (random.nextInt(5)) {
      case 0, 1 -> drawWrite(random.nextInt(14), key, value, other);
      case 2 -> drawNeighbour(random.nextInt(14), key);
      default -> drawWhole(random.nextInt(16), key, value);
    };
  }

  private static Step drawWrite(int kind, int key, String value, String other) {
    return switch (kind) {
      case 0 -> map -> map.putIfAbsent(key, value);
      case 1 -> map -> map.remove(key);
      case 2 -> map -> map.remove(key, value);
      case 3 -> map -> map.replace(key, value);
      case 4 -> map -> map.replace(key, value, other);
      case 5 -> map -> map.merge(key, value, (a, b) -> a.equals(b) ? null : a + b);
      case 6 -> map -> map.computeIfAbsent(key, k -> k % 3 == 0 ? null : value);
      case 7 -> map -> map.computeIfPresent(key, (k, v) -> v.length() > 4 ? null : v + k);
      case 8 -> map -> map.compute(key, (k, v) -> Objects.equals(v, value) ? other : value);
      case 9 -> map -> entry(map.pollFirstEntry());
      case 10 -> map -> entry(map.pollLastEntry());
      default -> map -> map.put(key, value);
    };
  }

  private static Step drawNeighbour(int kind, int key) {
    return switch (kind) {
      case 0 -> map -> map.lowerKey(key);
      case 1 -> map -> map.floorKey(key);
      case 2 -> map -> map.ceilingKey(key);
      case 3 -> map -> map.higherKey(key);
      case 4 -> map -> entry(map.lowerEntry(key));
      case 5 -> map -> entry(map.floorEntry(key));
      case 6 -> map -> entry(map.ceilingEntry(key));
      case 7 -> map -> entry(map.higherEntry(key));
      case 8 -> map -> entry(map.firstEntry());
      case 9 -> map -> entry(map.lastEntry());
      case 10 -> ConcurrentNavigableMap::firstKey;
      case 11 -> ConcurrentNavigableMap::lastKey;
      case 12 -> map -> map.containsKey(key);
      default -> map -> map.get(key);
    };
  }

  private static Step drawWhole(int kind, int key, String value) {
    IntPredicate isRemoved = k -> (k * 31 + key) % 5 == 0;
    return switch (kind) {
      case 0 -> ConcurrentNavigableMap::size;
      case 1 -> ConcurrentNavigableMap::isEmpty;
      case 2 -> map -> map.containsValue(value);
      case 3 -> map -> List.copyOf(map.keySet());
      case 4 -> map -> List.copyOf(map.descendingKeySet());
      case 5 -> map -> List.copyOf(map.values());
      case 6 -> map -> List.copyOf(map.entrySet());
      case 7 -> map -> map.keySet().removeIf(isRemoved::test);
      case 8 -> map -> map.entrySet().removeIf(entry -> isRemoved.test(entry.getKey()));
      case 9 -> map -> map.values().remove(value);
      case 10 -> map -> map.entrySet().contains(Map.entry(key, value));
      case 11 -> map -> map.entrySet().remove(Map.entry(key, value));
      case 12 -> map -> List.of(map.toString(), map.hashCode());
      case 13 -> map -> list(map.keySet().subSet(key, true, key + 3, false).descendingSet());
      case 14 ->
          map -> {
            map.replaceAll((k, v) -> isRemoved.test(k) ? value : v);
            return map.keySet().stream().filter(isRemoved::test).toList();
          };
      default ->
          map -> {
            if (map.size() > KEYS / 2) {
              map.headMap(key).clear();
            }
            return map.size();
          };
    };
  }

  private static List<Object> list(Iterable<?> elements) {
    List<Object> list = new ArrayList<>();
    elements.forEach(list::add);
    return list;
  }

  private static Object entry(Map.@Nullable Entry<Integer, String> entry) {
    return entry == null ? "none" : Map.entry(entry.getKey(), entry.getValue());
  }
}
