// Makes missing topics and verifies existing ones. It never deletes a topic, and never changes one that an operator may have tuned.

export interface TopicSpec {
    readonly name: string;
    readonly partitions: number;
    readonly config: Readonly<Record<string, string>>;
}

export interface FoundTopic {
    readonly partitions: number;
    readonly config: Readonly<Record<string, string>>;
}

export interface TopicAdmin {
    /** The topics of these names that exist. */
    find(names: readonly string[]): Promise<ReadonlyMap<string, FoundTopic>>;
    /** Makes topics; one that another process made meanwhile is no error. */
    create(topics: readonly TopicSpec[]): Promise<void>;
}

/** Settings that howk relies on. cleanup.policy can be set only when a topic is made. */
const EXACT = 'cleanup.policy';
const AT_LEAST = 'max.message.bytes';

/** Throws one error that lists every topic that is not what howk relies on. */
export async function ensure(admin: TopicAdmin, topics: readonly TopicSpec[]): Promise<void> {
    const names = topics.map(({ name }) => name);
    const before = await admin.find(names);
    const missing = topics.filter(({ name }) => !before.has(name));
    if (missing.length > 0) {
        await admin.create(missing);
    }
    const after = await admin.find(names);
    const errors = topics.flatMap((topic) => errorsOf(topic, after.get(topic.name)));
    if (errors.length > 0) {
        throw new Error(errors.join('; '));
    }
}

function errorsOf(wanted: TopicSpec, found: FoundTopic | undefined): string[] {
    const { name } = wanted;
    if (found === undefined) {
        return [`${name} does not exist and was not made`];
    }
    const errors = [];
    if (found.partitions < wanted.partitions) {
        errors.push(`${name} has ${found.partitions} partitions, but howk is set up for ${wanted.partitions}: add some`);
    }
    if (found.config[EXACT] !== wanted.config[EXACT]) {
        errors.push(
            `${name} has ${EXACT}=${found.config[EXACT]}, but howk relies on ${wanted.config[EXACT]}: delete and recreate it`,
        );
    }
    if (Number(found.config[AT_LEAST]) < Number(wanted.config[AT_LEAST])) {
        errors.push(
            `${name} has ${AT_LEAST}=${found.config[AT_LEAST]}, but records may have ${wanted.config[AT_LEAST]} bytes: raise it`,
        );
    }
    return errors;
}
