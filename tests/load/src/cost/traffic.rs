//! The traffic of a month at a steady rate.

use crate::cost::deployment::{Deployment, Lane};
use crate::cost::inputs::{Measured, Topics};

/// Invocations that one poller has under way at most.
const INVOCATIONS_PER_POLLER: f64 = 5.0;
/// Iterations until the size of a batch and its duration agree; they depend on each other.
const ROUNDS: usize = 50;
const BYTES_PER_GB: f64 = 1e9;
const MB_PER_GB: f64 = 1024.0;
/// MB of memory with which a function has one virtual CPU, which is all that its one thread can use.
const MB_PER_CPU: f64 = 1769.0;
/// Seconds that Kafka keeps records.
const KEPT_SECONDS: f64 = 7.0 * 86_400.0;

/// The load of a deployment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Webhooks a second.
    pub(crate) rate: f64,
    /// Seconds that receivers take.
    pub(crate) latency: f64,
    /// Requests of a webhook.
    pub(crate) attempts: f64,
    /// Webhooks of a POST.
    pub(crate) per_post: f64,
    /// Bytes of a payload.
    pub(crate) payload_bytes: f64,
    /// Seconds of a month.
    pub(crate) month_seconds: f64,
}

/// A month.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) month_seconds: f64,
    pub(crate) webhooks: f64,
    pub(crate) posts: f64,
    /// GB-seconds of enqueue.
    pub(crate) accept_gb_seconds: f64,
    pub(crate) fast: LaneTraffic,
    pub(crate) slow: LaneTraffic,
    pub(crate) kafka_in_gb: f64,
    pub(crate) kafka_out_gb: f64,
    pub(crate) receivers_gb: f64,
    pub(crate) ecpu: f64,
    pub(crate) stored_gb: f64,
    pub(crate) logs_gb: f64,
}

/// A lane's month.
#[derive(Debug)]
pub(crate) struct LaneTraffic {
    pub(crate) name: &'static str,
    pub(crate) invocations: f64,
    pub(crate) gb_seconds: f64,
    /// Invocations at once, on average.
    pub(crate) at_once: f64,
    /// Invocations at once that its pollers and partitions allow.
    pub(crate) slots: f64,
}

impl Traffic {
    /// The data that Kafka keeps, one copy of it.
    pub(crate) fn kafka_kept_gb(&self) -> f64 {
        self.kafka_in_gb * KEPT_SECONDS / self.month_seconds
    }

    /// The traffic of a load. Requests that take receivers longer than the fast lane's timeout go through both lanes: the
    /// fast lane diverts them, once the endpoint is known as slow.
    pub(crate) fn of(load: &Load, deployment: &Deployment, (measured, topics): (&Measured, &Topics)) -> Self {
        let webhooks = load.rate * load.month_seconds;
        let requests = webhooks * load.attempts;
        let is_slow = load.latency > deployment.fast_timeout();
        let settle = measured.settle_milliseconds.value / 1e3;
        let cpu = measured.cpu_milliseconds_per_webhook.value / 1e3;
        let (fast, slow) = (&deployment.functions.fast_lane, &deployment.functions.slow_lane);
        let rate = load.rate * load.attempts;
        let fast_work = Work { rate, send: if is_slow { 0.0 } else { load.latency }, settle, cpu };
        let slow_work = Work {
            rate: if is_slow { rate } else { 0.0 },
            send: load.latency.min(deployment.slow_timeout()),
            settle,
            cpu,
        };
        let hops = if is_slow { 2.0 } else { 1.0 };
        let record = load.payload_bytes + measured.record_overhead_bytes.value;
        let scripts = measured.redis_scripts_per_webhook.value * load.attempts;
        let posts = webhooks / load.per_post;
        let accept_seconds = posts * measured.accept_milliseconds.value / 1e3;
        Self {
            month_seconds: load.month_seconds,
            webhooks,
            posts,
            accept_gb_seconds: accept_seconds * gb(deployment.functions.enqueue.memory),
            fast: fast_work.in_lane("fast lane", fast, (topics.partitions("howk.pending"), load.month_seconds)),
            slow: slow_work.in_lane("slow lane", slow, (topics.partitions("howk.slow"), load.month_seconds)),
            kafka_in_gb: requests * (record * hops + measured.result_bytes.value) / BYTES_PER_GB,
            kafka_out_gb: requests * record * hops / BYTES_PER_GB,
            receivers_gb: requests * (load.payload_bytes + measured.request_overhead_bytes.value) / BYTES_PER_GB,
            ecpu: webhooks * scripts * measured.redis_script_microseconds.value
                / measured.redis_command_microseconds.value,
            stored_gb: load.rate * deployment.kept() * measured.redis_bytes_per_webhook.value / BYTES_PER_GB,
            logs_gb: webhooks * measured.log_bytes_per_webhook.value / BYTES_PER_GB,
        }
    }
}

/// The work of a lane.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Records a second.
    rate: f64,
    /// Seconds of a request.
    send: f64,
    /// Seconds of a batch beside its requests.
    settle: f64,
    /// CPU seconds of a record.
    cpu: f64,
}

impl Work {
    /// The month of a lane. Records gather while all its invocations are under way, so a busier lane has larger
    /// batches: a batch holds the records that arrive during one invocation, or within the window if that is longer.
    fn in_lane(self, name: &'static str, lane: &Lane, (partitions, month_seconds): (f64, f64)) -> LaneTraffic {
        let pollers = lane.pollers.as_ref().map_or(partitions, |pollers| f64::from(pollers.max));
        let slots = partitions.min(pollers * INVOCATIONS_PER_POLLER);
        let (most, window) = (f64::from(lane.batch), f64::from(lane.window));
        // The longer of the two: waiting for receivers, and the work meanwhile, with the CPU share that the memory gives.
        let work = self.cpu / (f64::from(lane.memory) / MB_PER_CPU).min(1.0);
        let waiting = |batch: f64| (batch / f64::from(lane.concurrency)).ceil() * self.send;
        let takes = |batch: f64| self.settle + waiting(batch).max(batch * work);
        let mut batch = 1.0_f64;
        for _ in 0..ROUNDS {
            batch = (self.rate * takes(batch).max(window) / slots).clamp(1.0, most);
        }
        let a_second = self.rate / batch;
        LaneTraffic {
            name,
            invocations: a_second * month_seconds,
            gb_seconds: a_second * takes(batch) * gb(lane.memory) * month_seconds,
            at_once: a_second * takes(batch),
            slots,
        }
    }
}

/// MB as GB.
pub(crate) fn gb(memory_mb: u32) -> f64 {
    f64::from(memory_mb) / MB_PER_GB
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::deployment::Pollers;

    fn lane(memory: u32, concurrency: u32) -> Lane {
        Lane { memory, concurrency, batch: concurrency, window: 0, pollers: Some(Pollers { min: 1, max: 24 }) }
    }

    /// Dollars of compute per million sends, in batches as large as the concurrency.
    fn per_million(lane: &Lane, send: f64) -> f64 {
        let work = Work { rate: 1e6, send, settle: 0.0, cpu: 0.0 };
        work.in_lane("lane", lane, (24.0, 1.0)).gb_seconds * 0.000_013_333_4
    }

    #[test]
    fn compute_costs_memory_times_latency_over_concurrency() {
        for (memory, concurrency, send, dollars) in [
            (256, 1, 0.1, 0.33),
            (512, 1, 2.0, 13.33),
            (512, 10, 2.0, 1.33),
            (512, 50, 2.0, 0.27),
            (512, 200, 10.0, 0.33),
        ] {
            let found = per_million(&lane(memory, concurrency), send);
            assert!((found - dollars).abs() < 0.006, "{memory} MB, {concurrency} at once, {send} s: {found}");
        }
    }

    #[test]
    fn a_batch_takes_as_long_as_its_work_with_the_cpu_of_its_memory() {
        let lane = lane(512, 100);
        let seconds =
            |cpu| Work { rate: 1e6, send: 0.1, settle: 0.0, cpu }.in_lane("lane", &lane, (24.0, 1.0)).gb_seconds;
        assert!((seconds(0.000_2) - seconds(0.0)).abs() < 1e-6, "a hundred are worked off while receivers answer");
        let longer = seconds(0.001) / seconds(0.0);
        assert!((longer - 1769.0 / 512.0).abs() < 1e-6, "{longer}");
    }

    #[test]
    fn a_quiet_lane_runs_single_records_and_a_busy_one_fills_its_batches() {
        let lane = lane(512, 50);
        let quiet = Work { rate: 1.0, send: 0.1, settle: 0.0, cpu: 0.0 }.in_lane("lane", &lane, (24.0, 100.0));
        assert!((quiet.invocations - 100.0).abs() < 1e-6, "{quiet:?}");
        let busy = Work { rate: 9_600.0, send: 0.1, settle: 0.0, cpu: 0.0 }.in_lane("lane", &lane, (24.0, 100.0));
        assert!((busy.at_once - busy.slots).abs() < 1e-6 && busy.invocations < 25_000.0, "{busy:?}");
        let flooded = Work { rate: 96_000.0, send: 0.1, settle: 0.0, cpu: 0.0 }.in_lane("lane", &lane, (24.0, 1.0));
        assert!(flooded.at_once > flooded.slots, "{flooded:?}");
    }
}
