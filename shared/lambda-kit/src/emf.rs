//! Metrics as lines in `CloudWatch`'s embedded metric format, which the platform turns into metrics.
//!
//! The recorder keeps what was counted since the last flush; the end of each invocation flushes it. Counters are written
//! as what was added, gauges as they stand, histograms as their values. One document holds one set of dimensions, so
//! each set of labels has a line of its own. Absent: percentiles, which `CloudWatch` takes from the values.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use domain::Timestamp;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_util::registry::{AtomicStorage, Registry};
use serde_json::{Map, Value, json};

/// The namespace of the metrics.
const NAMESPACE: &str = "howk";
/// The most values that one metric may have in one document: the format's own bound.
const VALUES_MAX: usize = 100;

/// The labels of a set of metrics, by name.
type Labels = BTreeMap<String, String>;
/// The values of metrics, by name.
type Values = BTreeMap<String, Value>;

/// What was counted, shared by the recorder and the code that flushes it.
#[derive(Clone)]
pub struct Emf {
    function: &'static str,
    registry: Arc<Registry<Key, AtomicStorage>>,
    units: Arc<Mutex<BTreeMap<String, Unit>>>,
}

/// The recorder to install.
pub struct EmfRecorder(Emf);

impl Emf {
    /// Starts with nothing counted. `function` is a dimension of every metric.
    pub fn new(function: &'static str) -> Self {
        Self { function, registry: Arc::new(Registry::atomic()), units: Arc::default() }
    }

    /// The recorder that counts here.
    pub fn recorder(&self) -> EmfRecorder {
        EmfRecorder(self.clone())
    }

    /// Writes what was counted since the last flush, one line for each set of labels; nothing when there is nothing.
    ///
    /// # Errors
    /// When the writer fails; what was not written is lost.
    pub fn flush(&self, now: Timestamp, request_id: &str, mut writer: impl Write) -> io::Result<()> {
        let mut lines = String::new();
        for (labels, values) in self.take() {
            for part in parts(values) {
                let document = self.document((now, request_id), &labels, &part);
                lines.push_str(&document.to_string());
                lines.push('\n');
            }
        }
        // In one write, so that no log line of another thread stands between two of them.
        writer.write_all(lines.as_bytes())?;
        writer.flush()
    }

    fn take(&self) -> BTreeMap<Labels, Values> {
        let mut taken: BTreeMap<Labels, Values> = BTreeMap::new();
        let mut add = |key: &Key, value: Value| {
            let labels = key.labels().map(|label| (label.key().to_owned(), label.value().to_owned()));
            taken.entry(labels.collect()).or_default().insert(key.name().to_owned(), value);
        };
        self.registry.visit_counters(|key, counter| match counter.swap(0, Ordering::Relaxed) {
            0 => {}
            count => add(key, json!(count)),
        });
        self.registry.visit_gauges(|key, gauge| add(key, json!(f64::from_bits(gauge.load(Ordering::Relaxed)))));
        self.registry.visit_histograms(|key, histogram| {
            let mut values = Vec::new();
            histogram.clear_with(|block| values.extend_from_slice(block));
            if !values.is_empty() {
                add(key, json!(values));
            }
        });
        taken
    }

    fn document(&self, (now, request_id): (Timestamp, &str), labels: &Labels, values: &Values) -> Value {
        let dimensions: Vec<&str> = std::iter::once("function").chain(labels.keys().map(String::as_str)).collect();
        let metrics: Vec<Value> =
            values.keys().map(|name| json!({ "Name": name, "Unit": self.unit_of(name) })).collect();
        let mut document = Map::new();
        let directive = json!({ "Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": metrics });
        document.insert("_aws".to_owned(), json!({ "Timestamp": now.as_ms(), "CloudWatchMetrics": [directive] }));
        document.insert("function".to_owned(), json!(self.function));
        document.insert("requestId".to_owned(), json!(request_id));
        document.extend(labels.iter().map(|(name, value)| (name.clone(), json!(value))));
        document.extend(values.iter().map(|(name, value)| (name.clone(), value.clone())));
        Value::Object(document)
    }

    fn unit_of(&self, name: &str) -> &'static str {
        match self.units.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            Some(Unit::Seconds) => "Seconds",
            Some(Unit::Milliseconds) => "Milliseconds",
            Some(Unit::Bytes) => "Bytes",
            Some(_) | None => "Count",
        }
    }

    fn record_unit(&self, name: &KeyName, unit: Option<Unit>) {
        if let Some(unit) = unit {
            let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
            units.insert(name.as_str().to_owned(), unit);
        }
    }
}

/// The same values in documents that are within the format's bounds: what is too long goes on in the next one.
fn parts(values: Values) -> Vec<Values> {
    let mut parts = vec![Values::new()];
    for (name, value) in values {
        let chunks = match value {
            Value::Array(list) => list.chunks(VALUES_MAX).map(|chunk| json!(chunk)).collect(),
            single @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                vec![single]
            }
        };
        for (index, chunk) in chunks.into_iter().enumerate() {
            match parts.get_mut(index) {
                Some(part) => drop(part.insert(name.clone(), chunk)),
                None => parts.push(Values::from([(name.clone(), chunk)])),
            }
        }
    }
    parts
}

impl Recorder for EmfRecorder {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _description: SharedString) {
        self.0.record_unit(&name, unit);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _description: SharedString) {
        self.0.record_unit(&name, unit);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _description: SharedString) {
        self.0.record_unit(&name, unit);
    }

    fn register_counter(&self, key: &Key, _metadata: &Metadata<'_>) -> Counter {
        self.0.registry.get_or_create_counter(key, |counter| Counter::from_arc(Arc::clone(counter)))
    }

    fn register_gauge(&self, key: &Key, _metadata: &Metadata<'_>) -> Gauge {
        self.0.registry.get_or_create_gauge(key, |gauge| Gauge::from_arc(Arc::clone(gauge)))
    }

    fn register_histogram(&self, key: &Key, _metadata: &Metadata<'_>) -> Histogram {
        self.0.registry.get_or_create_histogram(key, |histogram| Histogram::from_arc(Arc::clone(histogram)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_769_860_800_123);

    fn flushed(emf: &Emf) -> Vec<Value> {
        let mut written = Vec::new();
        emf.flush(NOW, "request-7", &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn each_set_of_labels_is_one_document_and_counters_start_again() {
        let emf = Emf::new("fast-lane");
        metrics::with_local_recorder(&emf.recorder(), || {
            metrics::counter!("sent", "lane" => "fast").increment(2);
            metrics::counter!("sent", "lane" => "fast").increment(1);
            metrics::gauge!("depth").set(4.0);
            metrics::describe_histogram!("took", Unit::Seconds, "How long it took.");
            metrics::histogram!("took").record(0.25);
        });
        let documents = flushed(&emf);
        let document = |dimensions: &[&str], names: &[(&str, &str)]| {
            let metrics: Vec<_> = names.iter().map(|(name, unit)| json!({ "Name": name, "Unit": unit })).collect();
            let directive = json!({ "Namespace": "howk", "Dimensions": [dimensions], "Metrics": metrics });
            json!({ "_aws": { "Timestamp": NOW.as_ms(), "CloudWatchMetrics": [directive] },
                "function": "fast-lane", "requestId": "request-7" })
        };
        let mut plain = document(&["function"], &[("depth", "Count"), ("took", "Seconds")]);
        plain["depth"] = json!(4.0);
        plain["took"] = json!([0.25]);
        let mut labelled = document(&["function", "lane"], &[("sent", "Count")]);
        labelled["lane"] = json!("fast");
        labelled["sent"] = json!(3);
        assert_eq!(documents, [plain, labelled]);
        let again = flushed(&emf);
        assert_eq!(again.len(), 1, "only the gauge stands: {again:?}");
        assert_eq!(again[0]["depth"], json!(4.0));
    }

    #[test]
    fn more_values_than_a_document_may_hold_go_on_in_the_next() {
        let emf = Emf::new("slow-lane");
        metrics::with_local_recorder(&emf.recorder(), || {
            metrics::counter!("sent").increment(1);
            (0..250).for_each(|_| metrics::histogram!("took").record(1.5));
        });
        let documents = flushed(&emf);
        let lengths: Vec<_> = documents.iter().map(|one| one["took"].as_array().map(Vec::len)).collect();
        assert_eq!(lengths, [Some(100), Some(100), Some(50)]);
        assert_eq!(documents.iter().filter(|one| one.get("sent").is_some()).count(), 1);
        assert!(flushed(&emf).is_empty());
    }
}
