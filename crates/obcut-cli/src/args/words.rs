//! What the words of the settings mean, for `--help`.

use obcut::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, LambdaScale, Learn, Reduce,
    RowSolver, Scale, SweepOrder,
};

/// A setting that is one of a few words.
pub trait Word: Copy + Send + Sync + 'static {
    /// Every choice.
    fn all() -> &'static [Self];
    /// The word.
    fn word(self) -> &'static str;
    /// What it does, in a few more words.
    fn meaning(self) -> &'static str;
}

/// Ties a choice of the library to the meanings of its words.
macro_rules! words {
    ($($type:ident { $($variant:ident => $meaning:literal,)+ })+) => {$(
        impl Word for $type {
            fn all() -> &'static [Self] {
                Self::ALL
            }

            fn word(self) -> &'static str {
                self.name()
            }

            fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    )+};
}

words! {
    GraphKind {
        Auto => "try the others and unions of them, keep the best by a score without labels",
        Global => "best mixture of all anchors, largest entries kept (the paper)",
        Local => "best mixture of the nearest anchors",
        Distance => "closed form from the distances to the nearest anchors",
    }
    Effort {
        Fast => "two graphs and their union, judged on 10,000 rows",
        Auto => "three graphs, two unions, two starts, judged on 20,000 rows",
        Thorough => "more anchor sets and unions, judged on 100,000 rows",
    }
    Scale {
        Auto => "unit rows when no value is negative and more than 95 % are zero, else minmax",
        MinMax => "every feature to [0, 1]",
        Standard => "every feature to mean 0 and deviation 1",
        UnitRows => "every row to length 1",
        None => "nothing",
    }
    AnchorWeights {
        None => "all alike (the paper)",
        Degree => "by the inverse root of the degree",
    }
    LambdaScale {
        Relative => "in units of the data, so that 1 suits any table",
        Absolute => "as it stands in the objective (the paper)",
    }
    Learn {
        Auto => "try to learn anchors and graph, keep what scores better",
        AnchorsAndGraph => "anchors and graph (the paper, LA+LG)",
        GraphOnly => "the graph (FA+LG)",
        Nothing => "only cut the first graph (FA+FG)",
    }
    Formulation {
        Unified => "one objective for graph and cut (the paper)",
        TwoStep => "learn the graph, then cut it",
    }
    RowSolver {
        Exact => "exactly, by an active set",
        Authors => "by the authors' gradient steps, which stop early",
    }
    AnchorUpdate {
        LeastSquares => "least squares (the paper)",
        Proximal => "least squares with a pull towards the first anchors",
    }
    SweepOrder {
        Shuffled => "at random, whatever the order of the file",
        Rows => "as the rows come",
    }
    Reduce {
        Auto => "when a dense table has more columns than rows",
        Never => "never",
    }
}

impl Word for obcut_baselines::Method {
    fn all() -> &'static [Self] {
        Self::ALL
    }

    fn word(self) -> &'static str {
        self.name()
    }

    fn meaning(self) -> &'static str {
        self.summary()
    }
}
