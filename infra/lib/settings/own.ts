// The `howk:` part of howk.yaml: howk's own settings, checked against its reference.

import { ignored, isAllowed, milliseconds, reference } from './reference.ts';
import type { ValidationError } from './validation-error.ts';

/** Keys that the stack sets itself, and where their values come from. */
const OF_THE_STACK: Readonly<Record<string, string>> = {
    'delivery.concurrency': 'set functions.fast-lane.concurrency and functions.slow-lane.concurrency instead',
    'kafka.auth': 'the stack signs in with IAM',
    'kafka.brokers': 'the stack names the cluster',
    'kafka.cluster_arn': 'the stack names the cluster',
    'kafka.tls': 'the stack signs in with IAM, which is encrypted',
    'lambda.partial_responses': 'set functions.fast-lane.partial_responses and functions.slow-lane.partial_responses instead',
    'lambda.timeout': 'set functions.<name>.timeout instead',
    'log.format': 'functions write JSON',
    'redis.addr': 'the stack names the cache',
    'redis.auth': 'the stack logs in with IAM',
    'redis.cluster': 'the stack knows the cache',
    'redis.iam_cache': 'the stack names the cache',
    'redis.iam_serverless': 'the stack knows the cache',
    'redis.tls': 'the stack logs in with IAM, which is encrypted',
    'redis.username': 'the stack makes the user',
};

/** Sections that only the server reads. */
const OF_THE_SERVER = ['memory.', 'metrics.', 'api.host', 'api.port'];

/** Flattens nested sections to keys of the reference; maps that are values of a key stay whole. */
export function flattened(section: object, prefix = ''): Map<string, unknown> {
    const keys = new Map<string, unknown>();
    for (const [name, value] of Object.entries(section)) {
        const key = `${prefix}${name}`;
        const isKey = reference.has(key) || ignored.has(key);
        const isSection = typeof value === 'object' && value !== null && !Array.isArray(value) && !isKey;
        for (const [inner, leaf] of isSection ? flattened(value as object, `${key}.`) : [[key, value] as const]) {
            keys.set(inner, leaf);
        }
    }
    return keys;
}

/** Every error of the `howk:` part. */
export function errorsOfOwn(section: object): ValidationError[] {
    return [...flattened(section)].flatMap(([key, value]) => {
        const problem = problemOf(key, value);
        return problem === undefined ? [] : [{ path: `howk.${key}`, problem }];
    });
}

function problemOf(key: string, value: unknown): string | undefined {
    const reason = ignored.get(key);
    if (reason !== undefined) {
        return `remove it: howk ignores it, since ${reason}`;
    }
    const setting = reference.get(key);
    if (setting === undefined) {
        return 'is no setting of howk; see settings.md';
    }
    if (OF_THE_STACK[key] !== undefined) {
        return `remove it: ${OF_THE_STACK[key]}`;
    }
    if (isSecret(key)) {
        return 'remove it: secrets belong in Secrets Manager, see README.md';
    }
    if (OF_THE_SERVER.some((prefix) => key.startsWith(prefix))) {
        return 'remove it: only the server reads it';
    }
    return isAllowed(setting, value) ? undefined : `${JSON.stringify(value)} is not ${setting.allowed}`;
}

/** Whether a key's value must not be shown. API keys are hashes, but their ids name the tenants, which stay private too. */
export function isSecret(key: string): boolean {
    return key === 'api.keys' || (reference.get(key)?.allowed.includes('a secret') ?? false);
}

/** A duration of the `howk:` part, or the reference's default, in seconds. */
export function seconds(section: object, key: string): number {
    return (milliseconds(String(valueOf(section, key))) ?? 0) / 1000;
}

/** A number of the `howk:` part, or the reference's default. */
export function count(section: object, key: string): number {
    return Number(valueOf(section, key));
}

/** A value of the `howk:` part, or the reference's default. */
export function valueOf(section: object, key: string): unknown {
    return flattened(section).get(key) ?? reference.get(key)?.preset;
}
