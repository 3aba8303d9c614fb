//! Scores of the engine: the tables of `docs/quality.md`.
//!
//! ```text
//! quality all          every table below but the last three (`make quality`)
//! quality default      k given, default settings: the tuning tables
//! quality suite        k given: ARI on the tuning battery of the clustering benchmark suite
//! quality unequal      k given: Gaussian groups of unequal sizes, beside the Bayes rule
//! quality patches      k given: round patches of unequal sizes that nearly touch
//! quality customers    k given: skewed columns of very different scales, with outliers
//! quality null         k chosen from tables that have no clusters
//! quality k            k chosen from tables that have some
//! quality stability    agreement of seeds, and of single with double precision
//! quality held-out     rows that took no part in the fit
//! quality graphs       one graph at a time
//! quality scalings     one scaling at a time
//! quality anchors      NMI against the number of anchors
//! quality abalone      the paper's settings, lambda chosen with labels as the paper did
//! quality ablation     the paper's ablations, likewise
//! quality final        the final sets (`make quality-final`): to be looked at once, at the end
//! quality sets         the data sets, one JSON line each
//! quality protocol     the roles of the data sets as docs/quality.md shows them
//!
//! --data A,B           only these data sets or cases
//! --seeds N            number of seeds
//! --threads N          threads of a fit (default: all)
//! --json FILE          writes one JSON line per fit
//! --tables A,B         tables of `final`: default, suite, held-out, k
//! --graph A,B          graphs of `graphs`
//! NAME=VALUE           a setting of the fit, such as effort=fast
//! ```
//!
//! Rows are shuffled by the seed before every fit, so that nothing can profit from a sorted file.
//! Labels are read by the scorer alone, except where a table says that they choose lambda. Which
//! sets may choose rules of the engine is listed in `protocol.rs` alone.

mod generate;
mod harness;
mod numbers;
mod options;
mod paper;
mod protocol;
mod scores;
mod stability;
mod table;
mod unequal;

use std::process::ExitCode;

use harness::Harness;
use options::Options;
use protocol::Role;

/// Tables of `all`, in their order.
const ALL: [&str; 14] = [
    "default",
    "suite",
    "unequal",
    "patches",
    "customers",
    "null",
    "k",
    "stability",
    "held-out",
    "graphs",
    "scalings",
    "anchors",
    "abalone",
    "ablation",
];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints what the command line asks for; whether no fit failed.
fn run() -> Result<bool, String> {
    let mut harness = Harness::new(Options::parse(std::env::args().skip(1))?)?;
    let asked = harness.options.table.clone();
    match asked.as_str() {
        "sets" => {
            sets();
            return Ok(true);
        }
        "protocol" => {
            println!("| role | source | sets | names |\n|---|---|---|---|");
            protocol::rows().iter().for_each(|row| println!("{row}"));
            return Ok(true);
        }
        "final" => {
            let tables = harness.options.tables.clone();
            for name in ["default", "suite", "held-out", "k"] {
                if tables.as_ref().is_none_or(|names| names.iter().any(|n| n == name)) {
                    print(&mut harness, name, Role::Final)?;
                }
            }
        }
        "all" => {
            for name in ALL {
                print(&mut harness, name, Role::Tuning)?;
            }
        }
        name => print(&mut harness, name, Role::Tuning)?,
    }
    Ok(harness.finish())
}

/// Prints one table.
fn print(harness: &mut Harness, name: &str, role: Role) -> Result<(), String> {
    match name {
        "default" => scores::default(harness, role)?,
        "suite" => scores::suite(harness, role)?,
        "held-out" => scores::held_out(harness, role)?,
        "k" => numbers::k(harness, role == Role::Final)?,
        "unequal" => unequal::unequal(harness),
        "patches" => unequal::patches(harness),
        "customers" => unequal::customers(harness),
        "null" => numbers::null(harness),
        "stability" => {
            stability::seeds(harness)?;
            stability::precision(harness);
        }
        "graphs" => paper::graphs(harness)?,
        "scalings" => paper::scalings(harness)?,
        "anchors" => paper::anchors(harness)?,
        "abalone" => paper::abalone(harness),
        "ablation" => paper::ablation(harness)?,
        other => {
            let tables = ALL.join(", ");
            return Err(format!("no table '{other}'; choose all, final, sets, protocol, {tables}"));
        }
    }
    Ok(())
}

/// Prints the protocol for other programs.
fn sets() {
    for set in protocol::sets() {
        let path = table::path(&set).map(|path| path.display().to_string());
        let (role, kind) = (set.role.name(), set.kind.name());
        let line =
            serde_json::json!({ "name": set.name, "role": role, "kind": kind, "path": path });
        println!("{line}");
    }
}
