//! Normal random numbers.

use obcut_core::random::Stream;

/// `n` independent numbers of mean 0 and variance 1, by the transform of Box and Muller.
pub(crate) fn normal(n: usize, stream: Stream) -> Vec<f64> {
    let uniform = stream.values(n.next_multiple_of(2));
    let mut values: Vec<f64> = uniform
        .chunks_exact(2)
        .flat_map(|pair| {
            // From (-1, 1) to (0, 1): never 0, so the logarithm is finite.
            let radius = (-2.0 * (0.5 * (pair[0] + 1.0)).ln()).sqrt();
            let (sin, cos) = (std::f64::consts::PI * pair[1]).sin_cos();
            [radius * cos, radius * sin]
        })
        .collect();
    values.truncate(n);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_normal_distribution() {
        let values = normal(200_001, Stream::new(4).named("test"));
        assert_eq!(values.len(), 200_001);
        let moment = |p: i32| values.iter().map(|v| v.powi(p)).sum::<f64>() / 200_001.0;
        for (p, expected, within) in
            [(1, 0.0, 0.01), (2, 1.0, 0.02), (3, 0.0, 0.04), (4, 3.0, 0.12)]
        {
            assert!((moment(p) - expected).abs() < within, "{p}: {}", moment(p));
        }
        // The two of a pair are independent.
        let product: f64 = values.chunks_exact(2).map(|pair| pair[0] * pair[1]).sum();
        assert!((product / 100_000.0).abs() < 0.02);
    }
}
