//! The components of a data flow and the paths between them.

use crate::dtsx::component_class::{Kind, kind_of};
use crate::dtsx::xml::{Element, is_true};

/// Components on the ways to one destination at most. A component whose rows go two ways that meet again counts twice.
pub const STOPS_MAX: usize = 200;

/// A data flow.
#[derive(Debug, Default)]
pub struct Graph<'a> {
    /// The components.
    pub components: Vec<&'a Element>,
    paths: Vec<&'a Element>,
}

impl<'a> Graph<'a> {
    /// Reads the data flow of a task.
    pub fn of(executable: &'a Element) -> Self {
        let Some(pipeline) = executable.find("pipeline") else { return Self::default() };
        Self {
            components: pipeline.within("components", "component").collect(),
            paths: pipeline.within("paths", "path").collect(),
        }
    }

    /// Finds the component and its output whose rows an input takes.
    ///
    /// # Errors
    /// Nothing leads there, or rows that failed do.
    pub fn before(&self, component: &Element, input: &Element) -> Result<(&'a Element, &'a Element), String> {
        let path = self.paths.iter().find(|path| path.value("endId") == id_of(input));
        let Some(path) = path else { return Err(format!("nothing leads to {:?}", component.value("name"))) };
        let start = path.value("startId");
        let found = self.components.iter().find_map(|before| {
            let output = before.within("outputs", "output").find(|output| id_of(output) == start)?;
            Some((*before, output))
        });
        match found {
            None => Err(format!("the way to {:?} begins nowhere", component.value("name"))),
            Some((before, output)) if is_error_output(output) => {
                Err(format!("its rows come from the error output of {:?}", before.value("name")))
            }
            Some(found) => Ok(found),
        }
    }

    /// Lists the kinds of the components in front of one, its own not among them.
    pub fn kinds_before(&self, component: &'a Element) -> Vec<Kind> {
        let mut kinds = Vec::new();
        let mut open = vec![component];
        while let Some(component) = open.pop() {
            if kinds.len() > STOPS_MAX {
                break;
            }
            for input in inputs_of(component) {
                if let Ok((before, _)) = self.before(component, input) {
                    kinds.push(kind_of(before));
                    open.push(before);
                }
            }
        }
        kinds
    }

    /// Lists the names of the paths by which failed rows go on.
    pub fn error_paths(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().filter_map(|path| {
            let start = path.value("startId");
            let is_error = self.components.iter().any(|component| {
                component
                    .within("outputs", "output")
                    .any(|output| id_of(output) == start && is_error_output(output))
            });
            is_error.then(|| path.value("name"))
        })
    }
}

/// Returns the id of a part of a data flow.
pub fn id_of(element: &Element) -> &str {
    match element.value("refId") {
        "" => element.value("id"),
        id => id,
    }
}

/// Returns true if failed rows leave by this output.
fn is_error_output(output: &Element) -> bool {
    is_true(output.value("isErrorOut"))
}

/// Lists the outputs by which rows leave a component without an error.
pub fn outputs_of(component: &Element) -> impl Iterator<Item = &Element> {
    component.within("outputs", "output").filter(|output| !is_error_output(output))
}

/// Lists the inputs of a component.
pub fn inputs_of(component: &Element) -> impl Iterator<Item = &Element> {
    component.within("inputs", "input")
}

/// Lists the columns of an output.
pub fn columns_of(output: &Element) -> impl Iterator<Item = &Element> {
    output.within("outputColumns", "outputColumn")
}

/// Lists the columns of an input.
pub fn input_columns_of(input: &Element) -> impl Iterator<Item = &Element> {
    input.within("inputColumns", "inputColumn")
}
