//! Reports that travel to other processes by pickle, as engines send exceptions with what hangs on them.

/// Gives a report `fields`, its fields as a dictionary, and `of_fields`, which makes a report of one.
macro_rules! pickled {
    ($report:ident { $($field:ident),+ $(,)? }) => {
        impl $report {
            fn fields<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyDict>> {
                use pyo3::types::PyDictMethods;
                let fields = pyo3::types::PyDict::new(py);
                $(fields.set_item(stringify!($field), self.$field.clone())?;)+
                Ok(fields)
            }

            fn of_fields(fields: &pyo3::Bound<'_, pyo3::types::PyDict>) -> pyo3::PyResult<Self> {
                use pyo3::types::PyAnyMethods;
                Ok(Self { $($field: fields.as_any().get_item(stringify!($field))?.extract()?),+ })
            }
        }
    };
}

pub(crate) use pickled;
