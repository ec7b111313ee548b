//! Events of `tracing` as JSON objects: the event's own fields, and those of the spans around it.

use std::fmt::Debug;

use databases::log;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Writes them to the log.
pub(super) struct JsonEvents;

/// The fields of a span, or of an event.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for JsonEvents {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = log::json_head(event.metadata().level().as_str());
        line.insert("target".to_owned(), Value::from(event.metadata().target()));
        let mut fields = Fields::default();
        event.record(&mut fields);
        line.append(&mut fields.0);
        let spans = context.event_scope(event).into_iter().flatten();
        for span in spans {
            let extensions = span.extensions();
            let fields = extensions.get::<Fields>().map(|fields| fields.0.clone()).unwrap_or_default();
            line.insert(span.name().to_owned(), Value::Object(fields));
        }
        log::written_line(Value::Object(line).to_string());
    }
}
