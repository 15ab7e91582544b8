import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Verification results, for the hosts of all tests of this process. Without it, each host verifies the bundled tools again. */
export const CACHE = mkdtempSync(join(tmpdir(), 'bulkhead-cache-'))
process.once('exit', () => rmSync(CACHE, { recursive: true, force: true }))
// The test runner ends its processes with this signal.
process.once('SIGTERM', () => process.exit())
