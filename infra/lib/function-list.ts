// functions.json, the one list of functions with what feeds them, which `howk-local` and the tests run too.

import { readFileSync } from 'node:fs';
import type { FunctionName, LaneName } from './settings/deployment.ts';

export interface ListedFunction {
    readonly name: FunctionName;
    readonly memory_mb: number;
    readonly timeout_ms: number;
    /** Of lanes: requests that one invocation has under way. */
    readonly concurrency?: number;
    /** How often a failed asynchronous invocation is tried again, and how old its event may become. */
    readonly retries?: number;
    readonly event_age_ms?: number;
}

export interface ListedSource {
    readonly function: LaneName;
    readonly topic: string;
    readonly batch_size: number;
    readonly window_ms: number;
    readonly pollers: number;
    readonly report_batch_item_failures: boolean;
    readonly bisect: boolean;
}

export interface ListedSchedule {
    readonly function: TickedName;
    readonly rate_ms: number;
    readonly retries: number;
    readonly event_age_ms: number;
    readonly input: Readonly<Record<string, string>>;
}

/** What runs by the clock. */
export type TickedName = 'scheduler' | 'reconciler';

export interface FunctionList {
    readonly functions: readonly ListedFunction[];
    readonly event_sources: readonly ListedSource[];
    readonly schedules: readonly ListedSchedule[];
}

export const list = JSON.parse(readFileSync(new URL('../functions.json', import.meta.url), 'utf8')) as FunctionList;
