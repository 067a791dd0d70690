package io.kvsep.internal.txn;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * A persistent map sorted by unsigned bytes: an update returns a new map that shares all but one
 * path. So each cursor keeps the map of its creation without a copy.
 *
 * <p>A treap (R. Seidel and C. Aragon, 1989) with pseudorandom priorities. Every operation takes
 * about 2 log2(n) steps, removal of a range included.
 */
final class OrderedTree<V> {
  /** Immutable. */
  static final class Node<V> {
    final byte[] key;
    final V value;

    private final long weight;

    private final long priority;
    private final @Nullable Node<V> left;
    private final @Nullable Node<V> right;
    private final int count;
    private final long bytes;

    private Node(
        byte[] key,
        V value,
        long weight,
        long priority,
        @Nullable Node<V> left,
        @Nullable Node<V> right) {
      this.key = key;
      this.value = value;
      this.weight = weight;
      this.priority = priority;
      this.left = left;
      this.right = right;
      this.count = 1 + countOf(left) + countOf(right);
      this.bytes = weight + bytesOf(left) + bytesOf(right);
    }

    private Node<V> withLeft(@Nullable Node<V> other) {
      return other == left ? this : new Node<>(key, value, weight, priority, other, right);
    }

    private Node<V> withRight(@Nullable Node<V> other) {
      return other == right ? this : new Node<>(key, value, weight, priority, left, other);
    }
  }

  private static final OrderedTree<?> EMPTY = new OrderedTree<>(null, 0);

  private final @Nullable Node<V> root;

  /** Position in the sequence of priorities. */
  private final long drawn;

  private OrderedTree(@Nullable Node<V> root, long drawn) {
    this.root = root;
    this.drawn = drawn;
  }

  @SuppressWarnings("unchecked") // it holds no values
  static <V> OrderedTree<V> empty() {
    return (OrderedTree<V>) EMPTY;
  }

  boolean isEmpty() {
    return root == null;
  }

  int count() {
    return countOf(root);
  }

  /** Sum of weights. */
  long bytes() {
    return bytesOf(root);
  }

  @Nullable Node<V> get(byte[] key) {
    Node<V> found = floor(key);
    return found != null && Arrays.equals(found.key, key) ? found : null;
  }

  @Nullable Node<V> floor(byte[] key) {
    return before(key, /* inclusive= */ true);
  }

  @Nullable Node<V> lower(byte[] key) {
    return before(key, /* inclusive= */ false);
  }

  @Nullable Node<V> ceiling(byte[] key) {
    return after(key, /* inclusive= */ true);
  }

  @Nullable Node<V> higher(byte[] key) {
    return after(key, /* inclusive= */ false);
  }

  /** Adds or replaces an entry. Keeps the array. */
  OrderedTree<V> with(byte[] key, V value, long weight) {
    Node<V> less = below(root, key, /* inclusive= */ false);
    Node<V> more = above(root, key, /* inclusive= */ false);
    Node<V> added = new Node<>(key, value, weight, priority(drawn), null, null);
    return new OrderedTree<>(join(join(less, added), more), drawn + 1);
  }

  /** Removes the entries in [{@code from}, {@code to}). */
  OrderedTree<V> without(byte[] from, byte[] to) {
    Node<V> first = ceiling(from);
    if (first == null || Arrays.compareUnsigned(first.key, to) >= 0) {
      return this;
    }
    Node<V> less = below(root, from, /* inclusive= */ false);
    return new OrderedTree<>(join(less, above(root, to, /* inclusive= */ true)), drawn);
  }

  Walk<V> walk() {
    return new Walk<>(root);
  }

  /** Ascending. Not thread safe. */
  static final class Walk<V> {
    private final Deque<Node<V>> path = new ArrayDeque<>();

    private Walk(@Nullable Node<V> root) {
      descend(root);
    }

    /** Null after the last entry. */
    @Nullable Node<V> next() {
      Node<V> next = path.poll();
      if (next != null) {
        descend(next.right);
      }
      return next;
    }

    private void descend(@Nullable Node<V> start) {
      for (Node<V> node = start; node != null; node = node.left) {
        path.push(node);
      }
    }
  }

  private @Nullable Node<V> before(byte[] key, boolean inclusive) {
    Node<V> found = null;
    Node<V> node = root;
    while (node != null) {
      int order = Arrays.compareUnsigned(node.key, key);
      if (order < 0 || (inclusive && order == 0)) {
        found = node;
        node = node.right;
      } else {
        node = node.left;
      }
    }
    return found;
  }

  private @Nullable Node<V> after(byte[] key, boolean inclusive) {
    Node<V> found = null;
    Node<V> node = root;
    while (node != null) {
      int order = Arrays.compareUnsigned(node.key, key);
      if (order > 0 || (inclusive && order == 0)) {
        found = node;
        node = node.left;
      } else {
        node = node.right;
      }
    }
    return found;
  }

  private static <V> @Nullable Node<V> below(
      @Nullable Node<V> node, byte[] key, boolean inclusive) {
    if (node == null) {
      return null;
    }
    int order = Arrays.compareUnsigned(node.key, key);
    return order < 0 || (inclusive && order == 0)
        ? node.withRight(below(node.right, key, inclusive))
        : below(node.left, key, inclusive);
  }

  private static <V> @Nullable Node<V> above(
      @Nullable Node<V> node, byte[] key, boolean inclusive) {
    if (node == null) {
      return null;
    }
    int order = Arrays.compareUnsigned(node.key, key);
    return order > 0 || (inclusive && order == 0)
        ? node.withLeft(above(node.left, key, inclusive))
        : above(node.right, key, inclusive);
  }

  /** All keys of {@code less} precede those of {@code more}. */
  private static <V> @Nullable Node<V> join(@Nullable Node<V> less, @Nullable Node<V> more) {
    if (less == null || more == null) {
      return less == null ? more : less;
    }
    return less.priority > more.priority
        ? less.withRight(join(less.right, more))
        : more.withLeft(join(less, more.left));
  }

  private static int countOf(@Nullable Node<?> node) {
    return node == null ? 0 : node.count;
  }

  private static long bytesOf(@Nullable Node<?> node) {
    return node == null ? 0 : node.bytes;
  }

  /** The mix of SplitMix64; as good as random for keys chosen independently of it. */
  private static long priority(long index) {
    long bits = (index + 1) * 0x9e3779b97f4a7c15L;
    bits = (bits ^ (bits >>> 30)) * 0xbf58476d1ce4e5b9L;
    bits = (bits ^ (bits >>> 27)) * 0x94d049bb133111ebL;
    return bits ^ (bits >>> 31);
  }
}
