//! The bill: traffic times prices, by part.

use anyhow::Context;

use crate::cost::deployment::{Brokers, Deployment, Nodes};
use crate::cost::inputs::{BrokerPrices, Prices, Topics};
use crate::cost::traffic::{LaneTraffic, Traffic, gb};

const MILLION: f64 = 1e6;
/// Availability zones of a network that the deployment creates.
const ZONES: f64 = 3.0;
/// Interface endpoints of a network that the deployment creates: Secrets Manager and Kafka.
const ENDPOINTS: f64 = 2.0;
/// Secrets of a deployment.
const SECRETS: f64 = 2.0;
/// Alarms and metrics with their dimensions, about.
const ALARMS: f64 = 21.0;
const METRICS: f64 = 60.0;
/// Traces that X-Ray samples by default: one a second, and one in twenty beyond that.
const TRACES_A_SECOND: f64 = 1.0;
const TRACES_BEYOND: f64 = 0.05;
/// Seconds that the reconciler runs each minute when there is nothing to do.
const IDLE_CHECK_SECONDS: f64 = 0.1;
/// Seconds of each minute that the scheduler runs.
const TICK_SECONDS: f64 = 59.0;

/// A part of the bill.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) part: &'static str,
    /// Dollars a month, independent of traffic.
    pub(crate) fixed: f64,
    /// Dollars a month for traffic.
    pub(crate) used: f64,
}

/// The parts of the bill.
///
/// # Errors
/// When a size has no price.
pub(crate) fn bill(
    deployment: &Deployment,
    traffic: &Traffic,
    (prices, topics): (&Prices, &Topics),
) -> anyhow::Result<Vec<Line>> {
    Ok(vec![
        api(traffic, prices),
        enqueue(deployment, traffic, prices),
        lane("fast lane", &traffic.fast, prices),
        lane("slow lane", &traffic.slow, prices),
        ticks(deployment, traffic, prices),
        pollers(deployment, prices),
        kafka(deployment, traffic, (prices, topics))?,
        cache(deployment, traffic, prices)?,
        network(deployment, traffic, prices),
        watching(traffic, prices),
    ])
}

fn api(traffic: &Traffic, prices: &Prices) -> Line {
    Line { part: "HTTP API", fixed: 0.0, used: traffic.posts / MILLION * prices.api_million }
}

fn compute(invocations: f64, gb_seconds: f64, prices: &Prices) -> f64 {
    invocations / MILLION * prices.lambda.requests_million + gb_seconds * prices.lambda.gb_second
}

fn enqueue(deployment: &Deployment, traffic: &Traffic, prices: &Prices) -> Line {
    let size = &deployment.functions.enqueue;
    let warm = f64::from(size.provisioned_concurrency) * gb(size.memory) * traffic.month_seconds;
    Line {
        part: "enqueue",
        fixed: warm * prices.lambda.provisioned_gb_second,
        used: compute(traffic.posts, traffic.accept_gb_seconds, prices),
    }
}

fn lane(part: &'static str, lane: &LaneTraffic, prices: &Prices) -> Line {
    Line { part, fixed: 0.0, used: compute(lane.invocations, lane.gb_seconds, prices) }
}

fn ticks(deployment: &Deployment, traffic: &Traffic, prices: &Prices) -> Line {
    let minutes = traffic.month_seconds / 60.0;
    let cost = |memory, seconds| compute(minutes, minutes * seconds * gb(memory), prices);
    let (scheduler, reconciler) = (&deployment.functions.scheduler, &deployment.functions.reconciler);
    let fixed = cost(scheduler.memory, TICK_SECONDS) + cost(reconciler.memory, IDLE_CHECK_SECONDS);
    Line { part: "scheduler, reconciler", fixed, used: 0.0 }
}

fn pollers(deployment: &Deployment, prices: &Prices) -> Line {
    let lanes = [&deployment.functions.fast_lane, &deployment.functions.slow_lane];
    let pollers: f64 =
        lanes.iter().filter_map(|lane| lane.pollers.as_ref()).map(|pollers| f64::from(pollers.min)).sum();
    let units = (pollers / prices.event_pollers_per_unit).ceil();
    Line { part: "event pollers", fixed: units * prices.event_poller_unit_hour * prices.hours_month, used: 0.0 }
}

fn kafka(deployment: &Deployment, traffic: &Traffic, (prices, topics): (&Prices, &Topics)) -> anyhow::Result<Line> {
    let part = "Kafka";
    let kept_gb = traffic.kafka_kept_gb();
    if deployment.kafka.serverless.is_some() {
        let price = &prices.kafka.serverless;
        let an_hour = price.cluster_hour + topics.all_partitions() * price.partition_hour;
        let moved = traffic.kafka_in_gb * price.in_gb + traffic.kafka_out_gb * price.out_gb;
        let used = moved + kept_gb * price.storage_gb_month;
        return Ok(Line { part, fixed: an_hour * prices.hours_month, used });
    }
    let hours = |brokers: &Brokers, price: &BrokerPrices| {
        let an_hour = price.broker_hour.get(&brokers.instance).with_context(|| brokers.instance.clone());
        an_hour.map(|dollars| dollars * f64::from(brokers.count) * prices.hours_month)
    };
    if let Some(brokers) = &deployment.kafka.express {
        let price = &prices.kafka.express;
        let used = traffic.kafka_in_gb * price.in_gb + kept_gb * price.storage_gb_month;
        return Ok(Line { part, fixed: hours(brokers, price)?, used });
    }
    let Some(brokers) = &deployment.kafka.standard else { return Ok(Line { part, fixed: 0.0, used: 0.0 }) };
    let price = &prices.kafka.standard;
    let disks = f64::from(brokers.storage_gb) * f64::from(brokers.count) * price.storage_gb_month;
    Ok(Line { part, fixed: hours(brokers, price)? + disks, used: 0.0 })
}

fn cache(deployment: &Deployment, traffic: &Traffic, prices: &Prices) -> anyhow::Result<Line> {
    let (part, price) = ("cache", &prices.cache);
    if deployment.cache.serverless.is_some() {
        let fixed = price.gb_min * price.gb_hour * prices.hours_month;
        let more_gb = (traffic.stored_gb - price.gb_min).max(0.0);
        let used = more_gb * price.gb_hour * prices.hours_month + traffic.ecpu / MILLION * price.ecpu_million;
        return Ok(Line { part, fixed, used });
    }
    let Some(Nodes { node, shards, replicas }) = &deployment.cache.replication_group else {
        return Ok(Line { part, fixed: 0.0, used: 0.0 });
    };
    let an_hour = price.node_hour.get(node).with_context(|| node.clone())?;
    let nodes = f64::from(*shards) * (1.0 + f64::from(*replicas));
    Ok(Line { part, fixed: an_hour * nodes * prices.hours_month, used: 0.0 })
}

fn network(deployment: &Deployment, traffic: &Traffic, prices: &Prices) -> Line {
    let part = "network";
    let egress = traffic.receivers_gb * prices.egress_gb;
    let Some(network) = &deployment.network.create else { return Line { part, fixed: 0.0, used: egress } };
    let gateways = f64::from(network.nat_gateways) * (prices.nat.gateway_hour + prices.nat.ipv4_hour);
    let endpoints = ENDPOINTS * ZONES * prices.endpoint.zone_hour;
    let fixed = (gateways + endpoints) * prices.hours_month;
    Line { part, fixed, used: egress + traffic.receivers_gb * prices.nat.gb }
}

fn watching(traffic: &Traffic, prices: &Prices) -> Line {
    let invocations = traffic.posts + traffic.fast.invocations + traffic.slow.invocations;
    let first = invocations.min(TRACES_A_SECOND * traffic.month_seconds);
    let traces = first + (invocations - first) * TRACES_BEYOND;
    let metrics = ALARMS * prices.alarm_month + METRICS * prices.metric_month + prices.dashboard_month;
    Line {
        part: "logs, metrics, traces, keys",
        fixed: metrics + SECRETS * prices.secret_month + prices.key_month,
        used: traffic.logs_gb * prices.logs_gb + traces / MILLION * prices.traces_million,
    }
}
