//! Statement functions over a session without a connection: what they do to it, and what they answer.

mod intake;
mod writer;

use std::sync::Arc;

use databases::instance::Instance;
use databases::storage::Databases;
use query::{Cancellation, Datum};
use tokio::sync::mpsc;
use tsql::ast::StatementKind;
use tsql::{ObjectName, SqlError, parse_batch, parse_expression};

use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::response::{Response, StatementDone, command};
use crate::session::{ClientConnection, LoginSettings, Session};
use crate::statements::dml::{destination, insert};
use crate::statements::evaluation::{evaluate, resolve, scope};
use crate::statements::interpreter::{dispatch, transaction};
use crate::statements::open_session;

/// Events that an answer may have: nobody takes them before the end.
const EVENTS_MAX: usize = 256;

/// A session over databases in memory, and where its answers go.
pub(crate) struct Bench {
    pub session: Session,
    pub frame: Frame,
    output: Output,
    events: mpsc::Receiver<Response>,
}

impl Bench {
    pub fn new() -> Bench {
        let instance = Arc::new(Instance::new(Databases::in_memory(None).unwrap()).unwrap());
        let login = LoginSettings {
            database: String::new(),
            user: "sa".into(),
            application: String::new(),
            host: String::new(),
            spid: 51,
            ansi_defaults: true,
            is_encrypted: false,
            client: ClientConnection::default(),
        };
        let mut session = open_session(instance, login).unwrap();
        crate::session::work::scopes::enter(&mut session.work);
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let output = Output::new(sender, Cancellation::new());
        Bench { session, frame: Frame::new(false), output, events }
    }

    /// Runs statements as a batch does.
    pub async fn run(&mut self, text: &str) -> Result<Flow, SqlError> {
        let statements = parse_batch(text, true).unwrap();
        dispatch::run(&mut self.session, &statements, &mut self.frame, &mut self.output).await
    }

    /// What was answered since the last look.
    fn answers(&mut self) -> Vec<Response> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// The ends of statements among them.
    fn ends(&mut self) -> Vec<StatementDone> {
        self.answers()
            .into_iter()
            .filter_map(|event| match event {
                Response::Done(done) => Some(done),
                _ => None,
            })
            .collect()
    }

    pub async fn value(&mut self, text: &str) -> Datum {
        let expr = parse_expression(text).unwrap();
        evaluate::value(&mut self.session, &expr, &self.frame).await.unwrap().0
    }
}

/// The one statement of a text.
fn parsed(text: &str) -> StatementKind {
    parse_batch(text, true).unwrap().remove(0).kind
}

#[tokio::test]
async fn an_insert_says_how_many_rows_it_added_and_keeps_their_identity() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (id int IDENTITY(5, 5), a int)").await.unwrap();
    bench.answers();
    let StatementKind::Insert(statement) = parsed("INSERT INTO t (a) VALUES (1), (2)") else { panic!() };
    insert::run(&mut bench.session, &statement, &mut bench.frame, &mut bench.output).await.unwrap();
    let ends = bench.ends();
    assert_eq!(ends.len(), 1);
    assert_eq!((ends[0].command, ends[0].count), (command::INSERT, Some(2)));
    assert_eq!(bench.session.last.identity, Some(10));
    assert_eq!(bench.value("@@ROWCOUNT").await, Datum::Int(2));
}

#[tokio::test]
async fn an_insert_that_fails_leaves_no_row_and_no_transaction() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY)").await.unwrap();
    let StatementKind::Insert(statement) = parsed("INSERT INTO t VALUES (1), (1)") else { panic!() };
    let result = insert::run(&mut bench.session, &statement, &mut bench.frame, &mut bench.output).await;
    assert_eq!(result.unwrap_err().number, 2627);
    assert_eq!(bench.session.transaction_depth(), 0);
    assert_eq!(resolve::opened(&bench.session, &ObjectName::bare("t".to_string())).unwrap().rows, 0);
}

#[tokio::test]
async fn columns_that_take_no_value_are_refused() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (id int IDENTITY, a int, b AS a + 1, v rowversion)").await.unwrap();
    let name = ObjectName::bare("t".to_string());
    let table = resolve::opened(&bench.session, &name).unwrap().definition;
    let targets = |columns: Option<&[&str]>| {
        let columns = columns.map(|columns| columns.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        destination::target_columns(&bench.session, &name, columns.as_deref(), &table)
            .map_err(|error| error.number)
    };
    assert_eq!(targets(None), Ok(vec![1]));
    assert_eq!(targets(Some(&["a"])), Ok(vec![1]));
    assert_eq!(targets(Some(&["x"])), Err(207));
    assert_eq!(targets(Some(&["a", "A"])), Err(264));
    assert_eq!(targets(Some(&["b"])), Err(271));
    assert_eq!(targets(Some(&["v"])), Err(273));
    assert_eq!(targets(Some(&["id"])), Err(544));
}

#[tokio::test]
async fn options_of_a_scope_end_with_it() {
    let mut bench = Bench::new();
    let text = "SET NOCOUNT ON SET DATEFIRST 1 CREATE TABLE #t (a int) INSERT INTO #t VALUES (1)";
    let mut inner = bench.frame.inner().unwrap();
    let flow = scope::run_text(&mut bench.session, text, &mut inner, &mut bench.output).await;
    assert_eq!(flow, Ok(Flow::Next));
    assert!(!bench.session.settings.no_count);
    assert_eq!(bench.value("@@DATEFIRST").await, Datum::Int(7));
    let gone = resolve::opened(&bench.session, &ObjectName::bare("#t".to_string()));
    assert_eq!(gone.unwrap_err().number, 208);
}

#[tokio::test]
async fn transactions_nest_and_roll_back_as_one() {
    let mut bench = Bench::new();
    for (text, depth) in [("BEGIN TRAN", 1), ("BEGIN TRAN", 2), ("COMMIT", 1), ("ROLLBACK", 0)] {
        let statement = parsed(text);
        transaction::run(&mut bench.session, &statement, &bench.frame, &mut bench.output).await.unwrap();
        assert_eq!(bench.session.transaction_depth(), depth, "after {text}");
    }
    let error =
        transaction::run(&mut bench.session, &parsed("COMMIT"), &bench.frame, &mut bench.output).await;
    assert_eq!(error.unwrap_err().number, 3902);
}

#[tokio::test]
async fn control_of_flow_runs_one_branch_and_leaves_loops() {
    let mut bench = Bench::new();
    let text = "DECLARE @i int = 0
        WHILE 1 = 1 BEGIN SET @i += 1 IF @i < 3 CONTINUE ELSE BREAK END
        IF @i = 3 RETURN ELSE SET @i = 0";
    assert_eq!(bench.run(text).await, Ok(Flow::Return(0)));
    assert_eq!(bench.value("@i").await, Datum::Int(3));
}

#[tokio::test]
async fn an_error_is_sent_unless_it_is_caught() {
    let mut bench = Bench::new();
    bench
        .run("BEGIN TRY RAISERROR('a', 16, 1) END TRY BEGIN CATCH PRINT ERROR_MESSAGE() END CATCH")
        .await
        .unwrap();
    let caught = bench.answers();
    assert!(caught.iter().any(|event| matches!(event, Response::Info(notice) if notice.message == "a")));
    assert!(!caught.iter().any(|event| matches!(event, Response::Error(_))));
    assert_eq!(bench.run("RAISERROR('b', 16, 1)").await, Ok(Flow::Next));
    assert!(
        bench.answers().iter().any(|event| matches!(event, Response::Error(error) if error.message == "b"))
    );
}

#[tokio::test]
async fn a_function_runs_its_body_through_the_door() {
    let mut bench = Bench::new();
    let text =
        "CREATE FUNCTION dbo.twice (@a int) RETURNS int AS BEGIN DECLARE @b int = @a * 2 RETURN @b END";
    bench.run(text).await.unwrap();
    assert_eq!(bench.value("dbo.twice(21)").await, Datum::Int(42));
}
