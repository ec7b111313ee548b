//! Makes the options of reading a table or a query, for every verb that reads.

use std::time::Duration;

use load::RetryPolicy;
use load::read::{Gentle, ReadOptions, Readers};
use rows::Form;
use rows::mapping::{GuidForm, OffsetForm, ReadOptions as FormSettings, Scale7};

use crate::options::{Datetime2Form, FormOptions, ReaderOptions};

impl FormOptions {
    /// Returns the rows' form, for a destination that is text or not. Text holds the offset of a `datetimeoffset`, which no other
    /// file does.
    pub fn form(&self, is_text: bool) -> Form {
        Form::Arrow(FormSettings {
            scale_7: match self.datetime2 {
                Datetime2Form::Ns => Scale7::Nanoseconds,
                Datetime2Form::Us => Scale7::Microseconds,
                Datetime2Form::Cut => Scale7::CutMicroseconds,
                Datetime2Form::Text => Scale7::Text,
            },
            date_time_offset: match self.datetimeoffset_text || is_text {
                true => OffsetForm::Text,
                false => OffsetForm::Instant,
            },
            guid: if self.guid_text { GuidForm::Text } else { GuidForm::Bytes },
        })
    }
}

impl ReaderOptions {
    /// Returns how many connections read, and how. `hears` hears of a beginning that is tried again.
    pub fn read_options(&self, retry_for: Option<u32>, form: Form, hears: fn(&load::Error)) -> ReadOptions {
        let gentle = self.gentle.then(|| Gentle {
            pause: Duration::from_millis(self.pause.unwrap_or_default().into()),
            ..Gentle::default()
        });
        let is_asked = retry_for.is_some() || self.readers != Readers::Count(1);
        let defaults = ReadOptions::default();
        let retry_for = retry_for.map_or(defaults.retry_for, |seconds| Duration::from_secs(seconds.into()));
        ReadOptions {
            readers: self.readers,
            split_by: self.split_by.clone(),
            ranges: self.ranges.map(usize::from),
            consistency: self.consistent,
            gentle,
            form,
            retry_for,
            beginning: match is_asked {
                true => RetryPolicy::lasting(retry_for),
                false => RetryPolicy::NONE,
            },
            hears,
            ..defaults
        }
    }
}
