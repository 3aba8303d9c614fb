//! What is done with a piece of the rows in one pass, and what comes of it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::round::{LabelPass, LabelPassTask, RoundReady};
use super::scan::{Scan, ScanTask};
use crate::model::rule::RowScore;
use obcut_core::error::{Error, StateError};
use obcut_core::matrix::Samples;
use obcut_core::normalize::SecondPass;
use obcut_core::random::mix;

/// Some rows of a table.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// Loaded rows, of which `range` is the piece.
    pub samples: Samples<'a>,
    /// Their weights, if there are any.
    pub weights: Option<&'a [f64]>,
    /// Which of them.
    pub range: Range<usize>,
    /// Number of the first loaded row in the whole table.
    pub first: u64,
}

impl Piece<'_> {
    #[inline(always)]
    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// What the second pass of a scaling finds in its rows.
    fn second(&self, pass: &SecondPass) -> Vec<i64> {
        pass.run(&self.samples, self.range.clone(), |i| self.weight(i))
    }

    /// The rows in stretches of some length.
    pub(crate) fn stretches(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        let range = self.range.clone();
        range.clone().step_by(len).map(move |start| start..(start + len).min(range.end))
    }
}

/// The work of one pass: the same for every piece. It can be sent as bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task(pub(crate) TaskKind);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum TaskKind {
    Scan(ScanTask),
    Second(SecondPass),
    LabelPass(Box<LabelPassTask>),
}

/// A task prepared for rows of one kind.
pub struct ReadyTask<'t>(Inner<'t>);

enum Inner<'t> {
    Scan(&'t ScanTask),
    Second(&'t SecondPass),
    LabelPass(Box<RoundReady<'t>>),
}

/// What comes of a piece. Pieces may be merged in any order and any grouping: no bit changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partial(pub(crate) PassResult);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum PassResult {
    Scan(Box<Scan>),
    Second(Vec<i64>),
    LabelPass(Box<LabelPass>),
}

impl Task {
    /// Whether the rows get labels in this pass.
    pub fn labels(&self) -> bool {
        matches!(self.0, TaskKind::LabelPass(_))
    }

    /// Makes the task ready for rows like these.
    pub fn ready<'t>(&'t self, like: &Samples<'_>) -> ReadyTask<'t> {
        ReadyTask(match &self.0 {
            TaskKind::Scan(task) => Inner::Scan(task),
            TaskKind::Second(task) => Inner::Second(task),
            TaskKind::LabelPass(task) => Inner::LabelPass(Box::new(task.ready(like))),
        })
    }
}

impl ReadyTask<'_> {
    /// Does the work. `rows` takes label and margin of every row, when the pass has them.
    pub fn run(&self, piece: &Piece<'_>, rows: Option<&mut Vec<RowScore>>) -> Partial {
        Partial(match &self.0 {
            Inner::Scan(task) => PassResult::Scan(Box::new(task.run(piece))),
            Inner::Second(task) => PassResult::Second(piece.second(task)),
            Inner::LabelPass(task) => PassResult::LabelPass(Box::new(task.run(piece, rows))),
        })
    }
}

impl Partial {
    /// Whether the rows got labels in this pass.
    pub(crate) fn labels(&self) -> bool {
        matches!(self.0, PassResult::LabelPass(_))
    }

    /// Takes in what came of other rows.
    ///
    /// # Errors
    /// When it is of another pass.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        match (&mut self.0, other.0) {
            (PassResult::Scan(a), PassResult::Scan(b)) => a.merge(*b),
            (PassResult::Second(a), PassResult::Second(b)) => add(a, &b),
            (PassResult::LabelPass(a), PassResult::LabelPass(b)) => a.merge(&b),
            _ => return Err(mixed()),
        }
        Ok(())
    }
}

/// What other machines need.
#[cfg(feature = "front-ends")]
impl Task {
    /// A short name, for people who watch.
    pub fn name(&self) -> &'static str {
        match self.0 {
            TaskKind::Scan(_) => "scan",
            TaskKind::Second(_) => "scale",
            TaskKind::LabelPass(_) => "round",
        }
    }

    /// The task as bytes.
    ///
    /// # Errors
    /// When memory does not suffice.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        to_bytes(self)
    }

    /// Reads a task from its bytes.
    ///
    /// # Errors
    /// When they are damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        from_bytes(bytes)
    }
}

#[cfg(feature = "front-ends")]
impl Partial {
    /// The result as bytes.
    ///
    /// # Errors
    /// When memory does not suffice.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        to_bytes(self)
    }

    /// Reads a result from its bytes.
    ///
    /// # Errors
    /// When they are damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        from_bytes(bytes)
    }
}

pub(crate) fn mixed() -> Error {
    StateError::Mixed.into()
}

pub(crate) fn add(to: &mut [i64], from: &[i64]) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += f);
}

/// Bytes that are kept, with their checksum at the end.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// The bytes that were sealed.
///
/// # Errors
/// When one of them changed since, or some are missing.
pub(crate) fn unsealed(bytes: &[u8]) -> Result<&[u8], Error> {
    match bytes.split_last_chunk() {
        Some((bytes, sum)) if checksum(bytes) == u64::from_le_bytes(*sum) => Ok(bytes),
        _ => Err(StateError::Damaged("its checksum does not match".into()).into()),
    }
}

/// Every byte and the length count. A step is a bijection, so a change of a single word always shows.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.fold(mix(bytes.len() as u64), |sum, word| mix(sum ^ word))
}

pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    postcard::to_allocvec(value).map_err(|e| StateError::Unwritable(e.to_string()).into())
}

pub(crate) fn from_bytes<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|e| StateError::Damaged(e.to_string()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_any_byte_of_a_state_shows() {
        for length in [0, 1, 7, 8, 9, 40] {
            let bytes: Vec<u8> = (0..length).collect();
            let kept = sealed(bytes.clone());
            assert_eq!(unsealed(&kept).unwrap(), bytes);
            for at in 0..kept.len() {
                for bit in 0..8 {
                    let mut damaged = kept.clone();
                    damaged[at] ^= 1 << bit;
                    assert!(unsealed(&damaged).is_err(), "bit {bit} of byte {at} of {length}");
                }
                assert!(unsealed(&kept[..at]).is_err(), "{at} bytes of {length}");
            }
            assert!(unsealed(&[&kept[..], &[0]].concat()).is_err());
        }
    }
}
