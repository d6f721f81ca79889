// Policies as sorted lines that a person can read: `Allow ACTION on RESOURCE`.

import type { Template } from 'aws-cdk-lib/assertions';

interface Statement {
    readonly Effect: string;
    readonly Action: string | string[];
    readonly Resource: unknown;
    readonly Condition?: Record<string, Record<string, unknown>>;
}

/** The lines of every policy by the logical id of the role that it is attached to, without the ids' hashes. */
export function grantsByRole(template: Template): Map<string, string[]> {
    const grants = new Map<string, string[]>();
    for (const { Properties } of Object.values(template.findResources('AWS::IAM::Policy'))) {
        const { Roles, PolicyDocument } = Properties as { Roles: unknown[]; PolicyDocument: { Statement: Statement[] } };
        for (const role of Roles.map(readable)) {
            grants.set(role, [...(grants.get(role) ?? []), ...PolicyDocument.Statement.flatMap(lines)].sort());
        }
    }
    return grants;
}

function lines({ Effect, Action, Resource, Condition }: Statement): string[] {
    const where = Condition === undefined ? '' : ` when ${conditions(Condition)}`;
    return list(Action).flatMap((action) =>
        list(Resource).map((resource) => `${Effect} ${String(action)} on ${readable(resource)}${where}`),
    );
}

function conditions(condition: Record<string, Record<string, unknown>>): string {
    return Object.values(condition)
        .flatMap((keys) => Object.entries(keys).map(([key, value]) => `${key} is ${readable(value)}`))
        .join(' and ');
}

function list(value: unknown): unknown[] {
    return Array.isArray(value) ? value : [value];
}

/** Whatever CloudFormation has for an ARN, as what it stands for. */
export function readable(value: unknown): string {
    if (typeof value === 'string') {
        return value.replace(
            /^arn:aws:kafka:[^/]*:(topic|group|cluster)\/[^/]*\/[^/]*\/?(.*)$/,
            (_, kind: string, name: string) => `${kind} ${name}`.trim(),
        );
    }
    const [[intrinsic, argument] = ['', '']] = Object.entries(value as Record<string, unknown>);
    switch (intrinsic) {
        case 'Ref':
            return String(argument).replace(/[0-9A-F]{8}$/, '');
        case 'Fn::GetAtt':
            return readable({ Ref: (argument as string[])[0] });
        case 'Fn::ImportValue':
            return String(argument).replace(/^.*:ExportsOutput(Ref|FnGetAtt)([A-Za-z]+?)[0-9A-F]{8}.*$/, '$2');
        case 'Fn::Join':
            return joined((argument as [string, unknown[]])[1]);
        default:
            return JSON.stringify(value);
    }
}

function joined(parts: unknown[]): string {
    const kind = parts.find((part) => part === ':topic/' || part === ':group/');
    if (kind !== undefined) {
        return `${String(kind).slice(1, -1)} ${String(parts.at(-1)).slice(1)}`;
    }
    return parts
        .map((part) => (typeof part === 'string' ? part : `<${readable(part)}>`))
        .join('')
        .replace(/^arn:<AWS::Partition>:/, '');
}
