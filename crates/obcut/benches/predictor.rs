//! Microseconds for one row of a batch and for a single row: `cargo bench -p obcut --bench predictor`.

use std::time::Instant;

use obcut::{GraphKind, OBCut, synthetic};

const N: usize = 20_000;
const ALONE: usize = 4_000;

fn main() -> Result<(), obcut::Error> {
    println!(
        "{:>10} {:>9} {:>12} {:>12} {:>7}",
        "graph", "features", "batch, us", "single, us", "ratio"
    );
    for d in [8, 64, 256] {
        let data = synthetic::mixture(N, d, 10, 1);
        let obcut::Matrix::Dense32 { values, .. } = &data.matrix else { continue };
        let values: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
        let rows = obcut::DenseRef::new(&values, N, d)?;
        for graph in [GraphKind::Auto, GraphKind::Distance, GraphKind::Local, GraphKind::Global] {
            let model = OBCut::new(10).graph(graph).fit(&rows)?.into_model();
            let start = Instant::now();
            let labels = model.on(&rows)?.threads(1).labels()?;
            let batch = start.elapsed().as_secs_f64() / N as f64 * 1e6;
            let predictor = model.predictor()?;
            let start = Instant::now();
            for (row, &label) in values.chunks_exact(d).zip(&labels).take(ALONE) {
                assert_eq!(predictor.label(row)?, label);
            }
            let single = start.elapsed().as_secs_f64() / ALONE as f64 * 1e6;
            let ratio = single / batch;
            println!("{:>10} {d:>9} {batch:>12.2} {single:>12.2} {ratio:>7.1}", graph.to_string());
        }
    }
    Ok(())
}
