// The five functions: what each is for, which adapters its crate names, and what it does with them.
//
// A test holds `adapters` equal to the function's Cargo.toml, and grants follow from the adapters: what a crate does not
// name, its function may not reach.

import type { FunctionName, LaneName } from './settings/deployment.ts';
import type { SecretName } from './secrets.ts';

/** The adapters that reach something outside the process. */
export type Adapter = 'log-kafka' | 'store-redis' | 'sender-http' | 'vault-xchacha' | 'http-api';

export interface FunctionSpec {
    readonly name: FunctionName;
    readonly description: string;
    readonly adapters: readonly Adapter[];
    /** Topics that it publishes to. */
    readonly writes: readonly string[];
    /** Topics that it reads, without a consumer group. */
    readonly reads: readonly string[];
    /** Topics that it only asks for their extent. */
    readonly describes: readonly string[];
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
        adapters: ['http-api', 'log-kafka', 'store-redis', 'vault-xchacha'],
        // Webhooks and replays; decisions of owners.
        writes: ['howk.pending', 'howk.state'],
        // A dead letter that is shown or replayed.
        reads: ['howk.deadletter'],
        describes: [],
        watches: [],
        secrets: ['api.keys', 'secrets.key'],
    },
    {
        name: 'fast-lane',
        description: 'Delivers; what takes long goes on in the slow lane',
        adapters: DELIVERY,
        writes: SETTLED,
        reads: [],
        describes: ['howk.pending'],
        watches: [],
        secrets: ['secrets.key'],
    },
    {
        name: 'slow-lane',
        description: 'Delivers to slow and busy endpoints, with patience',
        adapters: DELIVERY,
        writes: SETTLED.filter((topic) => topic !== 'howk.slow'),
        reads: [],
        describes: ['howk.pending'],
        watches: [],
        secrets: ['secrets.key'],
    },
    {
        name: 'scheduler',
        description: 'Releases what is due, probes gates, measures backlogs',
        adapters: ['log-kafka', 'sender-http', 'store-redis'],
        writes: ['howk.pending', 'howk.slow'],
        reads: [],
        describes: [],
        watches: ['fast-lane', 'slow-lane'],
        secrets: [],
    },
    {
        name: 'reconciler',
        description: 'Rebuilds Redis from the log when it is lost',
        adapters: ['log-kafka', 'store-redis'],
        writes: [],
        reads: ['howk.deadletter', 'howk.results', 'howk.state'],
        describes: ['howk.pending'],
        watches: [],
        secrets: [],
    },
];

/** The topics that a function publishes to: a lane in on-demand mode hands back by publishing again. */
export function writesOf(spec: FunctionSpec, handsBack: boolean): string[] {
    const own = spec.name in LANE_SOURCES ? [LANE_SOURCES[spec.name as LaneName].topic] : [];
    return [...new Set([...spec.writes, ...(handsBack ? own : [])])].sort();
}
