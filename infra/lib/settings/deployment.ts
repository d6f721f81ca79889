// The shape of howk.yaml once howk.schema.json has filled in its defaults.

export interface Deployment {
    readonly name: string;
    readonly region: string;
    readonly keep_data: boolean;
    readonly account_concurrency: number;
    readonly network: { readonly create?: CreatedNetwork; readonly existing?: ExistingNetwork };
    readonly kafka: KafkaChoice;
    readonly cache: CacheChoice;
    readonly api: Api;
    readonly functions: Functions;
    readonly observability: Observability;
    readonly howk: Readonly<Record<string, unknown>>;
}

export interface CreatedNetwork {
    readonly cidr: string;
    readonly nat_gateways: number;
}

export interface ExistingNetwork {
    readonly vpc_id: string;
    readonly zones: string[];
    readonly egress_subnet_ids: string[];
    readonly isolated_subnet_ids: string[];
    readonly endpoints: boolean;
}

export interface KafkaChoice {
    readonly standard?: ExpressKafka & { readonly storage_gb: number };
    readonly express?: ExpressKafka;
    readonly serverless?: object;
    readonly existing?: ExistingKafka;
}

export interface ExpressKafka {
    readonly instance: string;
    readonly brokers: number;
    readonly version: string;
}

export interface ExistingKafka {
    readonly cluster_arn: string;
    readonly security_group_id: string;
    readonly topics: 'create' | 'present';
}

export interface CacheChoice {
    readonly serverless?: { readonly storage_gb_max: number; readonly ecpu_per_second_max: number };
    readonly replication_group?: ReplicationGroup;
    readonly existing?: ExistingCache;
}

export interface ReplicationGroup {
    readonly node: string;
    readonly shards: number;
    readonly replicas: number;
    readonly durability: string;
}

export interface ExistingCache {
    readonly address: string;
    readonly security_group_id: string;
    readonly cache_name: string;
    readonly serverless: boolean;
    readonly user: string;
}

export interface Api {
    readonly rate: number;
    readonly burst: number;
    readonly domain?: { readonly name: string; readonly certificate_arn: string };
}

export interface Sizes {
    readonly memory: number;
    readonly timeout: number;
}

export interface Lane extends Sizes {
    readonly concurrency: number;
    readonly batch: number;
    readonly window: number;
    readonly pollers: { readonly min: number; readonly max: number } | null;
    readonly partial_responses?: boolean;
    readonly bisect?: boolean;
}

/** Whether failed records of a lane come again alone. */
export function isPartial({ pollers, partial_responses }: Lane): boolean {
    return partial_responses ?? pollers !== null;
}

export interface Functions {
    readonly enqueue: Sizes & { readonly reserved_concurrency: number; readonly provisioned_concurrency: number };
    readonly 'fast-lane': Lane;
    readonly 'slow-lane': Lane;
    readonly scheduler: Sizes;
    readonly reconciler: Sizes;
}

export type FunctionName = keyof Functions;
export type LaneName = 'fast-lane' | 'slow-lane';

export interface Observability {
    readonly log_days: number;
    readonly alarm_email?: string;
    readonly lag_max: number;
    readonly due_max: number;
}
