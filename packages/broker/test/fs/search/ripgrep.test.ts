import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passes } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { runRipgrep } from '../../../src/fs/search/ripgrep.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-ripgrep-'))
  for (const name of ['one', 'two']) writeFileSync(join(folder, name), 'text')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Much longer than ripgrep needs to list two files and exit. */
const LATE_MS = 500

const listing = () => ({ args: ['--files', '--null'], cwd: folder, signal: new AbortController().signal })

test('processes the last output even after ripgrep has ended', async () => {
  let output = ''
  await runRipgrep({
    ...listing(),
    take: async (bytes) => {
      await passes(LATE_MS)
      output += bytes.toString('utf8')
      return true
    },
  })
  expect(output.split('\0').toSorted()).toEqual(['', './one', './two'])
})

test('rejects with an error of its consumer', async () => {
  const run = runRipgrep({
    ...listing(),
    take: async () => {
      await passes(LATE_MS)
      throw new Error('unreadable')
    },
  })
  await expect(run).rejects.toThrow('unreadable')
})

test('finds ripgrep after a shortage of descriptors', LONG, () => {
  const crowded = join(import.meta.dirname, 'fixtures', 'crowded-host.ts')
  const { stdout, stderr } = spawnSync(
    '/bin/sh', ['-c', `ulimit -n 512; exec '${process.execPath}' --no-warnings '${crowded}'`], { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ crowded: 'ResourceBusy', later: 'rg' })
})
