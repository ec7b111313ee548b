//! Finds out if data comes in the order of a key, without using it up.

use formats::{Location, SortColumn, Sorted};
use load::{KeyOrder, OrderEvidence};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::source::{self, BoxedError};

/// Data that can be looked at before it is loaded.
pub(crate) enum SourceOrder {
    /// A file, which may be opened again.
    File(Location),
    /// A frame or table in memory, of which columns can be selected.
    Columns(Py<PyAny>),
    /// Data that may be used up by looking.
    Unknown,
}

impl SourceOrder {
    pub(crate) fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(location) = source::location_of(data)? {
            return Ok(Self::File(location));
        }
        let kind = data.get_type();
        let module = kind.module()?.to_string();
        let library = module.split('.').next().unwrap_or_default();
        let name = kind.name()?.to_string();
        Ok(match (library, name.as_str()) {
            ("pyarrow", "Table" | "RecordBatch") | ("polars", "DataFrame") => {
                Self::Columns(data.clone().unbind())
            }
            _ => Self::Unknown,
        })
    }
}

impl OrderEvidence for SourceOrder {
    fn find(&self, order: &KeyOrder) -> Result<Option<String>, BoxedError> {
        match self {
            Self::File(location) => {
                let columns = order.sources.iter().zip(&order.key);
                let columns: Vec<SortColumn> = columns
                    .map(|(index, (_, descending))| SortColumn { index: *index, descending: *descending })
                    .collect();
                let sorted = source::reader(location)?.sorted_by(&columns, order.is_unique)?;
                Ok(match sorted {
                    Sorted::Yes(evidence) => Some(evidence.to_owned()),
                    Sorted::No(_) | Sorted::Unknown => None,
                })
            }
            Self::Columns(data) => {
                let Some(key) = Python::attach(|py| key_columns(data.bind(py), order))? else {
                    return Ok(None);
                };
                Ok(is_sorted(key, order)?.then(|| "the data's key was read".to_owned()))
            }
            Self::Unknown => Ok(None),
        }
    }
}

/// Returns the key's columns alone, in the key's order; `None` if a name stands for several of them.
fn key_columns(data: &Bound<'_, PyAny>, order: &KeyOrder) -> PyResult<Option<source::Source>> {
    let names = data.getattr("schema")?.getattr_opt("names")?;
    let names: Vec<String> = match names {
        Some(names) if names.is_callable() => names.call0()?.extract()?,
        Some(names) => names.extract()?,
        None => return Ok(None),
    };
    let wanted: Vec<&String> = order.sources.iter().filter_map(|source| names.get(*source)).collect();
    let is_clear = wanted.len() == order.sources.len()
        && wanted.iter().all(|wanted| names.iter().filter(|name| name == wanted).count() == 1);
    if !is_clear {
        return Ok(None);
    }
    let key = data.call_method1("select", (PyList::new(data.py(), wanted)?,))?;
    source::open(&key).map(Some)
}

fn is_sorted(key: source::Source, order: &KeyOrder) -> Result<bool, BoxedError> {
    let sources = (0..order.sources.len()).collect();
    let order = KeyOrder { sources, ..order.clone() };
    order.holds_for(key.batches)
}
