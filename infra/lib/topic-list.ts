// topics.json, the one list of topics.

import { readFileSync } from 'node:fs';

export interface Topic {
    readonly name: string;
    readonly partitions: number;
    readonly config: Readonly<Record<string, string>>;
}

export const topics: readonly Topic[] = (
    JSON.parse(readFileSync(new URL('../topics.json', import.meta.url), 'utf8')) as { topics: Topic[] }
).topics;

/** The partitions of a topic; 0 when there is none of that name. */
export function partitionsOf(name: string): number {
    return topics.find((topic) => topic.name === name)?.partitions ?? 0;
}

/** The topic settings that Express and Serverless accept: they manage segments themselves. */
const SETTABLE = ['cleanup.policy', 'max.message.bytes', 'retention.ms'];
/** The largest record that Serverless accepts. */
const SERVERLESS_RECORD_BYTES = 8 * 1024 * 1024;

/** A topic's settings on the kind of cluster that it lives on. */
export function configFor(topic: Topic, kind: 'standard' | 'express' | 'serverless'): Record<string, string> {
    if (kind === 'standard') {
        return { ...topic.config };
    }
    const config = Object.fromEntries(Object.entries(topic.config).filter(([name]) => SETTABLE.includes(name)));
    const bytes = Number(config['max.message.bytes']);
    if (kind === 'serverless' && bytes > SERVERLESS_RECORD_BYTES) {
        config['max.message.bytes'] = String(SERVERLESS_RECORD_BYTES);
    }
    return config;
}
