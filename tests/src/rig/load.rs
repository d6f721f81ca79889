//! The webhooks of a run: drawn from a seed, posted until each is accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::WebhookId;
use futures::stream::{self, StreamExt};
use parking_lot::Mutex;
use testkit::random::SeededRandom;
use tokio::sync::watch;

use crate::rig::installation::Installation;
use crate::rig::receiver::{Behaviour, Receiver};

/// Tenants that post.
const TENANTS: usize = 64;
/// Webhooks in one request.
const BATCH: usize = 10;
/// Callers at once.
const CALLERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(100);
/// Webhooks of one endpoint that fails: few, so that its circuit does not hold them up for long.
const PER_FAILING_ENDPOINT: usize = 6;

/// What a webhook must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A 2xx.
    Delivered,
    /// A dead letter.
    Dead,
}

/// A webhook to post.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Where it goes.
    pub url: String,
    /// How that behaves.
    pub behaviour: Behaviour,
    /// How many requests it may cost.
    pub max_attempts: u32,
    /// What must become of it.
    pub end: End,
}

/// A webhook that was answered 202.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The id of the answer.
    pub id: WebhookId,
    /// What was posted.
    pub planned: Planned,
}

/// Draws the webhooks of a run.
///
/// # Panics
/// Never.
pub fn plan(seed: u64, count: usize, receiver: &Receiver) -> Vec<Planned> {
    let random = SeededRandom::new(seed);
    (0..count).map(|number| draw(&random, number, receiver)).collect()
}

fn draw(random: &SeededRandom, number: usize, receiver: &Receiver) -> Planned {
    let (behaviour, max_attempts, end) = match random.below(100) {
        0..12 => (Behaviour::Fails(1 + u32::try_from(random.below(4)).unwrap()), 20, End::Delivered),
        12..15 => (Behaviour::Broken, 1 + u32::try_from(random.below(3)).unwrap(), End::Dead),
        15..18 => (Behaviour::Throttles, 20, End::Delivered),
        18..21 => (Behaviour::Refuses, 20, End::Dead),
        21..23 => (Behaviour::Gone, 20, End::Dead),
        23..24 => (Behaviour::Hangs, 2, End::Dead),
        24..27 => (Behaviour::Slow, 20, End::Delivered),
        27..29 => (Behaviour::Down, 2, End::Dead),
        29..32 => (Behaviour::Suffers, 100, End::Delivered),
        _ => (Behaviour::Takes, 20, End::Delivered),
    };
    let endpoint = match behaviour {
        Behaviour::Takes => number % 200,
        Behaviour::Suffers => number % 5,
        // A 410 disables its endpoint, and other webhooks to it would be held until an operator enables it.
        Behaviour::Gone => number,
        Behaviour::Fails(_)
        | Behaviour::Broken
        | Behaviour::Throttles
        | Behaviour::Refuses
        | Behaviour::Hangs
        | Behaviour::Slow
        | Behaviour::TakesAfter(_)
        | Behaviour::Down => number / (PER_FAILING_ENDPOINT * 100),
    };
    // Spread over the run, so that a share of each kind meets every fault.
    let endpoint = if behaviour == Behaviour::Gone { endpoint } else { endpoint * 64 + number % 64 % 8 };
    Planned { url: receiver.url(behaviour, endpoint), behaviour, max_attempts, end }
}

/// So many webhooks of one kind, over so many endpoints.
pub fn alike(receiver: &Receiver, like: &Planned, (count, endpoints): (usize, usize)) -> Vec<Planned> {
    let at = |number: usize| Planned { url: receiver.url(like.behaviour, number % endpoints), ..like.clone() };
    (0..count).map(at).collect()
}

impl Planned {
    /// One that is to be delivered, within 20 attempts.
    pub const fn delivered(behaviour: Behaviour) -> Self {
        Self { url: String::new(), behaviour, max_attempts: 20, end: End::Delivered }
    }

    /// One that is to be given up after so many attempts.
    pub const fn dead(behaviour: Behaviour, max_attempts: u32) -> Self {
        Self { url: String::new(), behaviour, max_attempts, end: End::Dead }
    }
}

/// Posts what was planned.
#[derive(Debug)]
pub struct Load {
    /// What the keys of a run begin with.
    pub name: String,
    /// What is posted.
    pub planned: Vec<Planned>,
    /// How many may be posted by now.
    pub allowed: watch::Receiver<usize>,
    /// Requests that got no 202.
    pub refused: AtomicU64,
}

impl Load {
    /// Posts everything, each batch again and again until it is accepted. What got no answer may have been accepted, so
    /// it is sent with the same keys.
    ///
    /// # Panics
    /// When an answer is not what the interface promises.
    pub async fn post(&self, client: &reqwest::Client, howk: &dyn Installation) -> Vec<Accepted> {
        let accepted = Arc::new(Mutex::new(Vec::with_capacity(self.planned.len())));
        let batches = self.planned.chunks(BATCH).enumerate();
        stream::iter(batches)
            .for_each_concurrent(CALLERS, |(number, batch)| {
                let accepted = Arc::clone(&accepted);
                async move {
                    let mut allowed = self.allowed.clone();
                    allowed.wait_for(|allowed| number * BATCH < *allowed).await.unwrap();
                    let ids = self.post_batch(client, howk, (number, batch)).await;
                    let of_batch = ids.into_iter().zip(batch.iter().cloned());
                    accepted.lock().extend(of_batch.map(|(id, planned)| Accepted { id, planned }));
                }
            })
            .await;
        std::mem::take(&mut *accepted.lock())
    }

    async fn post_batch(
        &self,
        client: &reqwest::Client,
        howk: &dyn Installation,
        (number, batch): (usize, &[Planned]),
    ) -> Vec<WebhookId> {
        let items: Vec<_> =
            batch.iter().enumerate().map(|(index, planned)| self.item(number, index, planned)).collect();
        let body = serde_json::json!({ "webhooks": items }).to_string();
        for turn in number.. {
            let url = format!("{}/webhooks/tenant-{}/enqueue/batch", howk.api(turn), number % TENANTS);
            let answered = client.post(url).body(body.clone()).send().await;
            if let Ok(answer) = answered
                && answer.status() == 202
                && let Ok(text) = answer.text().await
            {
                return ids(&text);
            }
            self.refused.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PAUSE).await;
        }
        Vec::new()
    }

    fn item(&self, batch: usize, index: usize, planned: &Planned) -> serde_json::Value {
        serde_json::json!({
            "endpoint": planned.url,
            "payload": { "batch": batch, "index": index, "text": "a payload of the usual size, more or less" },
            "idempotency_key": format!("{}-{batch}-{index}", self.name),
            "max_attempts": planned.max_attempts,
        })
    }
}

/// The ids of an answer, in the order of the request.
fn ids(answer: &str) -> Vec<WebhookId> {
    let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
    let items = answer["webhooks"].as_array().unwrap();
    items.iter().map(|item| WebhookId::parse(item["webhook_id"].as_str().unwrap()).unwrap()).collect()
}
