//! Changes of bytes that break parsers.

use std::ops::Range;

use crate::random::Dice;

/// Bytes beyond which a chunk is not repeated or spliced: damage, not size, is what is tried.
const MOST: usize = 1 << 16;

const BYTES: [u8; 20] = [
    0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, b'\n', b'\r', b' ', b'\t', b',', b';', b':', b'"', b'#', b'-',
    b'0', b'9', b'.',
];

const INTEGERS: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    1 << 20,
    0x7fff_ffff,
    1 << 31,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    1 << 62,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

const NUMBERS: [&str; 30] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "1e38",
    "4e38",
    "1e999999999",
    "0x10",
    "nan",
    "inf",
    "-inf",
    "1_000",
    "1.5.2",
    "9007199254740993",
    "",
    "0.1",
];

/// Changes the bytes a few times; `others` are those that chunks may be taken from.
pub fn mutate(bytes: &mut Vec<u8>, others: &[&[u8]], dice: &mut Dice) {
    loop {
        once(bytes, others, dice);
        if dice.one_in(2) {
            break;
        }
    }
}

fn once(bytes: &mut Vec<u8>, others: &[&[u8]], dice: &mut Dice) {
    let n = bytes.len();
    if n == 0 {
        return bytes.push(*dice.pick(&BYTES));
    }
    let at = dice.below(n);
    match dice.below(13) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = *dice.pick(&BYTES),
        2 => bytes[at] = dice.draw() as u8,
        3 => bytes[at] = bytes[at].wrapping_add(*dice.pick(&[1, 255])),
        4 => bytes.truncate(at),
        5 => {
            let chunk = chunk(n, 64, dice);
            bytes.drain(chunk);
        }
        6 => {
            let chunk = chunk(n, 256, dice);
            let most = 1 << dice.below(8);
            let times = 1 + dice.below(most);
            let copies = bytes[chunk.clone()].repeat(times);
            insert(bytes, chunk.end, &copies);
        }
        7 => {
            // The beginning of this, the end of another.
            let other = dice.pick(others);
            bytes.truncate(at);
            bytes.extend(&other[dice.below(other.len())..]);
        }
        8 => {
            let other = *dice.pick(others);
            let piece = other[chunk(other.len(), 64, dice)].to_vec();
            insert(bytes, at, &piece);
        }
        9 => {
            let from = chunk(n, 32, dice);
            let piece = bytes[from].to_vec();
            let end = (at + piece.len()).min(n);
            bytes[at..end].copy_from_slice(&piece[..end - at]);
        }
        10 => {
            let byte = *dice.pick(&BYTES);
            insert(bytes, at, &vec![byte; 1 + dice.below(8)]);
        }
        11 => integer(bytes, at, dice),
        _ => number(bytes, at, dice),
    }
}

/// A random chunk of `n` bytes, of up to `most`.
fn chunk(n: usize, most: usize, dice: &mut Dice) -> Range<usize> {
    let start = dice.below(n);
    start..(start + 1 + dice.below(most)).min(n)
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let room = MOST.saturating_sub(bytes.len()).min(piece.len());
    bytes.splice(at..at, piece[..room].iter().copied());
}

/// Replaces an integer of 2, 4 or 8 bytes, mostly little-endian and where fields usually begin.
fn integer(bytes: &mut [u8], at: usize, dice: &mut Dice) {
    let width = *dice.pick(&[2usize, 4, 8]);
    let at = if dice.one_in(4) { at } else { at / width * width };
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let mut old = [0; 8];
    old[..width].copy_from_slice(field);
    let old = u64::from_le_bytes(old);
    let new = match dice.below(4) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        _ => *dice.pick(&INTEGERS),
    };
    field.copy_from_slice(&new.to_le_bytes()[..width]);
    if dice.one_in(4) {
        field.reverse();
    }
}

/// Replaces the number at a place of a text by another, or inserts one.
fn number(bytes: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    // The next number, or the last.
    let at = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |found| at + found);
    let start = bytes[..at].iter().rposition(|b| !is_part(b)).map_or(0, |before| before + 1);
    let length = bytes[start..].iter().position(|b| !is_part(b)).unwrap_or(bytes.len() - start);
    let new = dice.pick(&NUMBERS).bytes();
    bytes.splice(start..start + length, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_dice_make_the_same_bytes_and_others_make_others() {
        let seed = b"1,2.5,x\n-3e2,nan,y\n".to_vec();
        let mutated = |execution| {
            let mut bytes = seed.clone();
            mutate(&mut bytes, &[&seed, b"4,5\n"], &mut Dice::of_execution(1, execution));
            bytes
        };
        let all: Vec<Vec<u8>> = (0..1000).map(mutated).collect();
        assert_eq!(all, (0..1000).map(mutated).collect::<Vec<_>>());
        let changed = all.iter().filter(|bytes| **bytes != seed).count();
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert!(changed > 900 && distinct.len() > 600, "{changed} {}", distinct.len());
        assert!(all.iter().all(|bytes| bytes.len() <= 2 * MOST));
    }

    #[test]
    fn a_number_is_replaced_whole() {
        let mut dice = Dice::new(1);
        for _ in 0..100 {
            let mut bytes = b"a -12.5e3,b".to_vec();
            number(&mut bytes, 4, &mut dice);
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.starts_with("a ") && text.ends_with(",b"), "{text}");
            assert!(NUMBERS.contains(&&text[2..text.len() - 2]), "{text}");
        }
    }
}
