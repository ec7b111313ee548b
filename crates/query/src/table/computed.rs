//! A provider for tables whose rows are computed when a query reads them.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

/// What computes the rows.
#[async_trait]
pub(crate) trait Rows: Send + Sync + 'static {
    /// The table's name in messages of the engine.
    const NAME: &'static str;

    /// The columns.
    fn schema(&self) -> &SchemaRef;

    /// A plan of some columns, or of all.
    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>>;
}

/// The table.
struct Computed<R>(R);

/// The table that `rows` computes.
pub(crate) fn computed<R: Rows>(rows: R) -> Arc<dyn TableProvider> {
    Arc::new(Computed(rows))
}

/// What computes a table's rows, if it is this.
pub(crate) fn rows_of<R: Rows>(table: &dyn TableProvider) -> Option<&R> {
    table.downcast_ref::<Computed<R>>().map(|table| &table.0)
}

/// A plan of rows that come in one stream; the stream has all columns.
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

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Conditions are checked above, and a limit is of the rows that satisfy them.
        self.0.plan(session, projection, limit.filter(|_| filters.is_empty())).await
    }
}
