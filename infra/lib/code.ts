// Where a function's code is: what scripts/build made, or a stand-in where only the template matters.

import * as lambda from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Context key under which tests and `scripts/synth --placeholder` name a folder to use for every function. */
export const CODE_CONTEXT = 'howk:code';

export function codeOf(scope: Construct, name: string): lambda.Code {
    const placeholder = scope.node.tryGetContext(CODE_CONTEXT) as string | undefined;
    const folder = placeholder ?? fileURLToPath(new URL(`../../target/lambda/${name}`, import.meta.url));
    if (!existsSync(`${folder}/bootstrap`)) {
        throw new Error(`${folder}/bootstrap is missing: run infra/scripts/build first`);
    }
    return lambda.Code.fromAsset(folder);
}
