//! Tasks, containers and precedence constraints.

use std::collections::BTreeMap;

use crate::dtsx::connection_managers::{FileManager, Manager, property_expression};
use crate::dtsx::data_flow;
use crate::dtsx::expression::parse;
use crate::dtsx::named::{Names, VariableNames};
use crate::dtsx::sql_task;
use crate::dtsx::translation::Flow;
use crate::dtsx::tsql::{condition, template, value};
use crate::dtsx::written::{Table, Toml};
use crate::dtsx::xml::{Element, is_true};

impl Flow<'_> {
    /// Translates the tasks of a package or a container.
    pub fn executables(&mut self, container: &Element, variables: &mut VariableNames) -> Vec<Table> {
        let mut names = Names::default();
        let mut found: Vec<Vec<Table>> = Vec::new();
        let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
        for executable in container.within("Executables", "Executable") {
            let original = executable.property("ObjectName");
            let name = names.give(original);
            let mut tasks = self.executable(executable, &name, variables);
            for task in &mut tasks {
                if task.name != name {
                    task.name = names.give(&task.name);
                }
                if is_true(executable.property("Disabled")) {
                    task.keys.push(("disabled".to_owned(), Toml::Word("true".to_owned())));
                }
            }
            for id in [executable.value("refId"), executable.property("DTSID"), original] {
                by_id.insert(id.to_ascii_lowercase(), found.len());
            }
            found.push(tasks);
        }
        self.constraints(container, &by_id, &mut found, variables);
        self.tasks += found.iter().map(Vec::len).sum::<usize>();
        found.into_iter().flatten().collect()
    }

    fn constraints(
        &mut self,
        container: &Element,
        by_id: &BTreeMap<String, usize>,
        found: &mut [Vec<Table>],
        variables: &VariableNames,
    ) {
        let mut conditions: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut is_any: BTreeMap<usize, bool> = BTreeMap::new();
        let mut before: BTreeMap<(usize, &'static str), Vec<String>> = BTreeMap::new();
        for constraint in container.within("PrecedenceConstraints", "PrecedenceConstraint") {
            let end = |name: &str, is_from: &str| {
                let direct = constraint.value(name);
                let old = constraint.all("Executable").find(|end| end.value("IsFrom") == is_from);
                let id = if direct.is_empty() { old.map_or("", |end| end.value("IDREF")) } else { direct };
                by_id.get(&id.to_ascii_lowercase()).copied()
            };
            let (Some(from), Some(to)) = (end("From", "-1"), end("To", "0")) else {
                self.left_out.push(format!("a precedence constraint {}", constraint.property("ObjectName")));
                continue;
            };
            let operation = constraint.property("EvalOp");
            let is_expression_only = matches!(operation, "1" | "Expression");
            let key = match constraint.property("Value") {
                _ if is_expression_only => "after_completion",
                "1" | "Failure" => "after_failure",
                "2" | "Completion" => "after_completion",
                _ => "after",
            };
            // A data flow with several destinations has become several tasks; what comes behind waits for all.
            let names: Vec<String> = found
                .get(from)
                .map(|tasks| tasks.iter().map(|task| task.name.clone()).collect())
                .unwrap_or_default();
            before.entry((to, key)).or_default().extend(names);
            if constraint.property("LogicalAnd") == "False" || constraint.property("LogicalAnd") == "0" {
                is_any.insert(to, true);
            }
            let expression = constraint.property("Expression");
            if matches!(operation, "1" | "3" | "Expression" | "ExpressionAndConstraint")
                && !expression.is_empty()
            {
                match parse(expression).ok().and_then(|expression| condition(&expression, variables)) {
                    Some(condition) => conditions.entry(to).or_default().push(condition),
                    None => {
                        self.left_out.push(format!("the expression of a precedence constraint: {expression}"))
                    }
                }
            } else if matches!(operation, "4" | "ExpressionOrConstraint") {
                self.left_out.push(format!(
                    "a precedence constraint that holds by its expression or its value: {expression}"
                ));
            }
        }
        for (index, tasks) in found.iter_mut().enumerate() {
            for task in tasks {
                let mut keys = Vec::new();
                for key in ["after", "after_failure", "after_completion"] {
                    if let Some(names) = before.get(&(index, key)) {
                        keys.push((key.to_owned(), Toml::List(names.iter().map(Toml::text).collect())));
                    }
                }
                if is_any.contains_key(&index) {
                    keys.push(("join".to_owned(), Toml::text("any")));
                }
                if let Some(conditions) = conditions.get(&index) {
                    keys.push(("if".to_owned(), Toml::text(conditions.join(" and "))));
                }
                // Behind the type.
                let rest = task.keys.split_off(task.keys.len().min(1));
                task.keys.extend(keys);
                task.keys.extend(rest);
            }
        }
    }

    fn executable(&mut self, executable: &Element, name: &str, variables: &mut VariableNames) -> Vec<Table> {
        let kind = match executable.property("ExecutableType") {
            "" => executable.property("CreationName"),
            kind => kind,
        };
        let title = executable.property("ObjectName").to_owned();
        let mut comments = vec![title.clone()];
        let description = executable.property("Description");
        if !description.is_empty() && description != title && !description.ends_with(" Task") {
            comments.push(description.to_owned());
        }
        let mut task = Table { name: name.to_owned(), comments, ..Table::default() };
        let before = self.left_out.len();
        let mut further = Vec::new();
        if kind.contains("ExecuteSQLTask") {
            sql_task::translate(self, executable, &title, variables, &mut task);
        } else if is_data_flow(kind) {
            further = data_flow::translate(self, executable, &title, variables, &mut task);
        } else if kind.contains("STOCK:SEQUENCE") {
            task.keys.push(("type".to_owned(), Toml::text("group")));
            if matches!(executable.property("TransactionOption"), "2") {
                self.left_out.push(format!("{title}: its transaction (TransactionOption Required); `transaction = true` is for groups of sql"));
            }
            task.tasks = self.executables(executable, &mut variables.clone());
        } else if kind.contains("STOCK:FORLOOP") {
            let property = |name: &str| executable.property(name).to_owned();
            self.left_out
                .push(format!("{title}: its loop while {}; its tasks run once", property("EvalExpression")));
            task.keys.push(("type".to_owned(), Toml::text("group")));
            task.tasks = self.executables(executable, &mut variables.clone());
        } else if kind.contains("ExpressionTask") {
            self.assignment(executable, &title, variables, &mut task);
        } else if kind.contains("STOCK:FOREACHLOOP") {
            self.for_each(executable, &title, variables, &mut task);
        } else if kind.contains("ExecuteProcess") {
            self.program(executable, &title, &mut task);
        } else if kind.contains("ExecutePackage") {
            self.package(executable, &title, variables, &mut task);
        } else if kind.contains("BulkInsertTask") {
            self.bulk_insert(executable, &title, &mut task);
        } else {
            self.placeholder(&title, kind, &mut task);
        }
        for expression in executable.all("PropertyExpression") {
            let property = expression.value("Name");
            // The statement's is translated with the statement.
            if property != "SqlStatementSource" && property != "Disable" {
                self.left_out
                    .push(format!("{title}: the expression of its property {property}: {}", expression.text));
            }
        }
        if executable.child("EventHandlers").is_some_and(|handlers| !handlers.children.is_empty()) {
            self.left_out.push(format!("{title}: event handlers"));
        }
        // The omissions of groups stand at their tasks.
        if task.tasks.is_empty() {
            let own: Vec<String> =
                self.left_out.iter().skip(before).map(|part| format!("NOT TRANSLATED: {part}")).collect();
            task.comments.extend(own);
        }
        let mut tasks = vec![task];
        tasks.append(&mut further);
        tasks
    }

    /// Has a server compute the value of a variable: `@[User::Day] = …`.
    fn assignment(&mut self, executable: &Element, title: &str, variables: &VariableNames, task: &mut Table) {
        let text = executable
            .find("ExpressionTask")
            .map(|data| data.value("Expression").to_owned())
            .unwrap_or_default();
        let made = assigned(&text, variables);
        let server = self.managers.connections.first().map(|connection| connection.name.clone());
        let (Ok((variable, sql)), Some(server)) = (&made, server) else {
            let reason = made.err().unwrap_or_else(|| "no server can compute it".to_owned());
            return self.placeholder(title, &format!("ExpressionTask: {reason}"), task);
        };
        task.keys.push(("type".to_owned(), Toml::text("sql")));
        task.keys.push(("connection".to_owned(), Toml::text(server)));
        task.keys.push(("statement".to_owned(), Toml::text(format!("SELECT {sql}"))));
        task.keys.push(("into".to_owned(), Toml::text(variable.clone())));
    }

    fn for_each(
        &mut self,
        executable: &Element,
        title: &str,
        variables: &mut VariableNames,
        task: &mut Table,
    ) {
        task.keys.push(("type".to_owned(), Toml::text("group")));
        let enumerator = executable.child("ForEachEnumerator");
        let properties: Vec<&Element> = enumerator
            .and_then(|enumerator| enumerator.find("ForEachFileEnumeratorProperties"))
            .map(|properties| properties.all("FEFEProperty").collect())
            .unwrap_or_default();
        let property =
            |name: &str| properties.iter().find_map(|property| property.attribute(name)).unwrap_or_default();
        let mut inner = variables.clone();
        let mapping = executable
            .within("ForEachVariableMappings", "ForEachVariableMapping")
            .next()
            .or_else(|| executable.all("ForEachVariableMapping").next());
        if properties.is_empty() {
            let kind = enumerator.map_or("", |enumerator| enumerator.property("CreationName"));
            self.left_out.push(format!("{title}: its loop over {kind}; its tasks run once"));
        } else {
            let set = |name: &str| {
                let expression = enumerator.and_then(|enumerator| property_expression(enumerator, name))?;
                parse(&expression).ok().and_then(|expression| template(&expression, &*variables))
            };
            let folder = set("Directory").unwrap_or_else(|| property("Folder").replace("${", "$${"));
            let pattern = set("FileSpec").unwrap_or_else(|| property("FileSpec").replace("${", "$${"));
            let pattern = if pattern.is_empty() { "*".to_owned() } else { pattern };
            let recurses = is_true(property("Recurse"));
            let separator = if folder.contains('\\') { "\\" } else { "/" };
            let folder = folder.trim_end_matches(['/', '\\']);
            let within = if recurses { format!("**{separator}") } else { String::new() };
            let files =
                if folder.is_empty() { pattern } else { format!("{folder}{separator}{within}{pattern}") };
            let mut members = vec![("files".to_owned(), Toml::text(files))];
            if let Some(mapping) = mapping {
                let variable = mapping.property("VariableName");
                if let Some(here) = variables.get(variable) {
                    let part = match property("FileNameRetrievalType") {
                        "1" => ".name",
                        "2" => ".stem",
                        _ => "",
                    };
                    inner.set(variable, &format!("{here}{part}"));
                    members.push(("as".to_owned(), Toml::text(here.clone())));
                    self.loops.push(here);
                }
            }
            task.keys.push(("for_each".to_owned(), Toml::Table(members)));
        }
        task.tasks = if let Some(here) = self.loops.last().filter(|_| !properties.is_empty()) {
            // Paths of connection managers that the loop's variable names are those of the round.
            let here = here.clone();
            let part = mapping.map(|mapping| inner.get(mapping.property("VariableName")).unwrap_or_default());
            let mut tasks = self.executables(executable, &mut inner);
            if let Some(part) = part.filter(|part| *part != here) {
                tasks.iter_mut().for_each(|task| rename(task, &here, &part));
            }
            tasks
        } else {
            self.executables(executable, &mut inner)
        };
    }

    fn program(&mut self, executable: &Element, title: &str, task: &mut Table) {
        let Some(data) = executable.find("ExecuteProcessData") else {
            return self.placeholder(title, "ExecuteProcess without its data", task);
        };
        let mut command = vec![Toml::literal(data.value("Executable"))];
        command.extend(words(data.value("Arguments")).iter().map(|word| Toml::literal(word)));
        task.keys.push(("type".to_owned(), Toml::text("program")));
        task.keys.push(("command".to_owned(), Toml::List(command)));
        if !data.value("WorkingDirectory").is_empty() {
            task.keys.push(("folder".to_owned(), Toml::literal(data.value("WorkingDirectory"))));
        }
        if let Some(code) =
            data.attribute("SuccessValue").filter(|code| *code != "0" && code.parse::<i32>().is_ok())
        {
            task.keys.push(("exit_codes".to_owned(), Toml::List(vec![Toml::Word(code.to_owned())])));
        }
        if let Some(seconds) =
            data.attribute("TimeOut").filter(|time| *time != "0" && time.parse::<u32>().is_ok())
        {
            task.keys.push(("timeout".to_owned(), Toml::Word(seconds.to_owned())));
        }
        for name in ["StandardInputVariable", "StandardOutputVariable", "StandardErrorVariable"] {
            if !data.value(name).is_empty() {
                self.left_out.push(format!("{title}: {name} {}", data.value(name)));
            }
        }
    }

    fn package(&mut self, executable: &Element, title: &str, variables: &VariableNames, task: &mut Table) {
        let name = executable.find("PackageName").map(|name| name.text.trim().to_owned()).unwrap_or_default();
        let connection = executable.find("Connection").map(|connection| connection.text.trim().to_owned());
        let file = match connection.as_deref().and_then(|id| self.managers.get(id)) {
            Some(Manager::File(FileManager { path, .. })) => path.clone(),
            _ => name.replace("${", "$${"),
        };
        if file.is_empty() {
            return self.placeholder(title, "ExecutePackage without a file", task);
        }
        let file = file.strip_suffix(".dtsx").map_or(file.clone(), |stem| format!("{stem}.toml"));
        task.keys.push(("type".to_owned(), Toml::text("package")));
        task.keys.push(("file".to_owned(), Toml::text(file)));
        let mut given = Vec::new();
        if let Some(data) = executable.find("ExecutePackageTask") {
            for assignment in data.all("ParameterAssignment") {
                let text = |name: &str| {
                    assignment.child(name).map(|child| child.text.trim().to_owned()).unwrap_or_default()
                };
                let (parameter, bound) = (text("ParameterName"), text("BindedVariableOrParameterName"));
                match variables.get(&bound) {
                    Some(here) => {
                        given.push((Names::default().give(&parameter), Toml::text(format!("${{{here}}}"))))
                    }
                    None => self.left_out.push(format!("{title}: parameter {parameter} from {bound}")),
                }
            }
        }
        if !given.is_empty() {
            task.keys.push(("variables".to_owned(), Toml::Table(given)));
        }
    }

    fn bulk_insert(&mut self, executable: &Element, title: &str, task: &mut Table) {
        let Some(data) = executable.find("BulkInsertTaskData") else {
            return self.placeholder(title, "BulkInsertTask without its data", task);
        };
        let server = match self.managers.get(data.value("DestinationConnectionName")) {
            Some(Manager::Server(name)) => name.clone(),
            _ => return self.placeholder(title, "BulkInsertTask without a server", task),
        };
        let file = match self.managers.get(data.value("SourceConnectionName")) {
            Some(Manager::File(file)) => file.path.clone(),
            _ => return self.placeholder(title, "BulkInsertTask without a file", task),
        };
        let mut keys = vec![
            ("type", Toml::text("bulk-insert")),
            ("connection", Toml::text(server)),
            ("table", Toml::literal(data.value("DestinationTableName"))),
            ("file", Toml::text(file)),
        ];
        for (attribute, key) in [("FieldTerminator", "field_terminator"), ("RowTerminator", "row_terminator")]
        {
            let text =
                data.value(attribute).replace("{CR}", "\\r").replace("{LF}", "\\n").replace("{TAB}", "\\t");
            let text = if text.eq_ignore_ascii_case("tab") { "\\t".to_owned() } else { text };
            if !text.is_empty() {
                keys.push((key, Toml::literal(&text)));
            }
        }
        for (attribute, key) in [
            ("CheckConstraints", "check_constraints"),
            ("KeepNulls", "keep_nulls"),
            ("KeepIdentity", "keep_identity"),
            ("TableLock", "table_lock"),
            ("FireTriggers", "fire_triggers"),
        ] {
            if is_true(data.value(attribute)) {
                keys.push((key, Toml::Word("true".to_owned())));
            }
        }
        for (attribute, key) in [("FirstRow", "first_row"), ("LastRow", "last_row")] {
            if data.value(attribute).parse::<u64>().is_ok_and(|number| number > 0) {
                keys.push((key, Toml::Word(data.value(attribute).to_owned())));
            }
        }
        task.keys.extend(keys.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
}

/// Reads `@[User::Name] = expression`: the variable here, and the expression in T-SQL.
fn assigned(text: &str, variables: &VariableNames) -> Result<(String, String), String> {
    let (target, expression) = text.split_once('=').ok_or("it assigns nothing")?;
    let name = target.trim().trim_start_matches('@').trim_start_matches('[').trim_end_matches(']');
    let here = variables.get(name).ok_or_else(|| format!("the variable {name} is not known"))?;
    let sql = value(&parse(expression.trim_start_matches('='))?, variables)?;
    Ok((here, sql))
}

/// Variables of a loop over files stand for the name or stem there.
fn rename(task: &mut Table, here: &str, part: &str) {
    fn value(toml: &mut Toml, from: &str, to: &str) {
        match toml {
            Toml::Text(text) => *text = text.replace(from, to),
            Toml::List(items) => items.iter_mut().for_each(|item| value(item, from, to)),
            Toml::Table(members) => members.iter_mut().for_each(|(_, inner)| value(inner, from, to)),
            Toml::Word(_) => {}
        }
    }
    let (from, to) = (format!("${{{here}}}"), format!("${{{part}}}"));
    task.keys.iter_mut().for_each(|(_, toml)| value(toml, &from, &to));
    task.tasks.iter_mut().for_each(|inner| rename(inner, here, part));
}

fn is_data_flow(kind: &str) -> bool {
    kind == "Microsoft.Pipeline"
        || kind.starts_with("SSIS.Pipeline")
        || kind.eq_ignore_ascii_case("{5918251B-2970-45A4-AB5F-01C3C588FE5A}")
        || kind.eq_ignore_ascii_case("{E3CFBEA8-1F48-40D8-91E1-2DEDC1EDDD56}")
}

/// Arguments as Windows divides them: by blanks outside of quotes.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut word, mut is_quoted, mut is_open) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                is_open = true;
            }
            c if c.is_whitespace() && !is_quoted => {
                if is_open || !word.is_empty() {
                    found.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            c => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        found.push(word);
    }
    found
}
