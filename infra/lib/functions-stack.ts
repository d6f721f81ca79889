// What comes and goes with a release: the functions and everything that calls or watches them.

import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Alarms } from './alarms.ts';
import { Api } from './api.ts';
import { Dashboard } from './dashboard.ts';
import type { DataStack } from './data-stack.ts';
import { EventSources } from './event-sources.ts';
import { Functions } from './functions.ts';
import { Schedules } from './schedules.ts';
import type { Deployment } from './settings/deployment.ts';

export class FunctionsStack extends Stack {
    constructor(scope: Construct, deployment: Deployment, data: DataStack, props: StackProps) {
        super(scope, deployment.name, props);
        const parts = { deployment, data };
        const functions = new Functions(this, parts);
        const sources = new EventSources(this, functions, parts);
        new Schedules(this, functions, deployment);
        const api = new Api(this, functions.all.enqueue, parts);
        const watched = { ...parts, functions, sources, api };
        new Dashboard(this, watched, new Alarms(this, watched));
    }
}
