// howk.yaml against howk.schema.json: every error, in words that say what to change.

import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import type { Deployment } from './deployment.ts';
import type { ValidationError } from './validation-error.ts';

const schema = JSON.parse(readFileSync(new URL('../../howk.schema.json', import.meta.url), 'utf8')) as object;
const validate = new Ajv({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    strict: true,
    strictTypes: false,
}).compile<Deployment>(schema);

/** Fills in the defaults, in place. Empty when the document is a deployment. */
export function errorsOfShape(document: unknown): ValidationError[] {
    if (validate(document)) {
        return [];
    }
    return (validate.errors ?? []).filter(({ keyword }) => keyword !== 'oneOf').map(explained);
}

function explained(error: ErrorObject): ValidationError {
    const path = error.instancePath.slice(1).replaceAll('/', '.') || 'the file';
    const params = error.params as Record<string, unknown>;
    switch (error.keyword) {
        case 'additionalProperties':
            return {
                path,
                problem: `"${params['additionalProperty']}" is unknown; remove it, or see howk.schema.json for its name`,
            };
        case 'required':
            return { path, problem: `"${params['missingProperty']}" is missing; add it` };
        case 'enum':
            return { path, problem: `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}` };
        case 'minProperties':
        case 'maxProperties':
            return { path, problem: `name exactly one of ${choices(error)}` };
        default:
            return { path, problem: `${error.message}; it is ${JSON.stringify(error.data)}` };
    }
}

function choices(error: ErrorObject): string {
    const section = error.instancePath.slice(1);
    const { properties } = schema as { properties: Record<string, { properties: object }> };
    return Object.keys(properties[section]?.properties ?? {}).join(', ');
}
