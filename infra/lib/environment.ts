// HOWK_* for a function: what the stack knows, then the `howk:` part of howk.yaml. Secrets go by their ARNs.

import type { FunctionSpec } from './catalogue.ts';
import { LANE_SOURCES } from './catalogue.ts';
import type { DataStack } from './data-stack.ts';
import { type Deployment, type LaneName, isPartial } from './settings/deployment.ts';
import { flattened } from './settings/own.ts';
import { reference } from './settings/reference.ts';

/** Lambda's limit for names and values together. */
const BYTES_MAX = 4096;

/** The variable of a setting, as the reference names it. */
export function variableOf(key: string): string {
    const setting = reference.get(key);
    if (setting === undefined) {
        throw new Error(`settings.md has no ${key}: write it anew, see README.md`);
    }
    return setting.variable;
}

/** What a function reads a secret setting from: the variable with _ARN behind it. */
export function secretVariableOf(key: string): string {
    return `${variableOf(key)}_ARN`;
}

/** The variables of a function. */
export function environmentOf(spec: FunctionSpec, deployment: Deployment, data: DataStack): Record<string, string> {
    const settings = new Map<string, unknown>([
        ...ofOwn(spec, deployment),
        ...ofKafka(spec, data),
        ...ofCache(spec, data),
        ...ofFunction(spec, deployment),
    ]);
    const variables = [...settings].map(([key, value]) => [variableOf(key), shown(value)] as const);
    const secrets = spec.secrets.map((key) => [secretVariableOf(key), data.secrets.secrets[key].secretArn] as const);
    const environment = Object.fromEntries([...variables, ...secrets].sort(([a], [b]) => (a < b ? -1 : 1)));
    const bytes = Object.entries(environment).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (bytes > BYTES_MAX) {
        throw new Error(`the variables of ${spec.name} have ${bytes} bytes; Lambda takes ${BYTES_MAX}: shorten the howk: part`);
    }
    return environment;
}

/** The `howk:` part; settings of the API go only to the function that serves it. */
function ofOwn({ adapters }: FunctionSpec, { howk }: Deployment): [string, unknown][] {
    const servesApi = adapters.includes('http-api');
    const keys = [...flattened(howk)].filter(([key]) => servesApi || !key.startsWith('api.'));
    return servesApi ? [['api.auth', 'keys'], ...keys] : keys;
}

function ofKafka({ adapters }: FunctionSpec, { kafka }: DataStack): [string, unknown][] {
    return adapters.includes('log-kafka')
        ? [
              ['kafka.auth', 'iam'],
              ['kafka.cluster_arn', kafka.arns.cluster],
          ]
        : [];
}

function ofCache({ adapters }: FunctionSpec, { cache }: DataStack): [string, unknown][] {
    return adapters.includes('store-redis')
        ? [
              ['redis.addr', cache.address],
              ['redis.auth', 'iam'],
              ['redis.cluster', true],
              ['redis.iam_cache', cache.cacheName],
              ['redis.iam_serverless', cache.isServerless],
              ['redis.tls', true],
              ['redis.username', cache.user],
          ]
        : [];
}

function ofFunction({ name }: FunctionSpec, { functions }: Deployment): [string, unknown][] {
    const all: [string, unknown][] = [
        ['lambda.timeout', `${functions[name].timeout}s`],
        ['log.format', 'json'],
    ];
    if (!(name in LANE_SOURCES)) {
        return all;
    }
    const lane = functions[name as LaneName];
    return [...all, ['delivery.concurrency', lane.concurrency], ['lambda.partial_responses', isPartial(lane)]];
}

/** Variables hold lists with commas, and maps as JSON. */
function shown(value: unknown): string {
    if (Array.isArray(value)) {
        return value.join(',');
    }
    return typeof value === 'string' ? value : JSON.stringify(value);
}
