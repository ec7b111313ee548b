//! A provider for tables whose rows are computed when a query reads them.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

/// Computes the rows of a table.
#[async_trait]
pub(crate) trait Rows: Send + Sync + 'static {
    /// The table's name in messages of the engine.
    const NAME: &'static str;

    /// Returns the columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns true if [`chosen`](Self::chosen) can compute only the rows for which a condition holds.
    fn chooses(&self, _: &Expr) -> bool {
        false
    }

    /// Drops the rows for which a condition does not hold. Its columns may be qualified. `None`: the table takes no
    /// condition.
    fn chosen(&self, _: Expr) -> Result<Option<Self>>
    where
        Self: Sized,
    {
        Ok(None)
    }

    /// Plans the reading of some columns, or of all.
    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>>;
}

/// The table.
struct Computed<R>(R);

/// Returns the table that `rows` computes.
pub(crate) fn computed<R: Rows>(rows: R) -> Arc<dyn TableProvider> {
    Arc::new(Computed(rows))
}

/// Returns the source of a table's rows, if it is of this type.
pub(crate) fn rows_of<R: Rows>(table: &dyn TableProvider) -> Option<&R> {
    table.downcast_ref::<Computed<R>>().map(|table| &table.0)
}

/// Plans rows that come in one stream; the stream has all columns.
pub(crate) fn one_stream(
    stream: impl PartitionStream + 'static,
    projection: Option<&Vec<usize>>,
    limit: Option<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = Arc::clone(stream.schema());
    let plan = StreamingTableExec::try_new(schema, vec![Arc::new(stream)], projection, None, false, limit)?;
    Ok(Arc::new(plan))
}

impl<R: Rows> fmt::Debug for Computed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(R::NAME)
    }
}

#[async_trait]
impl<R: Rows> TableProvider for Computed<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.0.chooses(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(condition) = filters.iter().cloned().reduce(Expr::and) else {
            return self.0.plan(session, projection, limit).await;
        };
        // Nobody else looks at a condition that was taken.
        match self.0.chosen(condition)? {
            Some(chosen) => chosen.plan(session, projection, limit).await,
            None => Err(DataFusionError::Internal(format!("{} with a condition", R::NAME))),
        }
    }
}
