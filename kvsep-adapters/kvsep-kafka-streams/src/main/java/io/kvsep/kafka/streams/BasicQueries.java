package io.kvsep.kafka.streams;

import java.util.function.Supplier;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.FailureReason;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;

/** Interactive queries, answered by Kafka's internal class through the methods of the store. */
final class BasicQueries {
  private BasicQueries() {}

  static <R> QueryResult<R> answer(
      Query<R> query,
      PositionBound bound,
      QueryConfig config,
      StateStore store,
      Position position,
      StateStoreContext context) {
    return StoreQueryUtils.handleBasicQueries(query, bound, config, store, position, context);
  }

  /** Answers a query that the store executes itself. */
  static <R> QueryResult<R> answer(
      PositionBound bound,
      QueryConfig config,
      StateStore store,
      Position position,
      StateStoreContext context,
      Supplier<R> execute) {
    long started = System.nanoTime();
    int partition = context.taskId().partition();
    QueryResult<R> result;
    synchronized (position) {
      if (!StoreQueryUtils.isPermitted(position, bound, partition)) {
        result = QueryResult.notUpToBound(position, bound, partition);
      } else {
        try {
          result = QueryResult.forResult(execute.get());
        } catch (StreamsException e) {
          result = QueryResult.forFailure(FailureReason.STORE_EXCEPTION, e.toString());
        }
      }
      result.setPosition(position.copy());
    }
    if (config.isCollectExecutionInfo()) {
      result.addExecutionInfo(
          "Handled in " + store.getClass() + " in " + (System.nanoTime() - started) + "ns");
    }
    return result;
  }
}
