// The alarms of alarm-list.ts, and the SNS topic that they notify.

import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import * as sns from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { alarms, type AlarmSpec, type Watched } from './alarm-list.ts';

export class Alarms extends Construct {
    readonly all: cloudwatch.Alarm[];

    constructor(scope: Construct, watched: Watched) {
        super(scope, 'Alarms');
        const { deployment, data } = watched;
        const topic = new sns.Topic(this, 'Topic', {
            topicName: `${deployment.name}-alarms`,
            masterKey: data.secrets.key,
            enforceSSL: true,
        });
        const email = deployment.observability.alarm_email;
        if (email !== undefined) {
            topic.addSubscription(new EmailSubscription(email));
        }
        this.all = alarms(watched).map((spec) => this.alarm(spec, deployment.name, topic));
    }

    private alarm(spec: AlarmSpec, deployment: string, topic: sns.Topic): cloudwatch.Alarm {
        const { ComparisonOperator, TreatMissingData } = cloudwatch;
        const alarm = new cloudwatch.Alarm(this, spec.name, {
            alarmName: `${deployment}-${spec.name}`,
            alarmDescription: `${spec.means} What to do: ${spec.remedy}`,
            metric: spec.metric,
            threshold: spec.threshold,
            evaluationPeriods: spec.minutes,
            comparisonOperator: spec.below ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_THRESHOLD,
            treatMissingData: spec.silence ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
        });
        alarm.addAlarmAction(new SnsAction(topic));
        return alarm;
    }
}
