// One process, so that each example is synthesised once.
import './settings.test.ts';
import './inequalities.test.ts';
import './functions.test.ts';
import './resources.test.ts';
import './options.test.ts';
import './grants.test.ts';
import './environment.test.ts';
import './event-sources.test.ts';
import './alarms.test.ts';
import './nag.test.ts';
import './snapshots.test.ts';
import './lint.test.ts';
import './topics.test.ts';
import './committed.test.ts';
