import { hash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Verification results, for the hosts of all tests of this process. Without it, each host verifies the bundled tools
 * again.
 */
export const CACHE = mkdtempSync(join(tmpdir(), 'bulkhead-cache-'))
// Commands without a home folder keep theirs below the cache folder of the user. Here it is the same.
mkdirSync(join(CACHE, 'bulkhead'), { mode: 0o700 })
symlinkSync(CACHE, join(CACHE, 'bulkhead/proven'))
process.once('exit', () => rmSync(CACHE, { recursive: true, force: true }))
// The test runner ends its processes with this signal.
process.once('SIGTERM', () => process.exit())

/** The results for the bundled tools, as the loader names the file, and those of trials of walls. */
const SHARED = [`${hash('sha512', 'bundled').slice(0, 32)}.index`, 'trials.json', 'walls.json']

/**
 * Gives a home folder, if it exists, the results for the bundled tools and the walls. Getting them takes most of the
 * time of a command.
 */
export function shareVerified(home: string): void {
  const cache = join(home, 'cache')
  const hasOwn = lstatSync(cache, { throwIfNoEntry: false }) !== undefined
  if (!existsSync(home) || hasOwn) return
  for (const name of SHARED) if (existsSync(join(CACHE, name))) cpSync(join(CACHE, name), join(cache, name))
}
