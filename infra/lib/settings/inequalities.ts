// What must hold between settings, so that a deployment that cannot work fails at synth and says what to change.

import { type Deployment, type Lane, type LaneName, isPartial } from './deployment.ts';
import type { ValidationError } from './validation-error.ts';
import { count, seconds } from './own.ts';
import { partitionsOf, topics } from '../topic-list.ts';

/** MB that a function needs for itself, with its Kafka and Redis clients. */
const BASE_MB = 64;
/** MB that a batch needs: 6 MB of event, its text, its bytes and its records. */
const EVENT_MB = 4 * 6;
/** MB that a request under way needs: a TLS connection, the payload, the bounded answer. */
const REQUEST_MB = 1;
/** Seconds that must be left after a request's timeout for a lane to begin it: the domain's SETTLE_MARGIN. */
export const SETTLE_SECONDS = 5;
/** Seconds that a lane needs beside its requests and lambda.deadline_margin: a cold start, the records; lambda-kit's START_TIME. */
export const START_SECONDS = 2;
/** Seconds in which a lane without partial responses republishes the records it has no time for: lambda-kit's REPUBLISH_TIME. */
export const REPUBLISH_SECONDS = 5;
/** Seconds that an event source mapping waits for a function. */
const INVOCATION_SECONDS_MAX = 840;
/** What one poller group takes. */
const GROUP_POLLERS_MAX = 2000;
/** Compacted partitions of one MSK Serverless cluster. */
const SERVERLESS_COMPACTED_MAX = 120;
/** Connections per broker under IAM. */
const CONNECTIONS_MAX = 3000;
/** Bytes that Lambda takes from an API, and what the envelope around a base64 body needs. */
const LAMBDA_BODY_BYTES = 6 * 1024 * 1024;
const ENVELOPE_BYTES = 64 * 1024;

type Check = (deployment: Deployment) => ValidationError[];

/** Every inequality that does not hold. */
export function errorsOfInequalities(deployment: Deployment): ValidationError[] {
    const checks: Check[] = [timings, memory, pollers, modes, concurrency, ticks, bodies, brokers, zones];
    return checks.flatMap((check) => check(deployment));
}

const LANES: readonly LaneName[] = ['fast-lane', 'slow-lane'];

function ofLanes(
    functions: Deployment['functions'],
    problem: (lane: Lane, name: LaneName) => string | undefined,
): ValidationError[] {
    return LANES.flatMap((name) => {
        const found = problem(functions[name], name);
        return found === undefined ? [] : [{ path: `functions.${name}`, problem: found }];
    });
}

function when(holds: boolean, path: string, problem: string): ValidationError[] {
    return holds ? [] : [{ path, problem }];
}

function timings({ howk, functions }: Deployment): ValidationError[] {
    const longest = seconds(howk, 'delivery.timeout');
    return ofLanes(functions, (lane, name) => {
        const { timeout, batch, concurrency } = lane;
        const [republish, otherwise] = isPartial(lane)
            ? [0, 'refuses every batch']
            : [REPUBLISH_SECONDS, 'refuses every batch or has no time to publish the rest of it again'];
        const margin = seconds(howk, 'lambda.deadline_margin') + SETTLE_SECONDS + START_SECONDS + republish;
        const key = name === 'fast-lane' ? 'delivery.fast_timeout' : 'delivery.timeout';
        const rounds = Math.ceil(batch / concurrency);
        const needed = rounds * seconds(howk, key) + margin;
        if (timeout > INVOCATION_SECONDS_MAX) {
            return `timeout ${timeout} s is more than the ${INVOCATION_SECONDS_MAX} s that an event source mapping waits; lower it`;
        }
        if (timeout < longest + margin) {
            return (
                `timeout ${timeout} s is less than howk.delivery.timeout ${longest} s with ${margin} s of margin, without which ` +
                `a lane ${otherwise}; raise timeout, or lower howk.delivery.timeout`
            );
        }
        return timeout >= needed
            ? undefined
            : `batch ${batch} / concurrency ${concurrency} is ${rounds} rounds of howk.${key}, with ${margin} s of margin ` +
                  `${needed} s, but timeout is ${timeout} s; raise timeout or concurrency, or lower batch or howk.${key}`;
    });
}

function memory(deployment: Deployment): ValidationError[] {
    return ofLanes(deployment.functions, (lane) => {
        const needed = BASE_MB + EVENT_MB + REQUEST_MB * lane.concurrency;
        return lane.memory >= needed
            ? undefined
            : `concurrency ${lane.concurrency} needs ${needed} MB, but memory is ${lane.memory}; raise memory or lower concurrency`;
    });
}

function pollers(deployment: Deployment): ValidationError[] {
    const max = LANES.map((name) => deployment.functions[name].pollers?.max ?? 0).reduce((a, b) => a + b);
    const group = when(
        max <= GROUP_POLLERS_MAX,
        'functions',
        `the lanes' pollers.max add up to ${max}, but their group takes ${GROUP_POLLERS_MAX}; lower one`,
    );
    const own = ofLanes(deployment.functions, ({ pollers }, name) => {
        const partitions = partitionsOf(name === 'fast-lane' ? 'howk.pending' : 'howk.slow');
        if (pollers === null || (pollers.min <= pollers.max && pollers.max <= partitions)) {
            return undefined;
        }
        return pollers.max > partitions
            ? `pollers.max ${pollers.max} is more than the ${partitions} partitions of its topic, which is all that can be used; lower it`
            : `pollers.min ${pollers.min} is more than pollers.max ${pollers.max}; swap them`;
    });
    return [...group, ...own];
}

function modes(deployment: Deployment): ValidationError[] {
    return ofLanes(deployment.functions, ({ pollers, partial_responses, bisect }) => {
        const wanted = Object.entries({ partial_responses, bisect }).filter(([, on]) => on === true);
        return pollers !== null || wanted.length === 0
            ? undefined
            : `${wanted.map(([name]) => name).join(' and ')} needs provisioned mode, but pollers is null; set pollers, or remove it`;
    });
}

function concurrency(deployment: Deployment): ValidationError[] {
    const { enqueue } = deployment.functions;
    const left = deployment.account_concurrency - 100;
    const reserved = enqueue.reserved_concurrency + 2;
    return [
        ...when(
            reserved <= left,
            'functions.enqueue.reserved_concurrency',
            `with one each for scheduler and reconciler ${reserved} are reserved, but AWS keeps 100 of account_concurrency ` +
                `${deployment.account_concurrency} unreserved; lower it, or raise the account's limit`,
        ),
        ...when(
            enqueue.provisioned_concurrency <= enqueue.reserved_concurrency,
            'functions.enqueue.provisioned_concurrency',
            `${enqueue.provisioned_concurrency} is more than reserved_concurrency ${enqueue.reserved_concurrency}; lower it`,
        ),
        ...when(
            enqueue.reserved_concurrency <= CONNECTIONS_MAX,
            'functions.enqueue.reserved_concurrency',
            `${enqueue.reserved_concurrency} processes connect to each broker, which takes ${CONNECTIONS_MAX} with IAM; lower it`,
        ),
        ...when(
            enqueue.timeout <= 30,
            'functions.enqueue.timeout',
            `${enqueue.timeout} s is more than the 30 s that the HTTP API waits; lower it`,
        ),
    ];
}

function ticks(deployment: Deployment): ValidationError[] {
    const { timeout } = deployment.functions.scheduler;
    return when(
        timeout > 5 && timeout <= 60,
        'functions.scheduler.timeout',
        `${timeout} s is not between 6 and 60: it runs until its end, and a tick starts each minute; set 60`,
    );
}

function bodies(deployment: Deployment): ValidationError[] {
    const max = count(deployment.howk, 'api.max_request_size');
    const fits = Math.floor(((LAMBDA_BODY_BYTES - ENVELOPE_BYTES) * 3) / 4);
    return when(
        max <= fits,
        'howk.api.max_request_size',
        `${max} bytes in base64 are more than the 6 MB that Lambda takes; set ${fits} or less`,
    );
}

function brokers(deployment: Deployment): ValidationError[] {
    const compacted = topics.filter(({ config }) => config['cleanup.policy'] === 'compact');
    const partitions = compacted.map((topic) => topic.partitions).reduce((a, b) => a + b, 0);
    return when(
        deployment.kafka.serverless === undefined || partitions <= SERVERLESS_COMPACTED_MAX,
        'kafka.serverless',
        `topics.json has ${partitions} compacted partitions, but MSK Serverless takes ${SERVERLESS_COMPACTED_MAX}; ` +
            'use kafka.standard, or lower the partitions',
    );
}

function zones({ network: { existing } }: Deployment): ValidationError[] {
    if (existing === undefined) {
        return [];
    }
    const lengths = [existing.zones, existing.egress_subnet_ids, existing.isolated_subnet_ids].map((list) => list.length);
    return when(
        new Set(lengths).size === 1,
        'network.existing',
        `zones, egress_subnet_ids and isolated_subnet_ids have ${lengths.join(', ')} entries; name one subnet of each kind per zone`,
    );
}
