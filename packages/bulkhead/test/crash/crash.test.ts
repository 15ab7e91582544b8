import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { crashRounds } from './crash-rounds.ts'

it('a host killed at any moment leaves state, open calls and paused questions whole', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-crash-'))
  try {
    expect(await crashRounds(folder, { rounds: 4, seed: Date.now() })).toBeGreaterThanOrEqual(4)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
