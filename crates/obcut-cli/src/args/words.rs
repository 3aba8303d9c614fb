//! What the words of the settings mean, for `--help`.

use obcut::{
    AnchorUpdate, AnchorWeights, Effort, Formulation, GraphKind, LambdaScale, Learn, Metric,
    Reduce, RowSolver, Scale, SweepOrder,
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
        Auto => "try several graphs, trees and k-means, keep the best by a score without labels",
        Global => "best mixture of all anchors, largest entries kept (the paper)",
        Local => "best mixture of the nearest anchors",
        Distance => "closed form from the distances to the nearest anchors",
        Neighbors => "closed form from the distances to the nearest rows",
    }
    Effort {
        Fast => "graphs between rows and anchors, trees and k-means, judged on 10,000 rows",
        Auto => "graphs of nearest rows as well, judged on 20,000 rows",
        Thorough => "more graphs and anchor sets, judged on 100,000 rows",
    }
    Scale {
        Auto => "for counts with more than 95 % zeros idf or unit, else minmax that a few far values do not stretch",
        MinMax => "every feature to [0, 1]",
        Standard => "every feature to mean 0 and deviation 1",
        Robust => "every feature to median 0, in units of the distance between its quartiles",
        UnitRows => "every row to length 1",
        Idf => "counts times inverse document frequencies, then unit",
        None => "nothing",
    }
    Metric {
        Euclidean => "the distance of the scaled rows",
        Cosine => "the angle between rows, which are brought to length 1",
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
