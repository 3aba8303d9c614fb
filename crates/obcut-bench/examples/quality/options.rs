//! The command line of the harness.

use obcut::Params;
use serde_json::Value;

/// What the command line asks for.
#[derive(Debug, Default)]
pub struct Options {
    /// The table to print.
    pub table: String,
    /// Names of data sets (or cases) to restrict the table to.
    pub data: Option<Vec<String>>,
    /// Tables of `final`.
    pub tables: Option<Vec<String>>,
    /// Graphs of the table `graphs`.
    pub graphs: Option<Vec<String>>,
    /// Number of seeds, if given.
    pub seeds: Option<u64>,
    /// Threads; 0 uses all.
    pub threads: usize,
    /// File for one JSON line per fit.
    pub json: Option<String>,
    /// Settings of the fit that replace the defaults.
    settings: Vec<(String, Value)>,
}

impl Options {
    /// Reads the arguments: a table, options and `NAME=VALUE` settings.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { table: "all".into(), ..Self::default() };
        let mut args = args.peekable();
        if let Some(table) = args.next_if(|word| !word.starts_with('-') && !word.contains('=')) {
            options.table = table;
        }
        while let Some(word) = args.next() {
            if let Some((name, value)) = word.split_once('=').filter(|_| !word.starts_with('-')) {
                let text = || Value::String(value.into());
                let value = serde_json::from_str(value).unwrap_or_else(|_| text());
                options.settings.push((name.into(), value));
                continue;
            }
            let value = args.next().ok_or_else(|| format!("option {word} needs a value"))?;
            let list = || Some(value.split(',').map(str::to_string).collect());
            let number =
                || value.parse::<u64>().map_err(|_| format!("{word}: '{value}' is no number"));
            match word.as_str() {
                "--data" => options.data = list(),
                "--tables" => options.tables = list(),
                "--graph" => options.graphs = list(),
                "--seeds" => options.seeds = Some(number()?.max(1)),
                "--threads" => options.threads = number()? as usize,
                "--json" => options.json = Some(value),
                _ => return Err(format!("unknown option {word}")),
            }
        }
        Ok(options)
    }

    /// Number of seeds of a table.
    pub fn seeds(&self, usual: u64) -> u64 {
        self.seeds.unwrap_or(usual)
    }

    /// Whether a data set or case was asked for; all are, unless some are named.
    pub fn wants(&self, name: &str) -> bool {
        self.data.as_ref().is_none_or(|names| names.iter().any(|n| n == name))
    }

    /// The settings of a fit: those given, one seed, and the number of threads.
    pub fn params(&self, base: Params, seed: u64) -> Result<Params, String> {
        let mut params = Params { seed, threads: self.threads, ..base };
        for (name, value) in &self.settings {
            params.set(name, value).map_err(|error| error.to_string())?;
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_string))
    }

    #[test]
    fn tables_options_and_settings_are_read() {
        let options = parse("default --data LR,Yale --seeds 2 effort=fast n_init=3").unwrap();
        assert_eq!((options.table.as_str(), options.seeds(5)), ("default", 2));
        assert!(options.wants("LR") && !options.wants("digits"));
        let params = options.params(Params::new(3), 4).unwrap();
        assert_eq!((params.effort, params.n_init, params.seed), (obcut::Effort::Fast, 3, 4));
        assert_eq!(parse("").unwrap().table, "all");
        assert!(parse("default --seed 3").is_err());
        assert!(parse("default --seeds").is_err());
    }
}
