//! A model as bytes: safetensors for the arrays, one JSON document in its metadata for the rest.
//!
//! The metadata has a single key, so that the same model always gives the same bytes.

use std::collections::HashMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::graph::layout::{GraphBlock, GraphLayout};
use crate::model::Model;
use crate::model::rule::DecisionRule;
use crate::model::spread::Spread;
use crate::params::{Params, Scale};
use crate::records::Explanation;
use obcut_core::error::{Error, ModelError};
use obcut_core::normalize::Scaling;
use obcut_core::stored_columns::StoredColumns;

/// Newest format this program reads. It is written where columns were folded, else the one before.
const FORMAT: u32 = 3;
/// Key of the JSON document in the metadata.
const KEY: &str = "obcut";

/// Characters of the cause of damage that a message shows.
const SHOWN: usize = 200;

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    version: String,
    #[serde(deserialize_with = "saved_params")]
    params: Params,
    scale: Scale,
    /// Parts of the graph; files of format 1 have a single one, on this many anchor sets.
    #[serde(default)]
    parts: Vec<GraphBlock>,
    #[serde(default)]
    n_sets: usize,
    ridge: f64,
    objective: Option<f64>,
    feature_names: Vec<String>,
    #[serde(default)]
    explanation: Explanation,
    /// Files of before there was a choice have none.
    #[serde(default)]
    noise_threshold: Option<f64>,
    /// Whether rows of single precision are multiplied in double precision.
    #[serde(default)]
    double: bool,
    /// Number of columns of the table, where those without entries were folded into one (format 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n_features: Option<usize>,
}

/// The part of the header that every version has.
#[derive(Deserialize)]
struct FormatNumber {
    format: u32,
}

impl Model {
    /// The model as the bytes of a safetensors file.
    ///
    /// # Errors
    /// When the arrays cannot be laid out (never for a fitted model).
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let (k, d) = (self.n_clusters(), self.width());
        let (m, columns) = (self.n_anchors(), self.n_columns());
        let header = Header {
            format: if self.columns.is_some() { FORMAT } else { FORMAT - 1 },
            version: self.version.clone(),
            params: self.params.clone(),
            scale: self.scaling.kind,
            parts: self.layout.0.clone(),
            n_sets: self.layout.n_sets(),
            ridge: self.ridge,
            objective: self.objective,
            feature_names: self.feature_names.clone(),
            explanation: self.explanation.clone(),
            noise_threshold: self.spread.threshold,
            double: self.scaling.double,
            n_features: self.columns.as_ref().map(StoredColumns::n_cols),
        };
        let mut arrays: Vec<(&str, Vec<usize>, &[f64])> = vec![
            ("anchor_weights", vec![columns], &self.rule.anchor_weights),
            ("anchors", vec![m, d], &self.anchors),
            ("boost", vec![k], &self.rule.boost),
            ("cluster_sizes", vec![k], &self.sizes),
            ("embedding", vec![columns, k], &self.rule.embedding),
            ("rule_sizes", vec![k], &self.rule.sizes),
            ("rule_sums", vec![k], &self.rule.sums),
            ("anchor_reach", vec![m], &self.spread.reach),
            ("cluster_tail", vec![k], &self.spread.tail),
            ("cluster_usual", vec![k], &self.spread.usual),
            ("factor", vec![d], &self.scaling.factor),
            ("shift", vec![d], &self.scaling.shift),
        ];
        if let Some(prototypes) = &self.prototypes {
            arrays.push(("prototypes", vec![k, d], prototypes));
        }
        let failed = |e: &dyn std::fmt::Display| Error::from(ModelError::Unwritable(e.to_string()));
        let mut bytes: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = arrays
            .into_iter()
            .map(|(name, shape, values)| {
                (name, Dtype::F64, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect())
            })
            .collect();
        if !self.exceptions.is_empty() {
            let keys = self.exceptions.iter().flat_map(|e| e.0.to_le_bytes()).collect();
            let labels = self.exceptions.iter().flat_map(|e| e.1.to_le_bytes()).collect();
            let shape = vec![self.exceptions.len()];
            bytes.push(("exception_keys", Dtype::U64, shape.clone(), keys));
            bytes.push(("exception_labels", Dtype::U32, shape, labels));
        }
        if let Some(columns) = &self.columns {
            let stored = columns.stored().iter().flat_map(|&j| (j as u64).to_le_bytes()).collect();
            bytes.push(("stored_columns", Dtype::U64, vec![columns.stored().len()], stored));
        }
        if !self.spread.rivals.is_empty() {
            let rivals = self.spread.rivals.iter().flat_map(|b| b.to_le_bytes()).collect();
            let shape = vec![m, self.spread.rivals.len() / m];
            bytes.push(("anchor_rivals", Dtype::U32, shape, rivals));
        }
        let views = bytes
            .iter()
            .map(|(name, kind, shape, data)| {
                Ok((*name, TensorView::new(*kind, shape.clone(), data)?))
            })
            .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(|e| failed(&e))?;
        let header = serde_json::to_string(&header).map_err(|e| failed(&e))?;
        let metadata = HashMap::from([(KEY.to_string(), header)]);
        safetensors::serialize(views, Some(metadata)).map_err(|e| failed(&e))
    }

    /// Reads a model from the bytes of its file.
    ///
    /// # Errors
    /// A clear one for bytes that are damaged, cut short, foreign or newer than this program.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(&e))?;
        let text = (metadata.metadata().as_ref())
            .and_then(|map| map.get(KEY))
            .ok_or_else(|| ModelError::Foreign(format!("its metadata has no '{KEY}'")))?;
        let FormatNumber { format } = serde_json::from_str(text).map_err(|e| damaged(&e))?;
        if format > FORMAT {
            return Err(ModelError::Newer { found: format, supported: FORMAT }.into());
        }
        let header: Header = serde_json::from_str(text).map_err(|e| damaged(&e))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e))?;
        let read = |name: &str, rank: usize| -> Result<(Vec<usize>, Vec<f64>), ModelError> {
            let view = tensors.tensor(name).map_err(|e| damaged(&e))?;
            if view.dtype() != Dtype::F64 || view.shape().len() != rank {
                return Err(ModelError::Damaged(format!(
                    "array '{name}' has another type or shape"
                )));
            }
            let values: Vec<f64> = (view.data().chunks_exact(8))
                .map(|b| f64::from_le_bytes(b.try_into().expect("chunks of 8")))
                .collect();
            if values.iter().any(|v| !v.is_finite()) {
                return Err(ModelError::Damaged(format!(
                    "array '{name}' has values that are not finite"
                )));
            }
            Ok((view.shape().to_vec(), values))
        };
        let expect = |name: &str, found: &[usize], shape: &[usize]| {
            if found == shape {
                Ok(())
            } else {
                let text = format!("array '{name}' has shape {found:?}, not {shape:?}");
                Err(ModelError::Damaged(text))
            }
        };
        let (shape, anchors) = read("anchors", 2)?;
        let (m, d) = (shape[0], shape[1]);
        let (shape, embedding) = read("embedding", 2)?;
        let k = shape[1];
        let layout = layout(&header, m)?;
        let n_columns = layout.n_columns();
        expect("embedding", &shape, &[n_columns, k])?;
        let vector = |name: &str, length: usize| -> Result<Vec<f64>, ModelError> {
            let (shape, values) = read(name, 1)?;
            expect(name, &shape, &[length])?;
            Ok(values)
        };
        let prototypes = if tensors.names().contains(&"prototypes") {
            let (shape, values) = read("prototypes", 2)?;
            expect("prototypes", &shape, &[k, d])?;
            Some(values)
        } else {
            None
        };
        let exceptions = exceptions(&tensors, k)?;
        let spread = if tensors.names().contains(&"anchor_reach") {
            let spread = Spread {
                reach: vector("anchor_reach", m)?,
                usual: vector("cluster_usual", k)?,
                tail: vector("cluster_tail", k)?,
                rivals: rivals(&tensors)?,
                threshold: header.noise_threshold,
            };
            if !spread.fits(m, k) {
                return Err(ModelError::Damaged("what is usual makes no sense".into()).into());
            }
            Some(spread)
        } else {
            None
        };
        if k == 0 || d == 0 {
            let text = format!("{m} anchors, {k} clusters, {d} features");
            return Err(ModelError::Damaged(text).into());
        }
        if header.scale == Scale::Auto || !header.ridge.is_finite() || header.ridge < 0.0 {
            return Err(ModelError::Damaged("its settings make no sense".into()).into());
        }
        let columns = columns_of(&tensors, header.n_features, d)?;
        // Older files do not say what is usual among their rows.
        let points = prototypes.as_deref().unwrap_or(&anchors);
        let spread = spread
            .unwrap_or_else(|| Spread { reach: vec![0.0; m], ..Spread::of_anchors(points, d, k) });
        Ok(Self {
            columns,
            scaling: Scaling {
                kind: header.scale,
                shift: vector("shift", d)?,
                factor: vector("factor", d)?,
                double: header.double,
            },
            rule: DecisionRule {
                n_clusters: k,
                embedding,
                anchor_weights: vector("anchor_weights", n_columns)?,
                sums: vector("rule_sums", k)?,
                sizes: vector("rule_sizes", k)?,
                boost: vector("boost", k)?,
            },
            params: header.params,
            version: header.version,
            anchors,
            layout,
            ridge: header.ridge,
            exceptions,
            prototypes,
            sizes: vector("cluster_sizes", k)?,
            objective: header.objective,
            feature_names: header.feature_names,
            explanation: header.explanation,
            spread,
        })
    }
}

/// The parameters of a model. Files of before there was a choice favor equal sizes, and later versions
/// may know more parameters.
fn saved_params<'de, D: Deserializer<'de>>(from: D) -> Result<Params, D::Error> {
    let mut given = serde_json::Map::deserialize(from)?;
    given.entry("balance").or_insert_with(|| 1.0.into());
    let known = |name: &str| name == "k_range" || crate::params::parameter(name).is_some();
    let given = given.iter().map(|(name, value)| (name.as_str(), value));
    Params::new(0).with_settings(given.filter(|(name, _)| known(name))).map_err(D::Error::custom)
}

/// A model is serialized as the bytes of its file, so that reading one always checks it.
impl Serialize for Model {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.to_bytes().map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(from)?;
        Self::from_bytes(&bytes).map_err(D::Error::custom)
    }
}

/// The parts of the graph, checked against the number of anchors.
fn layout(header: &Header, n_anchors: usize) -> Result<GraphLayout, ModelError> {
    let layout = if header.parts.is_empty() {
        let n_sets = header.n_sets.max(1);
        if !n_anchors.is_multiple_of(n_sets) {
            return Err(ModelError::Damaged(format!("{n_anchors} anchors in {n_sets} sets")));
        }
        GraphLayout::single(header.params.graph, n_anchors / n_sets, n_sets)
    } else {
        GraphLayout(header.parts.clone())
    };
    if layout.fits(n_anchors) {
        Ok(layout)
    } else {
        Err(ModelError::Damaged("the parts of its graph make no sense".into()))
    }
}

/// The columns that hold entries, where others were folded into one of the `width` columns.
fn columns_of(
    tensors: &SafeTensors<'_>,
    n_features: Option<usize>,
    width: usize,
) -> Result<Option<StoredColumns>, ModelError> {
    let Some(n_features) = n_features else {
        return Ok(None);
    };
    let view = tensors.tensor("stored_columns").map_err(|e| damaged(&e))?;
    let words = view.data().chunks_exact(8);
    let stored: Option<Vec<usize>> =
        words.map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")).try_into().ok()).collect();
    let columns = stored.and_then(|stored| StoredColumns::new(n_features, stored).ok());
    match columns.filter(|c| view.dtype() == Dtype::U64 && c.width() == width) {
        Some(columns) => Ok(Some(columns)),
        None => Err(ModelError::Damaged("the columns that hold entries make no sense".into())),
    }
}

/// Anchors of several clusters near every anchor, if there are several.
fn rivals(tensors: &SafeTensors<'_>) -> Result<Vec<u32>, ModelError> {
    if !tensors.names().contains(&"anchor_rivals") {
        return Ok(Vec::new());
    }
    let view = tensors.tensor("anchor_rivals").map_err(|e| damaged(&e))?;
    if view.dtype() != Dtype::U32 || view.shape().len() != 2 {
        let text = "array 'anchor_rivals' has another type or shape";
        return Err(ModelError::Damaged(text.into()));
    }
    let words = view.data().chunks_exact(4);
    Ok(words.map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect())
}

/// The error for bytes that cannot be read. The cause may quote the file: its beginning says enough.
fn damaged(cause: &dyn std::fmt::Display) -> ModelError {
    let cause = cause.to_string();
    let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
    let beginning: String = cause.chars().take(SHOWN).map(on_one_line).collect();
    let is_whole = cause.chars().nth(SHOWN).is_none();
    ModelError::Damaged(if is_whole { beginning } else { beginning + "..." })
}

/// Remembered rows, if there are any.
fn exceptions(tensors: &SafeTensors<'_>, k: usize) -> Result<Vec<(u64, u32)>, ModelError> {
    if !tensors.names().contains(&"exception_keys") {
        return Ok(Vec::new());
    }
    let keys = tensors.tensor("exception_keys").map_err(|e| damaged(&e))?;
    let labels = tensors.tensor("exception_labels").map_err(|e| damaged(&e))?;
    if (keys.dtype(), labels.dtype()) != (Dtype::U64, Dtype::U32) || keys.shape() != labels.shape()
    {
        return Err(ModelError::Damaged("remembered rows have another type or shape".into()));
    }
    let keys =
        keys.data().chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    let labels =
        labels.data().chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")));
    let exceptions: Vec<(u64, u32)> = keys.zip(labels).collect();
    if exceptions.iter().any(|e| e.1 as usize >= k) || !exceptions.is_sorted() {
        return Err(ModelError::Damaged("remembered rows make no sense".into()));
    }
    Ok(exceptions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as format 1 wrote it: no parts, no effort, no range of k, no explanation.
    #[test]
    fn headers_of_format_1_are_read() {
        let mut params = serde_json::to_value(Params::new(2)).unwrap();
        let fields = params.as_object_mut().unwrap();
        fields.remove("effort");
        fields.remove("k_range");
        fields.insert("graph".into(), "local".into());
        let text = serde_json::json!({
            "format": 1, "version": "0.1.0", "params": params, "scale": "minmax", "n_sets": 3,
            "ridge": 0.0, "objective": null, "feature_names": [],
        })
        .to_string();
        let header: Header = serde_json::from_str(&text).unwrap();
        let found = layout(&header, 12).unwrap();
        assert_eq!(found, GraphLayout::single(crate::params::GraphKind::Local, 4, 3));
        assert!(layout(&header, 13).is_err());
    }

    /// The bytes of a file as it was written before outliers were scored.
    fn aged(bytes: &[u8]) -> Vec<u8> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
        let text = &metadata.metadata().as_ref().unwrap()[KEY];
        let mut header: serde_json::Value = serde_json::from_str(text).unwrap();
        header.as_object_mut().unwrap().remove("noise_threshold");
        header["params"].as_object_mut().unwrap().remove("noise");
        let tensors = SafeTensors::deserialize(bytes).unwrap();
        let new = ["anchor_reach", "anchor_rivals", "cluster_tail", "cluster_usual"];
        let old: Vec<_> = tensors.iter().filter(|(name, _)| !new.contains(name)).collect();
        assert_eq!(old.len() + new.len(), tensors.len());
        let metadata = HashMap::from([(KEY.to_string(), header.to_string())]);
        safetensors::serialize(old, Some(metadata)).unwrap()
    }

    #[test]
    fn files_that_do_not_say_what_is_usual_still_label_and_score_rows() {
        use crate::fit::fit;
        use crate::params::Noise;
        use crate::{Silent, synthetic};
        let data = synthetic::blobs(400, 3, 3, 0.1, 1);
        let samples = data.matrix.samples().unwrap();
        let params = Params { noise: Some(Noise::Auto), ..Params::new(3) };
        let found = fit(&samples, None, &params, &Silent).unwrap();
        let mut cut = found.model().clone();
        // A frozen state of the cut, whose gains are no shares.
        cut.rule.sizes = vec![130.0, 140.0, 130.0];
        cut.rule.sums = vec![1.0, 1.5, 1.0];
        for model in [found.model(), &cut] {
            let old = Model::from_bytes(&aged(&model.to_bytes().unwrap())).unwrap();
            assert_eq!(old.info().noise_threshold, None);
            let labels = model.on(&samples).unwrap().threads(1).labels().unwrap();
            let rows = old.on(&samples).unwrap().threads(1).rows().unwrap();
            assert!(rows.iter().map(|row| row.label).eq(labels));
            assert!(rows.iter().all(|row| row.outlier.is_finite() && !row.noise));
            assert!(rows.iter().all(|row| (0.0..=1.0).contains(&row.confidence)));
            let proba = old.on(&samples).unwrap().threads(1).probabilities().unwrap();
            for (row, p) in rows.iter().zip(proba.values.chunks_exact(3)) {
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert_eq!(crate::model::rule::best(p), row.label as usize);
            }
        }
    }
}
