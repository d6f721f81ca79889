// The examples, synthesised once for all tests.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Template } from 'aws-cdk-lib/assertions';
import { build, type Built } from '../lib/app.ts';
import type { Deployment } from '../lib/settings/deployment.ts';
import { parse } from '../lib/settings/load.ts';

export const EXAMPLES = ['howk', 'small', 'medium', 'existing-cluster'] as const;
export type Example = (typeof EXAMPLES)[number];

export const infra = fileURLToPath(new URL('..', import.meta.url));

export interface Synthesised extends Built {
    readonly deployment: Deployment;
    /** By the part after the deployment's name: `data` or `functions`. */
    readonly templates: { readonly data: Template; readonly functions: Template };
    /** The files of the templates. */
    readonly files: readonly string[];
    readonly seconds: number;
}

/** Where templates are written, until the tests end. */
const written = mkdtempSync(join(tmpdir(), 'howk-infra-'));
process.on('exit', () => rmSync(written, { recursive: true, force: true }));

const cached = new Map<Example, Synthesised>();

export function fileOf(example: Example): string {
    return join(infra, example === 'howk' ? 'howk.yaml' : `examples/${example}.yaml`);
}

/** Throws when a setting is wrong, or when cdk-nag finds what is not acknowledged. */
export function synthesised(example: Example): Synthesised {
    const known = cached.get(example);
    if (known !== undefined) {
        return known;
    }
    const fresh = synthesise(parse(readFileSync(fileOf(example), 'utf8'), example));
    cached.set(example, fresh);
    return fresh;
}

export function synthesise(deployment: Deployment): Synthesised {
    const started = performance.now();
    const outdir = mkdtempSync(join(written, 'cdk.out-'));
    const built = build(deployment, { code: join(infra, 'test/placeholder'), outdir });
    const assembly = built.app.synth();
    const stacks = {
        data: assembly.getStackByName(built.data.stackName),
        functions: assembly.getStackByName(built.functions.stackName),
    };
    const templates = { data: Template.fromJSON(stacks.data.template), functions: Template.fromJSON(stacks.functions.template) };
    const files = Object.values(stacks).map(({ templateFullPath }) => templateFullPath);
    return { ...built, deployment, templates, files, seconds: (performance.now() - started) / 1000 };
}
