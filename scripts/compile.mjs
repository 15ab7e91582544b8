// Loads the sources once, so that Node keeps their compiled code for the tests. They start at the same time, and each of
// their processes would compile everything: two seconds of CPU. A fault is reported by the test that loads it again.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** None of them does anything when it is loaded. */
const MODULES = ['packages/*/src/index.ts', 'packages/bridges/src/*/index.ts', 'packages/bulkhead/src/{cli,facade}/*.ts']
/** Bundles the sources for processes that tests start, if they have changed. */
const BUNDLE = 'packages/bulkhead/test/bundled.ts'

await Promise.allSettled(globSync([...MODULES, BUNDLE], { cwd: root }).map((file) => import(join(root, file))))
process.exit()
