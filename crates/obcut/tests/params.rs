//! The table of parameters: names, ranges, words, and the serialized form.

use obcut::front_ends::{Kind, PARAMETERS, Parameter, parameter};
use obcut::{Error, GraphKind, Init, Noise, OBCut, ParamError, Params, synthetic};
use serde_json::{Value, json};

#[test]
fn a_number_of_clusters_is_enough() {
    let params: Params = serde_json::from_str(r#"{ "n_clusters": 5 }"#).unwrap();
    assert_eq!(params, Params::new(5));
}

#[test]
fn unknown_names_are_refused_with_a_suggestion() {
    let error = serde_json::from_str::<Params>(r#"{ "n_cluster": 5 }"#).unwrap_err().to_string();
    assert!(error.contains("'n_cluster'") && error.contains("'n_clusters'"), "{error}");
    let error = serde_json::from_str::<Params>(r#"{ "zzz": 5 }"#).unwrap_err().to_string();
    assert!(error.contains("'zzz'") && !error.contains("did you mean"), "{error}");
}

#[test]
fn the_serialized_form_keeps_everything() {
    let all = [
        Params::new(3),
        Params::paper(3),
        Params::auto(),
        Params {
            init: Init::Given(vec![0, 1, 2]),
            anchors: Some(vec![0.25, -1.5]),
            noise: Some(Noise::Share(0.1)),
            k_range: Some((2, Some(9))),
            seed: u64::MAX,
            ..Params::new(3)
        },
        Params { noise: Some(Noise::Auto), ..Params::new(3) },
    ];
    for params in all {
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params, "{text}");
    }
}

#[test]
fn words_stand_for_what_is_kept() {
    let mut params = Params::paper(3);
    for (name, word) in [("n_anchors", "auto"), ("rows_per_anchor", "all"), ("core_rows", "all")] {
        params.set(name, &word.into()).unwrap();
        assert_eq!(parameter(name).unwrap().shown(&params), Value::from(word), "{name}");
    }
    assert_eq!((params.n_anchors, params.rows_per_anchor, params.core_rows), (None, None, Some(0)));
    params.set("n_clusters", &"auto".into()).unwrap();
    assert_eq!(params.k_range, Some((1, None)));
    params.set("n_clusters", &json!([4, 6])).unwrap();
    assert_eq!(params.k_range, Some((4, Some(6))));
    params.set("noise", &"none".into()).unwrap();
    assert_eq!(params.noise, None);
}

/// Values just outside of the range of a parameter.
fn outside(parameter: &Parameter) -> Vec<Value> {
    match parameter.kind {
        Kind::Integer { min: 0 } => vec![json!(-1), json!(0.5), json!("many")],
        Kind::Integer { min } => vec![json!(min - 1), json!(0.5), json!("many")],
        Kind::Real { min, max, open } => {
            let mut wrong = vec![json!(min - 1e-9), json!("many")];
            if max.is_finite() {
                wrong.push(json!(max + 1e-9));
            }
            if open {
                wrong.extend([json!(min), json!(max)]);
            }
            wrong
        }
        Kind::Boolean => vec![json!(1), json!("yes")],
        Kind::Choice(_) | Kind::Labels(_) => vec![json!("no such word"), json!(1)],
        Kind::Anchors => vec![json!("x")],
        Kind::Clusters => vec![json!("many"), json!(-1)],
        _ => Vec::new(),
    }
}

#[test]
fn every_parameter_refuses_what_is_out_of_its_range() {
    let words = |p: &Parameter, v: &Value| {
        p.words.iter().any(|w| v == w.name) || (v == 0 && p.name == "core_rows")
    };
    for parameter in PARAMETERS {
        for value in outside(parameter).into_iter().filter(|value| !words(parameter, value)) {
            let error = Params::new(3).set(parameter.name, &value).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(parameter.name), "{} = {value}: {text}", parameter.name);
        }
    }
}

#[test]
fn every_choice_and_word_is_accepted_as_it_is_typed() {
    for parameter in PARAMETERS {
        for name in parameter.names() {
            let value = parameter.parse(name).unwrap();
            Params::new(3).set(parameter.name, &value).unwrap();
        }
    }
}

#[test]
fn the_table_covers_every_field_once() {
    let mut names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
    names.sort_unstable();
    let with_arrays = Params { anchors: Some(vec![1.0]), ..Params::new(3) };
    let mut fields: Vec<String> = serde_json::to_value(&with_arrays)
        .unwrap()
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    fields.sort_unstable();
    assert_eq!(names, fields);
    let listed = PARAMETERS.iter().filter(|parameter| !parameter.option.is_empty());
    for parameter in listed {
        assert!(
            !parameter.summary().is_empty() && parameter.summary().len() < 120,
            "{}",
            parameter.name
        );
        assert!(!parameter.summary().ends_with('.'), "{}", parameter.name);
    }
}

#[test]
fn a_fit_checks_the_ranges_of_the_table() {
    let data = synthetic::blobs(50, 2, 2, 1.0, 1);
    let params = Params { balance: 1.5, graph: GraphKind::Distance, ..Params::new(2) };
    let error = OBCut::from(params.clone()).fit(&data.matrix.samples().unwrap()).unwrap_err();
    assert!(matches!(error, Error::Params(ParamError::Range { name: "balance", .. })), "{error}");
}
