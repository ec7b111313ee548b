//! A Python function over batches as the engine of a transformation.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use copy::{BoxError, Lookup, PreparedTransformation, RowStream, TransformEngine, Transformation};
use load::{Origin, Origins, SourceBatch};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use crate::source::arrow_reader;

/// A function that takes a batch and returns one, or anything else that holds Arrow data.
pub(crate) struct RowFunction(Arc<Py<PyAny>>);

impl RowFunction {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Self(Arc::new(function))
    }
}

impl TransformEngine for RowFunction {
    fn prepare(
        &self,
        _: &Transformation,
        source: SchemaRef,
        _: Vec<Lookup>,
    ) -> Result<Box<dyn PreparedTransformation>, BoxError> {
        // The columns of the result are those of no rows.
        let schema = called(&self.0, RecordBatch::new_empty(source))?.schema();
        Ok(Box::new(Prepared { function: Arc::clone(&self.0), schema }))
    }
}

struct Prepared {
    function: Arc<Py<PyAny>>,
    schema: SchemaRef,
}

impl PreparedTransformation for Prepared {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn is_row_wise(&self) -> bool {
        // A function may give any rows.
        false
    }

    fn apply(self: Box<Self>, source: RowStream) -> RowStream {
        let schema = self.schema();
        let Prepared { function, schema: own } = *self;
        let mut counted = 0;
        let batches = source.batches.map(move |batch| {
            let mut batch = batch?;
            let unread = batch.take_unread();
            let made = called(&function, batch.batch().clone())?;
            if made.schema().fields() != own.fields() {
                let made = made.schema();
                return Err(format!("the function gave the columns {made} where it gave {own} before").into());
            }
            let origins = Counted(counted);
            counted += made.num_rows() as u64;
            Ok(SourceBatch::new(made, Arc::new(origins)).with_unread(unread))
        });
        RowStream { schema, batches: Box::new(batches) }
    }
}

/// Numbers rows as they come out.
struct Counted(u64);

impl Origins for Counted {
    fn origin(&self, index: usize) -> Origin {
        Origin { row: self.0 + index as u64, byte_offset: None, raw: None }
    }
}

/// Calls the function with a batch and returns its result.
fn called(function: &Py<PyAny>, batch: RecordBatch) -> Result<RecordBatch, BoxError> {
    Python::attach(|py| {
        let batch = PyRecordBatch::new(batch).into_pyobject(py)?.into_any();
        let batch = match py.import("pyarrow") {
            Ok(pyarrow) => pyarrow.call_method1("record_batch", (batch,))?,
            Err(_) => batch,
        };
        let made = function.call1(py, (batch,))?;
        let made = made.bind(py);
        let Some(reader) = arrow_reader(made)? else {
            let text = format!("the function gave a {}, which is no Arrow data", made.get_type().name()?);
            return Err(BoxError::from(text));
        };
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        Ok(concat_batches(&schema, &batches)?)
    })
}
