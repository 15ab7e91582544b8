import { join } from 'node:path'
import type { LockEntry } from '@bulkhead/contract'
import type { LoaderOptions } from '../../src/config/settings.ts'
import { formatLock, lockEntryOf } from '../../src/lock/lock-file.ts'
import type { HomeFixture } from '../home-fixture.ts'

/** Accepts all extensions of a layer in place, like `bulkhead install`. */
export async function acceptAll(
  home: HomeFixture, root: string, options: Partial<LoaderOptions> = {}, over: Partial<LockEntry> = {},
): Promise<string> {
  const { extensions } = await home.load(options)
  const entries = extensions.filter(({ location }) => location.startsWith(root)).map((extension) => [extension.id, {
    ...lockEntryOf(extension, {
      source: 'in-place', signedBy: 'bundle', at: new Date('2026-11-15T04:00:00Z'), by: 'ann',
    }),
    ...over,
  }] as const)
  return home.write(join(root, 'bulkhead.lock'), formatLock(new Map(entries)))
}
