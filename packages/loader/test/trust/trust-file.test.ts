import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { appendTrustEntry, readTrustFile } from '../../src/trust/trust-file.ts'
import { HomeFixture } from '../home-fixture.ts'

const CHILD = fileURLToPath(new URL('trust-file-child.ts', import.meta.url))

test('reports a truncated line, and keeps the next one intact', LONG, () => {
  using home = new HomeFixture()
  const file = join(home.globalRoot, 'trust.jsonl')
  // Limits the file size to simulate a full disk.
  const limited = spawnSync(
    'sh', ['-c', 'ulimit -f 1 && exec "$0" "$@"', process.execPath, CHILD, file, `/${'x'.repeat(2_000)}`],
    { encoding: 'utf8' },
  )
  expect(limited.stdout).toBe('TrustStoreUnavailable')
  expect(statSync(file).size).toBeGreaterThan(0)
  const next = {
    id: 'two', path: '/work', decision: 'declined', decidedAt: new Date().toISOString(), digest: null,
  } as const
  appendTrustEntry(file, next)
  expect(readTrustFile(file).lines).toEqual([{ line: 1, message: expect.stringContaining('JSON') }, next])
})
