// howk's own metrics, as shared/lambda-kit writes them: namespace `howk`, the function and the labels as dimensions.

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';

export const NAMESPACE = 'howk';
export const MINUTE = Duration.minutes(1);

/** The names that shared/delivery/src/observe.rs gives; a test holds them equal. */
export const NAMES = {
    received: 'howk_webhooks_received_total',
    deliveries: 'howk_deliveries_total',
    duration: 'howk_delivery_duration_seconds',
    waiting: 'howk_retry_queue_depth',
    due: 'howk_retry_due',
    lag: 'howk_lane_lag',
    decisions: 'howk_decisions_total',
    undecodable: 'howk_undecodable_records_total',
    released: 'howk_released_total',
    faults: 'howk_faults_total',
} as const;

export interface Wanted {
    readonly name: keyof typeof NAMES;
    readonly function: string;
    readonly labels?: Record<string, string>;
    readonly statistic?: string;
    readonly label?: string;
}

export function own({ name, function: of, labels, statistic, label }: Wanted): cloudwatch.Metric {
    return new cloudwatch.Metric({
        namespace: NAMESPACE,
        metricName: NAMES[name],
        dimensionsMap: { function: of, ...labels },
        statistic: statistic ?? 'Sum',
        period: MINUTE,
        ...(label !== undefined && { label }),
    });
}

/** The sum of metrics, where one that says nothing counts as 0. */
export function sum(metrics: readonly cloudwatch.IMetric[], label: string): cloudwatch.IMetric {
    const usingMetrics = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
    const expression = Object.keys(usingMetrics)
        .map((id) => `FILL(${id}, 0)`)
        .join(' + ');
    return new cloudwatch.MathExpression({ expression, usingMetrics, label, period: MINUTE });
}
