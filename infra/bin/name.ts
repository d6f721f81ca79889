// Prints the name and the region of a deployment, for the scripts.

import { load } from '../lib/settings/load.ts';

const { name, region } = load(process.argv[2] ?? 'howk.yaml');
console.log(process.argv[3] === '--region' ? region : name);
