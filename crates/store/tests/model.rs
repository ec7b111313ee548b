//! Random transactions, concurrent in turns, against a plain model; on disk with restarts, and in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bulkwire_store::{Database, LockError, LockMode, Options, StoreError, TableId, Transaction};
use proptest::prelude::*;
use support::Random;
use support::disk::Disk;
use support::workload::{Model, Rows, batch, contents, make_rows, schema, step, transaction_contents};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// One transaction after the other, with savepoints, rollbacks, DDL, checkpoints and restarts.
    #[test]
    fn serial_transactions_match_the_model(seed: u64, steps in 1..25_u64, restart_every in 1..8_u64) {
        let disk = Disk::default();
        let options = Options { checkpoint_journal_bytes: 4 << 10, ..Options::default() };
        let open = || Database::open_on(Arc::new(disk.clone()), options.clone()).unwrap();
        let (mut on_disk, in_memory) = (open(), Database::in_memory());
        let mut model = Model::new();
        let mut random = Random(seed);
        for number in 0..steps {
            let mut twin_random = random.clone();
            let mut next = model.clone();
            let committed = step(&on_disk, &mut next, &mut random).unwrap();
            let mut twin_model = model.clone();
            prop_assert_eq!(step(&in_memory, &mut twin_model, &mut twin_random).unwrap(), committed);
            if committed {
                model = next;
            }
            if number % restart_every == 0 {
                drop(on_disk);
                on_disk = open();
            }
            prop_assert_eq!(&contents(&on_disk), &model);
            prop_assert_eq!(&contents(&in_memory), &model);
        }
    }

    /// Several open transactions, one action at a time. The model knows who holds which lock, so it knows which actions are
    /// refused; what a transaction sees is the committed rows (which others' appends may extend) and its own.
    #[test]
    fn interleaved_transactions_match_the_model(actions in prop::collection::vec(action(), 1..60), on_disk: bool) {
        let database = match on_disk {
            true => Database::open_on(Arc::new(Disk::default()), Options::default()).unwrap(),
            false => Database::in_memory(),
        };
        let mut world = World::new(database);
        for action in actions {
            world.act(action);
        }
    }
}

#[derive(Debug, Clone)]
enum Action {
    Append { transaction: usize, table: usize, seed: u64, large: bool },
    Replace { transaction: usize, table: usize, seed: u64 },
    Truncate { transaction: usize, table: usize },
    Savepoint { transaction: usize },
    RollbackTo { transaction: usize },
    Commit { transaction: usize },
    Rollback { transaction: usize },
    Checkpoint,
}

const TRANSACTIONS: usize = 3;
const TABLES: usize = 2;

fn action() -> impl Strategy<Value = Action> {
    let transaction = 0..TRANSACTIONS;
    let table = 0..TABLES;
    prop_oneof![
        6 => (transaction.clone(), table.clone(), any::<u64>(), any::<bool>())
            .prop_map(|(transaction, table, seed, large)| Action::Append { transaction, table, seed, large }),
        2 => (transaction.clone(), table.clone(), any::<u64>())
            .prop_map(|(transaction, table, seed)| Action::Replace { transaction, table, seed }),
        1 => (transaction.clone(), table).prop_map(|(transaction, table)| Action::Truncate { transaction, table }),
        2 => transaction.clone().prop_map(|transaction| Action::Savepoint { transaction }),
        2 => transaction.clone().prop_map(|transaction| Action::RollbackTo { transaction }),
        3 => transaction.clone().prop_map(|transaction| Action::Commit { transaction }),
        1 => transaction.prop_map(|transaction| Action::Rollback { transaction }),
        1 => Just(Action::Checkpoint),
    ]
}

/// Own rows per table: whether the committed ones are replaced, and what comes after.
type Own = [(bool, Rows); TABLES];

struct Open {
    transaction: Transaction,
    own: Own,
    savepoint: Option<(bulkwire_store::Savepoint, Own)>,
}

struct World {
    database: Database,
    tables: [TableId; TABLES],
    committed: [Rows; TABLES],
    open: Vec<Open>,
    held: BTreeMap<(usize, usize), LockMode>,
}

impl World {
    fn new(database: Database) -> Self {
        let mut transaction = database.begin();
        let tables =
            std::array::from_fn(|table| transaction.create_table(format!("t{table}"), schema(), "").unwrap());
        transaction.commit().unwrap();
        let open = (0..TRANSACTIONS).map(|_| open(&database)).collect();
        Self { database, tables, committed: Default::default(), open, held: BTreeMap::new() }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Append { transaction, table, seed, large } => {
                let granted = self.grant(transaction, table, LockMode::Append);
                let rows = match large {
                    true => make_rows(&mut Random(seed), 12, 20_000),
                    false => make_rows(&mut Random(seed), 2, 30),
                };
                let open = &mut self.open[transaction];
                expect(granted, open.transaction.append(self.tables[table], &batch(&rows)));
                if granted {
                    open.own[table].1.extend(rows);
                }
            }
            Action::Replace { transaction, table, seed } => {
                let granted = self.grant(transaction, table, LockMode::Exclusive);
                let rows = make_rows(&mut Random(seed), 3, 30);
                let open = &mut self.open[transaction];
                expect(granted, open.transaction.replace(self.tables[table], [batch(&rows)]).map(drop));
                if granted {
                    open.own[table] = (true, rows);
                }
            }
            Action::Truncate { transaction, table } => {
                let granted = self.grant(transaction, table, LockMode::Exclusive);
                let open = &mut self.open[transaction];
                expect(granted, open.transaction.truncate(self.tables[table]));
                if granted {
                    open.own[table] = (true, Rows::new());
                }
            }
            Action::Savepoint { transaction } => {
                let open = &mut self.open[transaction];
                open.savepoint = Some((open.transaction.savepoint(), open.own.clone()));
            }
            Action::RollbackTo { transaction } => {
                let open = &mut self.open[transaction];
                if let Some((savepoint, own)) = &open.savepoint {
                    open.transaction.rollback_to(savepoint).unwrap();
                    open.own = own.clone();
                }
            }
            Action::Commit { transaction } => {
                let open = self.end(transaction);
                open.transaction.commit().unwrap();
                for (committed, (cleared, rows)) in self.committed.iter_mut().zip(open.own) {
                    if cleared {
                        committed.clear();
                    }
                    committed.extend(rows);
                }
            }
            Action::Rollback { transaction } => self.end(transaction).transaction.rollback(),
            Action::Checkpoint => {
                self.database.checkpoint().unwrap();
            }
        }
        self.check();
    }

    fn end(&mut self, transaction: usize) -> Open {
        self.held.retain(|(holder, _), _| *holder != transaction);
        std::mem::replace(&mut self.open[transaction], open(&self.database))
    }

    fn grant(&mut self, transaction: usize, table: usize, mode: LockMode) -> bool {
        let held = self.held.get(&(transaction, table)).copied();
        let free = self.held.iter().all(|((holder, locked), held)| {
            *holder == transaction
                || *locked != table
                || (*held == LockMode::Append && mode == LockMode::Append)
        });
        let granted = held >= Some(mode) || free;
        if granted {
            self.held.insert((transaction, table), held.max(Some(mode)).unwrap());
        }
        granted
    }

    fn check(&self) {
        let committed = contents(&self.database);
        for (table, rows) in self.committed.iter().enumerate() {
            assert_eq!(&committed[&format!("t{table}")].1, rows);
        }
        for open in &self.open {
            let seen = transaction_contents(&open.transaction);
            for (table, (cleared, own)) in open.own.iter().enumerate() {
                let mut rows = if *cleared { Rows::new() } else { self.committed[table].clone() };
                rows.extend(own.iter().cloned());
                assert_eq!(seen[&format!("t{table}")].1, rows);
            }
        }
    }
}

fn open(database: &Database) -> Open {
    let mut transaction = database.begin();
    transaction.set_lock_timeout(Duration::ZERO);
    Open { transaction, own: Own::default(), savepoint: None }
}

fn expect(granted: bool, result: Result<(), StoreError>) {
    match result {
        Ok(()) => assert!(granted),
        Err(StoreError::Lock(LockError::Timeout { .. })) => assert!(!granted),
        Err(error) => panic!("{error}"),
    }
}
