//! Times our k-means for `make bench`: `lloyd FILE K ITERATIONS THREADS` prints one JSON line.
//!
//! Random rows as centres, all rows in every iteration, no early stop, one assignment at the end.

use std::time::Instant;

use obcut::Silent;
use obcut_core::means::{KMeansParams, k_means};
use obcut_data::{LoadOptions, Source, load};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, k, iterations, threads] = &args[..] else {
        return Err("usage: lloyd FILE K ITERATIONS THREADS".into());
    };
    let data = load(&Source::parse(file), &LoadOptions::default())?;
    let samples = data.matrix.samples()?;
    let params = KMeansParams {
        plus_plus: false,
        max_iter: iterations.parse()?,
        rows_per_center: None,
        tol: 0.0,
        threads: threads.parse()?,
        ..KMeansParams::new(k.parse()?)
    };
    let clock = Instant::now();
    let fit = k_means(&samples, &params, &Silent)?;
    let seconds = clock.elapsed().as_secs_f64();
    println!("{{\"seconds\": {seconds}, \"rows\": {}}}", fit.labels.len());
    Ok(())
}
