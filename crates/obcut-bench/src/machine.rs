//! The machine and the memory of this process, as far as the system reports them.

use std::fs;

use obcut_report::number::significant;

/// Processor and number of cores, in one line.
pub fn describe() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        line.strip_prefix("model name").and_then(|rest| rest.split_once(':')).map(|(_, m)| m.trim())
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{}, {cores} cores, {os} {arch}", model.unwrap_or("unknown processor"))
}

/// Maximum number of bytes that this process has used, if the system reports it.
pub fn peak_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    kilobytes(&text, "VmHWM:")
}

/// Number of bytes that this process uses now, if the system reports it.
pub fn held_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    kilobytes(&text, "VmRSS:")
}

/// Maximum number of bytes that another process has used, if the system reports it.
pub fn peak_bytes_of(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    kilobytes(&text, "VmHWM:")
}

/// Bytes in words: GiB, or MiB below one.
pub fn size(bytes: u64) -> String {
    let mib = bytes as f64 / (1u64 << 20) as f64;
    match mib {
        mib if mib < 1024.0 => format!("{} MiB", significant(mib, 3)),
        mib => format!("{} GiB", significant(mib / 1024.0, 3)),
    }
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_by_people() {
        assert_eq!((size(12 << 30), size(50_000_000)), ("12 GiB".into(), "47.7 MiB".into()));
    }

    #[test]
    fn a_line_of_the_status_is_read() {
        let text = "Name:\tobcut\nVmHWM:\t  1234 kB\nVmRSS:\t 12 kB\n";
        assert_eq!(kilobytes(text, "VmHWM:"), Some(1234 * 1024));
        assert_eq!(kilobytes(text, "VmSwap:"), None);
    }
}
