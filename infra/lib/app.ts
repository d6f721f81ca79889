// A deployment as a CDK app: two stacks, checked by cdk-nag.

import { App, Tags, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { acknowledge } from './acknowledgements.ts';
import { CODE_CONTEXT } from './code.ts';
import { DataStack } from './data-stack.ts';
import { FunctionsStack } from './functions-stack.ts';
import type { Deployment } from './settings/deployment.ts';

export interface Built {
    readonly app: App;
    readonly data: DataStack;
    readonly functions: FunctionsStack;
}

export interface BuildOptions {
    /** A folder with a `bootstrap` to stand in for every function. */
    readonly code?: string;
    readonly outdir?: string;
}

export function build(deployment: Deployment, { code, outdir }: BuildOptions = {}): Built {
    const app = new App({
        analyticsReporting: false,
        ...(outdir !== undefined && { outdir }),
        context: {
            // The data stack cannot lose what the functions stack uses.
            '@aws-cdk/core:defaultCrossStackReferences': 'strong',
            ...(code !== undefined && { [CODE_CONTEXT]: code }),
        },
    });
    const props = { env: { region: deployment.region } };
    const data = new DataStack(app, deployment, { ...props, description: `howk ${deployment.name}: what lasts` });
    const functions = new FunctionsStack(app, deployment, data, {
        ...props,
        description: `howk ${deployment.name}: functions, API, schedules, alarms`,
    });
    Tags.of(app).add('howk', deployment.name);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
    acknowledge(app);
    return { app, data, functions };
}
