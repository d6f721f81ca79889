// One page: what comes in, what goes out, what waits, what is wrong.

import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Watched } from './alarm-list.ts';
import type { Alarms } from './alarms.ts';
import { MINUTE, own } from './metrics.ts';

const LANES = ['fast-lane', 'slow-lane'] as const;
const WIDTH = 12;

export class Dashboard extends Construct {
    constructor(scope: Construct, watched: Watched, alarms: Alarms) {
        super(scope, 'Dashboard');
        const functions = Object.values(watched.functions.all);
        new cloudwatch.Dashboard(this, 'Page', {
            dashboardName: watched.deployment.name,
            widgets: [
                [new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms: alarms.all, width: 2 * WIDTH })],
                [graph('Webhooks a minute', flow()), graph('Attempts a minute, by outcome', outcomes())],
                [graph('What waits', waiting()), graph('Lag of the lanes', lag())],
                [graph('How long receivers take', durations()), graph('Decisions other than to send', decisions())],
                [
                    graph(
                        'Function errors',
                        functions.map((of) => of.metricErrors({ period: MINUTE })),
                    ),
                    graph(
                        'Function durations, p99',
                        functions.map((of) => of.metricDuration({ period: MINUTE, statistic: 'p99' })),
                    ),
                ],
                [
                    graph(
                        'Concurrent executions',
                        functions.map((of) => of.metric('ConcurrentExecutions', { statistic: 'Maximum', period: MINUTE })),
                    ),
                    graph('API: requests and errors', [
                        watched.api.http.metricCount({ period: MINUTE }),
                        watched.api.http.metricClientError({ period: MINUTE }),
                        watched.api.http.metricServerError({ period: MINUTE }),
                    ]),
                ],
                [graph("Faults of howk's own parts", faults()), graph('API latency', latencies(watched))],
            ],
        });
    }
}

function graph(title: string, left: cloudwatch.IMetric[]): cloudwatch.GraphWidget {
    return new cloudwatch.GraphWidget({ title, left, width: WIDTH, leftYAxis: { min: 0 } });
}

function flow(): cloudwatch.IMetric[] {
    return [
        own({ name: 'received', function: 'enqueue', label: 'accepted' }),
        own({ name: 'released', function: 'scheduler', label: 'released' }),
    ];
}

function outcomes(): cloudwatch.IMetric[] {
    return LANES.flatMap((lane) =>
        ['success', 'failure', 'exhausted'].map((outcome) =>
            own({ name: 'deliveries', function: lane, labels: { outcome }, label: `${lane}: ${outcome}` }),
        ),
    );
}

function waiting(): cloudwatch.IMetric[] {
    return [
        own({ name: 'waiting', function: 'scheduler', statistic: 'Maximum', label: 'waiting' }),
        own({ name: 'due', function: 'scheduler', statistic: 'Maximum', label: 'due' }),
    ];
}

function lag(): cloudwatch.IMetric[] {
    return ['fast', 'slow'].map((lane) =>
        own({ name: 'lag', function: 'scheduler', labels: { lane }, statistic: 'Maximum', label: lane }),
    );
}

function durations(): cloudwatch.IMetric[] {
    return LANES.flatMap((lane) =>
        ['p50', 'p99'].map((statistic) => own({ name: 'duration', function: lane, statistic, label: `${lane}: ${statistic}` })),
    );
}

function decisions(): cloudwatch.IMetric[] {
    const wanted = [
        { decision: 'probed', reason: 'none' },
        { decision: 'duplicate', reason: 'none' },
        { decision: 'redelivered', reason: 'no_time' },
        { decision: 'redelivered', reason: 'store_failed' },
    ];
    return LANES.flatMap((lane) =>
        wanted.map((labels) =>
            own({ name: 'decisions', function: lane, labels, label: `${lane}: ${labels.decision} ${labels.reason}` }),
        ),
    );
}

function faults(): cloudwatch.IMetric[] {
    return LANES.flatMap((lane) =>
        ['transient', 'permanent'].map((kind) =>
            own({ name: 'faults', function: lane, labels: { kind }, label: `${lane}: ${kind}` }),
        ),
    );
}

function latencies({ api }: Watched): cloudwatch.IMetric[] {
    return ['p50', 'p99'].map((statistic) => api.http.metricLatency({ period: MINUTE, statistic, label: statistic }));
}
