// The tick of the scheduler and of the reconciler: each minute, never twice for one minute, never late.

import { Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import { list } from './function-list.ts';
import type { Functions } from './functions.ts';
import type { Deployment } from './settings/deployment.ts';

export class Schedules extends Construct {
    constructor(scope: Construct, functions: Functions, deployment: Deployment) {
        super(scope, 'Schedules');
        const group = new scheduler.ScheduleGroup(this, 'Group', { scheduleGroupName: deployment.name });
        const role = this.role(functions).withoutPolicyUpdates();
        for (const { function: name, rate_ms, retries, event_age_ms, input } of list.schedules) {
            new scheduler.Schedule(this, name, {
                scheduleName: `${deployment.name}-${name}`,
                scheduleGroup: group,
                description: `howk: the tick of ${name}`,
                schedule: scheduler.ScheduleExpression.rate(Duration.millis(rate_ms)),
                target: new LambdaInvoke(functions.all[name], {
                    input: scheduler.ScheduleTargetInput.fromObject(input),
                    role,
                    deadLetterQueue: functions.deadLetters,
                    retryAttempts: retries,
                    maxEventAge: Duration.millis(event_age_ms),
                }),
            });
        }
    }

    /** CDK's own role may also invoke every version; this one invokes what the schedules name. */
    private role({ all, deadLetters }: Functions): iam.Role {
        const role = new iam.Role(this, 'Role', {
            assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
                conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
            }),
        });
        const ticked = [all.scheduler.functionArn, all.reconciler.functionArn];
        role.addToPolicy(new iam.PolicyStatement({ sid: 'Tick', actions: ['lambda:InvokeFunction'], resources: ticked }));
        role.addToPolicy(
            new iam.PolicyStatement({ sid: 'Missed', actions: ['sqs:SendMessage'], resources: [deadLetters.queueArn] }),
        );
        return role;
    }
}
