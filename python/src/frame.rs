//! Data frames, as far as their own Arrow data is not what they hold.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure;

/// Returns the object whose Arrow data has all columns of a frame.
///
/// Polars hands over an `Object` column as the addresses of its Python objects: such a column is refused. pandas leaves out an index
/// that is a range, also if it has a name: such an index is spelled out, as the others are.
pub(crate) fn whole<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let class = data.get_type();
    let module = class.module()?.to_string();
    match module.split('.').next().unwrap_or_default() {
        "polars" => check_polars(data, &class.name()?.to_string())?,
        "pandas" if class.name()? == "DataFrame" => return spelled_out(data),
        _ => {}
    }
    Ok(data.clone())
}

fn check_polars(data: &Bound<'_, PyAny>, class: &str) -> PyResult<()> {
    let py = data.py();
    let types: Vec<(String, Bound<'_, PyAny>)> = match class {
        "LazyFrame" => {
            return Err(failure::usage(py, "a LazyFrame is a query that has not run: load its .collect()"));
        }
        "Series" => vec![(data.getattr("name")?.str()?.to_string(), data.getattr("dtype")?)],
        "DataFrame" => data
            .getattr("schema")?
            .call_method0("items")?
            .try_iter()?
            .map(|item| item?.extract())
            .collect::<PyResult<_>>()?,
        _ => return Ok(()),
    };
    // Types are shown with what they hold: List(Object), Struct({'a': Object}).
    let objects = |kind: &Bound<'_, PyAny>| Ok::<_, PyErr>(kind.repr()?.to_string().contains("Object"));
    for (name, kind) in &types {
        if objects(kind)? {
            let text = format!(
                "the column \"{name}\" is a polars {}, whose values are Python objects: make a type of Polars of it, \
                 text for instance: pl.Series(\"{name}\", [str(value) for value in frame[\"{name}\"]])",
                kind.repr()?
            );
            return Err(failure::named(py, "PlanError", text));
        }
    }
    Ok(())
}

fn spelled_out<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let index = data.getattr("index")?;
    let name = index.getattr("name")?;
    if index.get_type().name()? != "RangeIndex" || name.is_none() {
        return Ok(data.clone());
    }
    let named = PyDict::new(data.py());
    named.set_item("name", name)?;
    let pandas = data.py().import("pandas")?;
    let values = index.call_method0("to_numpy")?;
    let plain = pandas.getattr("Index")?.call((values,), Some(&named))?;
    data.call_method1("set_axis", (plain,))
}
