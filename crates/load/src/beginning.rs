//! Tries again what comes before the rows: connecting, and the questions and statements of a load that may be repeated.

use std::{cell::Cell, time::Instant};

use crate::{
    client::Client,
    config::Config,
    error::Error,
    interruption::Interruption,
    retry::{RetryPolicy, passing_connecting, transient, transient_connecting, wait},
};

/// The retry rules for work that comes before the rows.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The errors that are retried, and the time limit.
    pub retry: RetryPolicy,
    /// Hears of the first failure that is waited out, so that nobody waits without knowing why.
    pub hears: &'a dyn Fn(&Error),
}

impl Beginning<'_> {
    /// Connects.
    ///
    /// # Errors
    /// The errors of [`Client::connect`], if they are not transient or last too long.
    pub fn connect(&self, config: &Config) -> Result<Client, Error> {
        let may_pass = |error: &Error| passing_connecting(error).is_some();
        self.repeat(config.interruption.as_ref(), &may_pass, &mut || Client::connect(config))
    }

    /// Runs a step that may be repeated from its start. If the connection breaks, the step is tried again over another one.
    ///
    /// # Errors
    /// The errors of the step, if they are not transient or last too long.
    pub fn run<T>(
        &self,
        client: &mut Client,
        step: &mut dyn FnMut(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let interruption = client.sibling_config().interruption;
        // An error of a new connection may be transient where the same error of a step is not.
        let is_connecting = Cell::new(false);
        let may_pass = |error: &Error| match is_connecting.get() {
            true => transient_connecting(error).is_some(),
            false => transient(error).is_some(),
        };
        self.repeat(interruption.as_ref(), &may_pass, &mut || {
            is_connecting.set(client.is_broken());
            if client.is_broken() {
                *client = client.sibling()?;
                is_connecting.set(false);
            }
            step(client)
        })
    }

    fn repeat<T>(
        &self,
        interruption: Option<&Interruption>,
        may_pass: &dyn Fn(&Error) -> bool,
        step: &mut dyn FnMut() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut failed = None;
        let mut tries = 0;
        loop {
            let error = match step() {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let since: &mut Instant = failed.get_or_insert_with(Instant::now);
            if !may_pass(&error) || since.elapsed() >= self.retry.patience {
                return Err(error);
            }
            tries += 1;
            if tries == 1 {
                (self.hears)(&error);
            }
            let left = self.retry.patience.saturating_sub(since.elapsed());
            wait(self.retry.wait(tries).min(left), interruption)?;
        }
    }
}
