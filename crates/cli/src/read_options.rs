//! What flags say of a table or a query that is read, for every verb that reads.

use std::time::Duration;

use load::RetryPolicy;
use load::read::{Gentle, ReadOptions, Readers};
use rows::Form;
use rows::mapping::{GuidForm, OffsetForm, ReadOptions as FormOptions, Scale7};

use crate::args::{Datetime2Form, FormArgs, ReaderArgs};
use crate::verbs::load::options as load_options;

/// The rows' form, for a destination that is text or not. Text holds the offset of a `datetimeoffset`, which no other file does.
pub fn form(arguments: &FormArgs, is_text: bool) -> Form {
    Form::Arrow(FormOptions {
        scale_7: match arguments.datetime2 {
            Datetime2Form::Ns => Scale7::Nanoseconds,
            Datetime2Form::Us => Scale7::Microseconds,
            Datetime2Form::Cut => Scale7::CutMicroseconds,
            Datetime2Form::Text => Scale7::Text,
        },
        date_time_offset: match arguments.datetimeoffset_text || is_text {
            true => OffsetForm::Text,
            false => OffsetForm::Instant,
        },
        guid: if arguments.guid_text { GuidForm::Text } else { GuidForm::Bytes },
    })
}

/// How many connections read, and how.
pub fn of(arguments: &ReaderArgs, retry_for: Option<u32>, form: Form) -> ReadOptions {
    let gentle = arguments.gentle.then(|| Gentle {
        pause: Duration::from_millis(arguments.pause.unwrap_or_default().into()),
        ..Gentle::default()
    });
    let is_asked = retry_for.is_some() || arguments.readers != Readers::Count(1);
    let defaults = ReadOptions::default();
    let retry_for = retry_for.map_or(defaults.retry_for, |seconds| Duration::from_secs(seconds.into()));
    ReadOptions {
        readers: arguments.readers,
        split_by: arguments.split_by.clone(),
        ranges: arguments.ranges.map(usize::from),
        consistency: arguments.consistent,
        gentle,
        form,
        retry_for,
        beginning: match is_asked {
            true => RetryPolicy::lasting(retry_for),
            false => RetryPolicy::NONE,
        },
        hears: load_options::hears,
        ..defaults
    }
}
