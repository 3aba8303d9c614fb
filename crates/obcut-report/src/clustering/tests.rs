use obcut::{DenseRef, GraphKind, Learn, Matrix, OBCut, Params, Samples, Silent, synthetic};

use super::*;

/// The page of a fit, with measured seconds left out.
fn page(samples: &Samples<'_>, params: &Params, names: Vec<String>) -> String {
    let found = OBCut::from(params.clone()).fit(samples).unwrap();
    let rows = ReportData::of_fit(&found, samples, None, params.threads, &Silent).unwrap();
    let feature_names = names;
    let mut facts =
        ClusteringFacts { rows: Some(rows), feature_names, ..ClusteringFacts::of_fit(&found) };
    facts.seconds.clear();
    facts.settings.retain(|(name, _)| name != "threads");
    clustering(&facts)
}

fn quick(k: usize) -> Params {
    Params { graph: GraphKind::Distance, threads: 1, ..Params::new(k) }
}

#[test]
fn the_page_has_all_parts_and_all_names_are_text() {
    let data = synthetic::blobs(600, 3, 3, 0.4, 1);
    let samples = data.matrix.samples().unwrap();
    let nasty = "<script>alert(1)</script>";
    let html = page(&samples, &quick(3), vec![nasty.into(), "b\"c".into(), String::new()]);
    assert!(!html.contains(nasty));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for part in [
        "Rows per cluster",
        "Map of the rows",
        "The graph between rows and anchors",
        "Margins of all rows",
        "Least certain rows",
        "What sets clusters apart",
        "Nearest to the centre",
        "column 2",
        "Convergence",
        "All settings",
        "only the cut is optimized",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn both_terms_are_shown_when_they_were_learned() {
    let data = synthetic::blobs(400, 3, 3, 0.6, 2);
    let samples = data.matrix.samples().unwrap();
    let params = Params { learn: Learn::AnchorsAndGraph, ..quick(3) };
    let html = page(&samples, &params, Vec::new());
    assert!(html.contains("Fit of the graph (first term)") && html.contains("Cut (second term)"));
}

#[test]
fn the_first_term_and_the_cut_make_up_the_objective() {
    let data = synthetic::blobs(400, 3, 3, 0.6, 2);
    let samples = data.matrix.samples().unwrap();
    let found = OBCut::from(Params::paper(3)).fit(&samples).unwrap();
    let c = Convergence::from(found.trace());
    assert_eq!((c.residual.len(), c.cut.len()), (c.objective.len(), c.objective.len() - 1));
    for i in 1..c.objective.len() {
        // No penalties in the paper's settings, and lambda is 1 as it stands.
        let sum = c.residual[i] - c.cut[i - 1];
        assert!((sum - c.objective[i]).abs() <= 1e-9 * sum.abs(), "{sum} {}", c.objective[i]);
    }
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let data = synthetic::blobs(5_000, 4, 5, 0.7, 4);
    let samples = data.matrix.samples().unwrap();
    let one = page(&samples, &quick(5), Vec::new());
    assert_eq!(one, page(&samples, &Params { threads: 3, ..quick(5) }, Vec::new()));
}

#[test]
fn a_page_of_many_rows_and_clusters_stays_below_two_megabytes() {
    let data = synthetic::blobs(200_000, 3, 100, 0.3, 5);
    let samples = data.matrix.samples().unwrap();
    let params = Params { n_anchors: Some(300), ..quick(100) };
    let html = page(&samples, &params, vec!["a long name of a feature".repeat(3); 3]);
    assert!(html.len() < 1_500_000, "{}", html.len());
    assert!(html.contains("88 more clusters"));
}

#[test]
fn one_cluster_one_feature_and_sparse_rows_have_a_page() {
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let samples = DenseRef::new(&x, 50, 1).unwrap().into();
    assert!(page(&samples, &quick(1), Vec::new()).contains("One cluster does not differ"));
    assert!(page(&samples, &quick(2), vec!["only".into()]).contains("only"));
    let sparse = Matrix::Sparse64(obcut::Csr {
        offsets: (0..=50).collect(),
        columns: (0..50).map(|i| i % 2).collect(),
        values: x.iter().map(|v| v + 1.0).collect(),
        n_cols: 30,
    });
    let html = page(&sparse.samples().unwrap(), &quick(2), Vec::new());
    assert!(html.contains("Map of the rows"));
}

#[test]
fn rows_marked_as_noise_are_counted_and_are_no_cluster() {
    let data = synthetic::blobs(300, 2, 2, 0.3, 1);
    let samples = data.matrix.samples().unwrap();
    let params = Params { noise: Some(obcut::Noise::Share(0.1)), ..quick(2) };
    let html = page(&samples, &params, Vec::new());
    assert!(html.contains("30 rows are marked as noise (label -1)."));
    assert!(html.contains("Noise rows"));
    assert!(html.contains("Cluster 1</h3>") && !html.contains("Cluster 2</h3>"));
    assert!(!page(&samples, &quick(2), Vec::new()).contains("marked as noise"));
}

#[test]
fn without_rows_the_page_says_so() {
    let data = synthetic::blobs(300, 2, 2, 0.3, 1);
    let samples = data.matrix.samples().unwrap();
    let found = OBCut::from(quick(2)).fit(&samples).unwrap();
    let html = clustering(&ClusteringFacts::of_model(found.model()));
    assert!(html.contains("This report was written without the rows"));
    assert!(!html.contains("Margins of all rows"));
}

#[test]
fn warnings_are_plain_sentences() {
    let data = synthetic::blobs(300, 2, 3, 0.05, 1);
    let samples = data.matrix.samples().unwrap();
    let found = OBCut::from(quick(3)).fit(&samples).unwrap();
    let mut facts = ClusteringFacts::of_fit(&found);
    let mut with_pieces = |n_pieces: usize| {
        if let Some(c) = &mut facts.convergence {
            (c.stop, c.n_idle, c.n_pieces) = (StopReason::MaxIter, 3, n_pieces);
        }
        clustering(&facts)
    };
    assert!(!with_pieces(3).contains("not connected"), "a piece per cluster is as it should be");
    let html = with_pieces(2);
    assert!(html.contains("3 anchors have no links to rows"));
    assert!(html.contains("The graph is not connected") && html.contains("was still rising"));
}

#[test]
fn the_facts_of_a_fit_travel_as_json_and_those_of_older_versions_are_read() {
    let data = synthetic::blobs(300, 2, 2, 0.3, 1);
    let samples = data.matrix.samples().unwrap();
    let found = OBCut::from(quick(2)).fit(&samples).unwrap();
    let json = serde_json::to_string(&FitFacts::from(&found)).unwrap();
    let back: FitFacts = serde_json::from_str(&json).unwrap();
    let page = clustering(&ClusteringFacts::new(found.model(), back));
    assert_eq!(page, clustering(&ClusteringFacts::of_fit(&found)));
    // Older versions kept the whole page, with what it shows of the rows.
    let older = json.replacen('{', r#"{"title":"","sketch":{"n_rows":300},"#, 1);
    let back: FitFacts = serde_json::from_str(&older).unwrap();
    assert_eq!(clustering(&ClusteringFacts::new(found.model(), back)), page);
    assert_eq!(serde_json::from_str::<FitFacts>("{}").unwrap(), FitFacts::default());
}
