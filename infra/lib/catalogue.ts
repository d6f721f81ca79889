// The five functions: what each is for, which adapters its crate names, and what it does with them.
//
// A test holds `adapters` equal to the function's Cargo.toml, and grants follow from the adapters: what a crate does not
// name, its function may not reach.

import type { FunctionName, LaneName } from './settings/deployment.ts';
import type { SecretName } from './secrets.ts';

/** The adapters, as `wiring` has a feature for each. */
export type Adapter = 'log-kafka' | 'store-redis' | 'sender-http' | 'vault-xchacha' | 'http-api';

export interface FunctionSpec {
    readonly name: FunctionName;
    readonly description: string;
    readonly adapters: readonly Adapter[];
    /** Whether it sends requests, rather than only checking their URLs. */
    readonly calls: boolean;
    /** Topics that it publishes to. */
    readonly writes: readonly string[];
    /** Topics that it reads, without a consumer group. */
    readonly reads: readonly string[];
    /** Lanes whose lag it asks for. */
    readonly watches: readonly LaneName[];
    readonly secrets: readonly SecretName[];
}

/** What a lane's event source mapping reads, and as whom. */
export const LANE_SOURCES: Readonly<Record<LaneName, { readonly topic: string; readonly suffix: string }>> = {
    'fast-lane': { topic: 'howk.pending', suffix: '' },
    'slow-lane': { topic: 'howk.slow', suffix: '-slow' },
};

const DELIVERY: readonly Adapter[] = ['log-kafka', 'sender-http', 'store-redis', 'vault-xchacha'];
const SETTLED = ['howk.deadletter', 'howk.results', 'howk.slow', 'howk.state'];

export const FUNCTIONS: readonly FunctionSpec[] = [
    {
        name: 'enqueue',
        description: 'The HTTP API: 202 once the log has the webhook',
        adapters: ['http-api', ...DELIVERY],
        calls: false,
        // Webhooks and replays; decisions of owners.
        writes: ['howk.pending', 'howk.state'],
        // A dead letter that is shown or replayed.
        reads: ['howk.deadletter'],
        watches: [],
        secrets: ['api.keys', 'secrets.key'],
    },
    {
        name: 'fast-lane',
        description: 'Delivers; what takes long goes on in the slow lane',
        adapters: DELIVERY,
        calls: true,
        writes: SETTLED,
        reads: [],
        watches: [],
        secrets: ['secrets.key'],
    },
    {
        name: 'slow-lane',
        description: 'Delivers to slow and busy endpoints, with the full timeout',
        adapters: DELIVERY,
        calls: true,
        writes: SETTLED.filter((topic) => topic !== 'howk.slow'),
        reads: [],
        watches: [],
        secrets: ['secrets.key'],
    },
    {
        name: 'scheduler',
        description: 'Releases what is due, probes cooldowns, measures backlogs',
        adapters: DELIVERY,
        // Health URLs.
        calls: true,
        writes: ['howk.pending', 'howk.slow'],
        reads: [],
        watches: ['fast-lane', 'slow-lane'],
        secrets: [],
    },
    {
        name: 'reconciler',
        description: 'Rebuilds Redis from the log when it is lost',
        adapters: ['log-kafka', 'store-redis'],
        calls: false,
        writes: [],
        reads: ['howk.deadletter', 'howk.results', 'howk.state'],
        watches: [],
        secrets: [],
    },
];

/** The topics that a function publishes to: a lane in on-demand mode republishes the records it has no time for. */
export function writesOf(spec: FunctionSpec, republishes: boolean): string[] {
    const own = spec.name in LANE_SOURCES ? [LANE_SOURCES[spec.name as LaneName].topic] : [];
    return [...new Set([...spec.writes, ...(republishes ? own : [])])].sort();
}
