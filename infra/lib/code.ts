// Where a function's code is: what functions/build made, or a stand-in where only the template matters.

import * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Context key under which tests and `scripts/synth --placeholder` name a folder to use for every function. */
export const CODE_CONTEXT = 'howk:code';

/** Where `functions/build arm64` leaves the functions: below Cargo's target folder. */
function built(name: string): string {
    const root = fileURLToPath(new URL('../..', import.meta.url));
    return resolve(root, process.env['CARGO_TARGET_DIR'] ?? 'target', 'lambda/arm64', name);
}

export function codeOf(scope: Construct, name: string): lambda.Code {
    const placeholder = scope.node.tryGetContext(CODE_CONTEXT) as string | undefined;
    const folder = placeholder ?? built(name);
    if (!existsSync(`${folder}/bootstrap`)) {
        throw new Error(`${folder}/bootstrap is missing: run infra/scripts/build first`);
    }
    return lambda.Code.fromAsset(folder);
}
