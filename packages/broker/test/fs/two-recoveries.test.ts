import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'

const HOST = join(import.meta.dirname, 'fixtures/recovering-host.ts')
const NAMES = Array.from({ length: 100 }, (_, number) => `${1_000 + number}.txt`)

it('of two hosts that start after a third was killed, one finishes each of its changes', LONG, async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-recovery-')))
  try {
    const [workspace, journal, log] = ['work', 'changes', 'log'].map((name) => join(folder, name)) as [
      string, string, string,
    ]
    mkdirSync(workspace)
    mkdirSync(journal)
    for (const name of NAMES) {
      writeFileSync(join(workspace, name), 'old')
      const entry = { folder: workspace, name, temporary: null, before: hash('sha256', 'old') }
      writeFileSync(join(journal, `999999999-1-${name}.committed`), JSON.stringify([entry]))
    }
    const hosts = await Promise.all([1, 2].map(async () => {
      const child = spawn(process.execPath, ['--no-warnings', HOST, journal, log], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      return child
    }))
    const ends = hosts.map((host) => once(host, 'close'))
    for (const host of hosts) host.stdin.write('.')
    expect(await Promise.all(ends)).toEqual([[0, null], [0, null]])
    expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual(NAMES)
    expect([readdirSync(workspace), readdirSync(journal)]).toEqual([[], []])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
