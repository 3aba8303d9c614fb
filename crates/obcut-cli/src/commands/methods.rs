//! `obcut methods`: lists the methods of `obcut cluster --method` and their settings.

use obcut::Named;
use std::io::Write;

use clap::Args;
use obcut_baselines::{Method, Setting};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::args::values::method;
use crate::output;

/// List the methods that 'obcut cluster --method' knows, with their settings.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MethodsArgs {
    /// List only this method
    #[arg(value_name = "METHOD", value_parser = method())]
    method: Option<Method>,
}

const EXAMPLES: &str = "Examples:
  obcut methods
  obcut methods lsc
  obcut cluster table.csv -k 10 --method lsc --set p=500 --set r=7";

/// The facts of a method. The names in JSON are stable.
#[derive(Serialize)]
struct MethodFacts {
    name: &'static str,
    summary: &'static str,
    cost: &'static str,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct MethodsReport {
    methods: Vec<MethodFacts>,
}

/// Runs the command.
pub fn run(args: &MethodsArgs, output: &OutputArgs) -> anyhow::Result<()> {
    let wanted = |method: &&Method| args.method.is_none_or(|one| one == **method);
    let methods: Vec<MethodFacts> = (Method::ALL.iter().filter(wanted))
        .map(|method| MethodFacts {
            name: method.name(),
            summary: method.summary(),
            cost: method.cost(),
            settings: method.build().settings(),
        })
        .collect();
    if output.json {
        let report = MethodsReport { methods };
        return Ok(output::print_run("methods", &report)?);
    }
    let mut out = std::io::stdout().lock();
    for (i, method) in methods.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{}  {}\n    cost: {}", method.name, method.summary, method.cost)?;
        for Setting { name, value, range, help, .. } in &method.settings {
            writeln!(out, "    {:<18} {help}; {range}", format!("{name}={value}"))?;
        }
    }
    Ok(out.flush()?)
}
