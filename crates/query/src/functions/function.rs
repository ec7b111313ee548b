//! One built-in function: its signature, and the kernel that binds its calls.

use std::collections::HashMap;
use std::sync::Arc;

use tds::SqlType;
use tsql::SqlError;

use crate::datum::Datum;
use crate::typed::Typed;

/// Arguments that a call may have.
const ARGUMENTS_MAX: usize = 254;

/// The arguments and the result of a function.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// Upper case. Names with a blank are made by the parser: no call of a batch has one.
    pub name: &'static str,
    /// Arguments that every call has.
    pub required: &'static [&'static str],
    /// Arguments that may follow, in order.
    pub optional: &'static [&'static str],
    /// The last argument may be repeated.
    pub repeats: bool,
    /// The call's syntax, if it is not a list of arguments.
    pub written: Option<&'static str>,
    /// The type of its value, as the page names it.
    pub returns: &'static str,
    /// True if its time is at most proportional to its arguments' length, and it reads no rows.
    pub is_light: bool,
    /// `(*)` is a call.
    pub takes_star: bool,
    /// The call may have WITHIN GROUP.
    pub within_group: bool,
    /// True if its text is JSON, which is put into other JSON unchanged.
    pub makes_json: bool,
}

impl Signature {
    /// Returns the fewest arguments of a call.
    pub const fn least(&self) -> usize {
        self.required.len()
    }

    /// Returns the most arguments of a call.
    pub const fn most(&self) -> usize {
        if self.repeats { ARGUMENTS_MAX } else { self.required.len() + self.optional.len() }
    }

    /// Errors: 174 or 189 for a wrong number of arguments.
    pub fn check_count(&self, count: usize) -> Result<(), SqlError> {
        if (self.least()..=self.most()).contains(&count) {
            return Ok(());
        }
        Err(SqlError::argument_count(&self.name.to_lowercase(), self.least(), self.most()))
    }

    /// Writes the call as the page shows it: `ROUND(number, digits[, cut])`.
    pub fn syntax(&self) -> String {
        if let Some(written) = self.written {
            return written.to_owned();
        }
        let mut inside = self.required.join(", ");
        for argument in self.optional {
            inside.push_str(if inside.is_empty() { "[" } else { "[, " });
            inside.push_str(argument);
        }
        inside.push_str(&"]".repeat(self.optional.len()));
        if self.repeats {
            inside.push_str(", ...");
        }
        format!("{}({inside})", self.name)
    }
}

/// A built-in function; `K` binds a call of it.
#[derive(Debug, Clone, Copy)]
pub struct Function<K> {
    /// The arguments and the result.
    pub signature: Signature,
    /// Binds a call.
    pub kernel: K,
}

impl<K> Function<K> {
    /// Makes a function with these arguments.
    pub const fn new(
        name: &'static str,
        required: &'static [&'static str],
        returns: &'static str,
        kernel: K,
    ) -> Function<K> {
        let signature = Signature {
            name,
            required,
            optional: &[],
            repeats: false,
            written: None,
            returns,
            is_light: false,
            takes_star: false,
            within_group: false,
            makes_json: false,
        };
        Function { signature, kernel }
    }

    /// Adds arguments that may be left out.
    pub const fn optional(mut self, optional: &'static [&'static str]) -> Self {
        self.signature.optional = optional;
        self
    }

    /// Lets the last argument be repeated.
    pub const fn repeated(mut self) -> Self {
        self.signature.repeats = true;
        self
    }

    /// Sets another syntax than a list of arguments.
    pub const fn written(mut self, written: &'static str) -> Self {
        self.signature.written = Some(written);
        self
    }

    /// Marks the function as quick, whatever its arguments.
    pub const fn light(mut self) -> Self {
        self.signature.is_light = true;
        self
    }

    /// Makes the function callable with `(*)`.
    pub const fn star(mut self) -> Self {
        self.signature.takes_star = true;
        self
    }

    /// Makes the function callable with WITHIN GROUP.
    pub const fn within_group(mut self) -> Self {
        self.signature.within_group = true;
        self
    }

    /// Marks the result as JSON.
    pub const fn json(mut self) -> Self {
        self.signature.makes_json = true;
        self
    }
}

/// A call of a function whose arguments are values. `F` has the facts about the session.
pub struct Call<'a, F: ?Sized> {
    /// The function's name.
    pub name: &'static str,
    /// As many as its signature allows.
    pub arguments: &'a [Typed],
    /// The facts about the session.
    pub facts: &'a Arc<F>,
}

/// Binds a call whose arguments are values.
pub type ValueKernel<F> = fn(&Call<'_, F>) -> Result<Typed, SqlError>;

impl<F: ?Sized> Call<'_, F> {
    /// Takes the arguments of a function with a fixed number of them. Errors: 596 if its signature says otherwise.
    pub fn take<const N: usize>(&self) -> Result<[Typed; N], SqlError> {
        let arguments = self.arguments.get(..N).unwrap_or_default().to_vec();
        <[Typed; N]>::try_from(arguments)
            .map_err(|_| SqlError::internal(format!("{} with too few arguments", self.name)))
    }

    /// Returns an argument, or a constant in its place.
    pub fn argument_or(&self, at: usize, value: Datum, sql_type: SqlType) -> Result<Typed, SqlError> {
        match self.arguments.get(at) {
            Some(argument) => Ok(argument.clone()),
            None => Typed::constant(value, sql_type),
        }
    }
}

impl<F: ?Sized> Function<ValueKernel<F>> {
    /// Binds a call. Errors: 174 and 189 for a wrong number of arguments, and those of the function.
    pub fn bind(&self, arguments: &[Typed], facts: &Arc<F>) -> Result<Typed, SqlError> {
        self.signature.check_count(arguments.len())?;
        (self.kernel)(&Call { name: self.signature.name, arguments, facts })
    }
}

/// Functions of one kind, as the page shows them together.
pub struct Family<K: 'static> {
    /// The heading.
    pub title: &'static str,
    /// In the order of the page.
    pub functions: &'static [Function<K>],
}

/// Functions by their names.
pub struct Functions<K: 'static> {
    families: &'static [Family<K>],
    by_name: HashMap<&'static [u8], &'static Function<K>>,
    longest: usize,
}

/// Bytes of a name that is looked up; a longer one is no function's.
const NAME_MAX: usize = 40;

impl<K> Functions<K> {
    /// Collects the functions of all families.
    pub fn new(families: &'static [Family<K>]) -> Functions<K> {
        let functions = families.iter().flat_map(|family| family.functions);
        let by_name: HashMap<_, _> =
            functions.map(|function| (function.signature.name.as_bytes(), function)).collect();
        let longest = by_name.keys().map(|name| name.len()).max().unwrap_or(0).min(NAME_MAX);
        Functions { families, by_name, longest }
    }

    /// Finds the function of a name in any case.
    pub fn find(&self, name: &str) -> Option<&'static Function<K>> {
        if name.len() > self.longest {
            return None;
        }
        let mut upper = [0_u8; NAME_MAX];
        let upper = upper.get_mut(..name.len())?;
        upper.copy_from_slice(name.as_bytes());
        upper.make_ascii_uppercase();
        self.by_name.get(&*upper).copied()
    }

    /// Returns each family's heading and signatures.
    pub fn signatures(&self) -> Vec<(&'static str, Vec<&'static Signature>)> {
        let of = |family: &'static Family<K>| family.functions.iter().map(|function| &function.signature);
        self.families.iter().map(|family| (family.title, of(family).collect())).collect()
    }
}
