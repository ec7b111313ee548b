//! The transformation of a copy, as its flags say it.

use std::sync::Arc;

use copy::{Endpoint, Source, SourceSettings, TransformEngine, Transformation, TransformedSource};
use rows::Form;
use rows::text::DateOrder;

use crate::args::CopyArgs;
use crate::connection;
use crate::failure::Failure;

/// What is done to rows, and what does it.
pub struct CopyTransformation {
    engine: Arc<dyn TransformEngine>,
    transformation: Transformation,
    lookups: Vec<(String, Endpoint)>,
}

impl CopyTransformation {
    /// The transformation that the flags ask for, if any. `form` is that of rows for a file.
    pub fn of(
        arguments: &CopyArgs,
        form: &Form,
        engine: Option<&Arc<dyn TransformEngine>>,
    ) -> Result<Option<Self>, Failure> {
        let flags = &arguments.transformation;
        if let Some(flag) = flags.stray() {
            let text =
                format!("{flag} belongs to a transformation: say --select, --where, --transform or --action");
            return Err(Failure::Usage(text));
        }
        let Some(engine) = engine.filter(|_| flags.is_given()) else { return Ok(None) };
        if arguments.with_keys {
            let text = "--with-keys copies the keys of a table, and what a transformation gives has none";
            return Err(Failure::Usage(text.to_owned()));
        }
        let query = match &flags.transform {
            None => flags.transform_query.clone(),
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .map_err(|source| Failure::Unreadable { file: path.display().to_string(), source })?,
            ),
        };
        let mut transformation = Transformation {
            select: flags.select.clone(),
            condition: flags.condition.clone(),
            action: flags.action.clone().filter(|_| query.is_none()),
            query,
            collation: flags.collation.clone(),
            form: form.clone(),
            date_order: arguments.conversions.date_order.map(DateOrder::from),
            files: flags.files.clone(),
            ..Transformation::default()
        };
        if let Some(limit) = flags.memory_limit {
            transformation.memory_limit = limit;
        }
        let mut lookups = Vec::with_capacity(flags.lookups.len());
        for (name, text) in &flags.lookups {
            let url = arguments.connection.url.as_deref();
            let mut endpoint = Endpoint::parse_and(text, url, &arguments.connection.keywords())?;
            if let Endpoint::SqlServer(server) = &mut endpoint {
                connection::apply(&mut server.config, &arguments.connection);
            }
            lookups.push((name.clone(), endpoint));
        }
        Ok(Some(Self { engine: Arc::clone(engine), transformation, lookups }))
    }

    /// A source whose rows are transformed.
    pub fn over(&self, source: Box<dyn Source>) -> Result<Box<dyn Source>, Failure> {
        let mut lookups = Vec::with_capacity(self.lookups.len());
        for (name, endpoint) in &self.lookups {
            lookups.push((name.clone(), endpoint.source(&SourceSettings::default())?));
        }
        let transformation = self.transformation.clone();
        Ok(Box::new(TransformedSource::new(source, Arc::clone(&self.engine), transformation, lookups)))
    }
}
