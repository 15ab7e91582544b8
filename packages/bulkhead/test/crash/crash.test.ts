// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { crashRounds } from './crash-rounds.ts'

const ROUNDS = thoroughly(1, 20)

it('state, open calls and paused questions stay consistent after a host is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-crash-'))
  try {
    expect(await crashRounds(folder, { rounds: ROUNDS, seed: Date.now() })).toBeGreaterThanOrEqual(ROUNDS)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
